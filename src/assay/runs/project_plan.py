"""What the project in force adds to a run: models, defaults, the settings of its suites, weights, gates, a baseline.

What the user gives comes first, then a suite, the task, `folders`, the model and `defaults`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.costs.prices import use_prices_of_project
from assay.formats.project.discovery import current_project
from assay.run_config import PartBudget, RunConfig, TaskOverrides
from assay.text.wording import few

if TYPE_CHECKING:
    from assay.formats.declarative.yaml_reader import FieldPath
    from assay.formats.project.reader import Project
    from assay.formats.project.records import Suite
    from assay.formats.project.selection import ProjectTasks
    from assay.runs.gates import MemberGates
    from assay.runs.plan import PlannedRun

_OF_A_SUITE = {"limit": "limit", "repeat": "repeat"}
_OF_A_BUDGET = {"cost": "budget_cost", "tokens": "budget_tokens", "minutes": "budget_minutes"}


class RunGates(NamedTuple):
    """The gates of a run, and what they compare with."""

    gates: tuple[str, ...]
    baseline: Path | str | None = None
    members: tuple[MemberGates, ...] = ()
    notes: tuple[str, ...] = ()


class ReadCell(NamedTuple):
    """What is read for one cell of a matrix, or for a run without one."""

    definitions: list[TaskDefinition]
    config: RunConfig


class PlannedCells(NamedTuple):
    """All runs of a command, and the tasks and settings of the first cell."""

    runs: list[PlannedRun]
    definitions: list[TaskDefinition]
    config: RunConfig


class ProjectPlan(Struct, frozen=True, kw_only=True):
    """What a project adds to a run of these names; a command without a project has an empty one."""

    project: Project | None = None
    suite: str | None = None
    """The suite that the run is of, without its `@`."""
    members: tuple[str, ...] = ()
    """The suites that are parts of the run."""
    models: list[str] | None = None
    gates: tuple[str, ...] = ()
    checks_gates: bool = True
    left_out_ignored: bool = False
    """Whether the suite says that its gates are about the samples that are run alone."""
    notes: tuple[str, ...] = ()
    """What is said before the run."""

    def configured(self, config: RunConfig, given: Collection[str] = ()) -> tuple[RunConfig, frozenset[str]]:
        """The settings of the run, and which of them count as given: those of the user and of the suite."""
        if self.project is None:
            return config, frozenset(given)
        own = self._of_suite()
        fresh = {name: value for name, value in own.items() if value is not None and name not in given}
        defaults = self.project.entry.defaults
        usual = {"limit": defaults.limit, "timeout_seconds": defaults.timeout}
        left = {
            name: value
            for name, value in usual.items()
            if value is not None and name not in given and name not in fresh
        }
        return msgspec.structs.replace(config, **left, **fresh), frozenset({*given, *fresh})

    @property
    def is_matrix(self) -> bool:
        return self.project is not None and self.suite is not None and self.project.suite(self.suite).matrix is not None

    def planned(
        self,
        config: RunConfig,
        given: Collection[str],
        models: object,
        read: Callable[[RunConfig, object, Mapping[str, Any]], ReadCell],
    ) -> PlannedCells:
        """The runs of a command: of each cell where the suite has a matrix. `given` are settings that come before those
        of tasks; `models` the user's own; `read` reads tasks for a config, models, and how a cell has them read.
        """
        from assay.runs.plan import plan_runs  # which reads tasks, and is not needed to read a project

        if not self.is_matrix or self.project is None or self.suite is None:
            chosen = models or self.models
            definitions, config = self.applied(*read(config, chosen, {}), given)
            runs = plan_runs(definitions, config, chosen, given=given)
            return PlannedCells(self.with_defaults(runs), definitions, config)
        from assay.runs.matrix import Matrix

        matrix = Matrix(self.project, self.suite)
        cells = matrix.cells(given, config, models)
        each: list[tuple[list[TaskDefinition], RunConfig, object, frozenset[str]]] = []
        for cell in cells:
            chosen = cell.model or models or self.models
            known = frozenset({*given, *cell.settings})
            found = read(cell.configured(config), chosen, cell.reading)
            each.append((*self.applied(found.definitions, found.config, known), chosen, known))
        matrix.refuse_idle_axes(cells, [definitions for definitions, *_ in each])
        runs = [
            run for definitions, own, chosen, known in each for run in plan_runs(definitions, own, chosen, given=known)
        ]
        return PlannedCells(self.with_defaults(runs), each[0][0], each[0][1])

    def _of_suite(self) -> dict[str, Any]:
        if self.project is None or self.suite is None:
            return {}
        suite = self.project.suite(self.suite)
        own: dict[str, Any] = {setting: getattr(suite, name) for name, setting in _OF_A_SUITE.items()}
        if suite.budget is not None:
            own |= {setting: getattr(suite.budget, name) for name, setting in _OF_A_BUDGET.items()}
        return own

    def applied(
        self, definitions: Sequence[TaskDefinition], config: RunConfig, given: Collection[str]
    ) -> tuple[list[TaskDefinition], RunConfig]:
        """The tasks with their weights, and the settings with what is different for single tasks."""
        if self.project is None:
            return [*definitions], config
        tasks = _tasks(self.project)
        of_tasks = {
            definition.name: own
            for definition in definitions
            if (own := self._overrides(tasks, definition, config, given)) != TaskOverrides()
        }
        config = msgspec.structs.replace(config, of_tasks=of_tasks, parts=self._part_budgets(tasks, definitions))
        weights = self._weights(tasks, definitions, config)
        return [_weighted(definition, weights.get(definition.name)) for definition in definitions], config

    def with_defaults(self, runs: Sequence[PlannedRun]) -> list[PlannedRun]:
        """The runs with the project's generation settings, where neither the user nor the model has any."""
        return [run._replace(config=self._settled(run.config)) for run in runs]

    def _settled(self, config: RunConfig) -> RunConfig:
        if self.project is None:
            return config
        open_ones = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.project.entry.defaults.settings.items()
            if getattr(config, name) is None
        }
        return msgspec.structs.replace(config, **open_ones, usual=(*config.usual, *open_ones))

    def _overrides(
        self, tasks: ProjectTasks, definition: TaskDefinition, config: RunConfig, given: Collection[str]
    ) -> TaskOverrides:
        from assay.formats.project.applied import of_folders

        folders = of_folders(tasks.project, definition.name)
        of_member = self._of_members(tasks, definition.name)
        repeat = folders.repeat if folders.repeat is not None else tasks.project.entry.defaults.repeat
        if definition.plan.trials:
            repeat = None
        repeat = of_member["repeat"] or repeat
        if "repeat" in given or repeat == config.repeat:
            repeat = None
        limit = of_member["limit"] or folders.limit
        if "limit" in given or limit == config.limit:
            limit = None
        open_ones = {name: value for name, value in folders.settings.items() if name not in given}
        return TaskOverrides(repeat=repeat, limit=limit, generation=open_ones)

    def _of_members(self, tasks: ProjectTasks, task: str) -> dict[str, int | None]:
        """The limit and the repetitions that the suites of a part of the run have for a task; no two may differ."""
        from assay.formats.project.selection import suite_tasks

        found: dict[str, int | None] = dict.fromkeys(_OF_A_SUITE)
        for name in self.members:
            if all(file.name != task for file in suite_tasks(tasks, name)):
                continue
            for setting, earlier in list(found.items()):
                value = getattr(tasks.project.suite(name), setting)
                if value is not None and earlier not in (None, value):
                    message = f"`{task}` is in two suites with another `{setting}` each: {earlier} and {value}"
                    raise tasks.project.error(("suites", name, setting), message)
                found[setting] = earlier if value is None else value
        return found

    def _part_budgets(self, tasks: ProjectTasks, definitions: Sequence[TaskDefinition]) -> tuple[PartBudget, ...]:
        from assay.formats.project.selection import suite_tasks

        names = {definition.name for definition in definitions}
        budgets = {name: tasks.project.suite(name).budget for name in self.members}
        return tuple(
            PartBudget(
                suite=name,
                tasks=tuple(file.name for file in suite_tasks(tasks, name) if file.name in names),
                **msgspec.structs.asdict(budget),
            )
            for name, budget in budgets.items()
            if budget is not None
        )

    def gates_of_run(
        self,
        gates: Sequence[str],
        baseline: Path | str | None,
        definitions: Sequence[TaskDefinition],
        config: RunConfig,
    ) -> RunGates:
        """All gates of the run: those of the user, the project and its suites, and what they compare with."""
        if self.project is None:
            return RunGates(gates=(*gates,), baseline=baseline)
        from assay.runs.gates import MemberGates  # most runs have none

        compared = baseline
        if baseline is None and not self.is_matrix:
            compared = _baseline(self.project, definitions)
        sizes = {definition.name: float(config.samples_of(definition)) for definition in definitions}
        texts, skipped = _checkable(self.gates, compared)
        members: list[MemberGates] = []
        for name in self.members if self.checks_gates else ():
            own, lost = _checkable(self.project.suite(name).gates, compared)
            skipped += [f"@{name}: {text}" for text in lost]
            if own:
                members.append(MemberGates(name, tuple(own), shares_of(_tasks(self.project), name, sizes)))
        named = self.project.entry.baseline
        why = f"nothing of `{named}` is there yet" if named is not None else "the project has no `baseline`"
        if self.is_matrix:
            why = "the cells of a matrix are compared with each other"
        notes = [f"not checked, for there is nothing to compare with ({why}): {', '.join(skipped)}"] if skipped else []
        notes += [] if self.suite is None else _in_several_members(_tasks(self.project), self.suite)
        every = tuple(dict.fromkeys([*gates, *texts]))
        used = compared if every or members else baseline
        return RunGates(gates=every, baseline=used, members=tuple(members), notes=tuple(notes))

    def _weights(
        self, tasks: ProjectTasks, definitions: Sequence[TaskDefinition], config: RunConfig
    ) -> Mapping[str, float]:
        if self.suite is None:
            return {}
        sizes = {definition.name: float(config.samples_of(definition)) for definition in definitions}
        shares = shares_of(tasks, self.suite, sizes)
        least = min(shares.values(), default=1.0)
        return {name: float(f"{share / least:.6g}") for name, share in shares.items()}


def _in_several_members(tasks: ProjectTasks, name: str) -> list[str]:
    """A sentence about the tasks that count in several members of a suite of suites; none where there are none."""
    from assay.formats.project.selection import suite_tasks

    members = dict.fromkeys(tasks.project.suite(name).select)
    if tasks.project.suite(name).weights == "by_size" or not all(member.startswith("@") for member in members):
        return []
    of_task: dict[str, list[str]] = {}
    for member in members:
        for file in suite_tasks(tasks, member[1:]):
            of_task.setdefault(file.name, []).append(member)
    shared = [f"{task} ({', '.join(found)})" for task, found in of_task.items() if len(found) > 1]
    return [f"run once, and counted in each of its suites: {few(shared)}"] if shared else []


def _weighted(definition: TaskDefinition, weight: float | None) -> TaskDefinition:
    if weight is None or weight == definition.shown.weight:
        return definition
    return msgspec.structs.replace(definition, shown=msgspec.structs.replace(definition.shown, weight=weight))


def _tasks(project: Project) -> ProjectTasks:
    from assay.formats.project.selection import project_tasks

    return project_tasks(project)


def shares_of(tasks: ProjectTasks, name: str, sizes: Mapping[str, float]) -> dict[str, float]:
    """What each task counts in the score of a suite; the shares sum to 1.

    A suite that selects suites alone has the mean of their scores, so that a task of two members counts in both; any
    other has the mean of its tasks. Tasks that are not among `sizes` are not run.
    """
    from assay.formats.project.selection import suite_tasks

    suite = tasks.project.suite(name)
    if suite.weights != "by_size" and all(member.startswith("@") for member in suite.select):
        shares: dict[str, float] = {}
        chosen = {file.name for file in suite_tasks(tasks, name)}
        members = {member: shares_of(tasks, member[1:], sizes) for member in dict.fromkeys(suite.select)}
        weights = {member: _weight_of(suite, member, 1.0) for member in members}
        for member, inner in members.items():
            for task, share in inner.items():
                if task in chosen:
                    shares[task] = shares.get(task, 0.0) + share * weights[member]
    else:
        files = [file for file in suite_tasks(tasks, name) if file.name in sizes]
        by_size = suite.weights == "by_size"
        shares = {
            file.name: sizes[file.name]
            if by_size
            else _weight_of(suite, file.name, tasks.of(file.name).values.weight or 1.0)
            for file in files
        }
    total = math.fsum(shares.values())
    return {task: share / total for task, share in shares.items()} if total else {}


def _weight_of(suite: Suite, name: str, otherwise: float) -> float:
    from assay.formats.project.name_patterns import matches

    weights = suite.weights if isinstance(suite.weights, dict) else {}
    found = [weight for pattern, weight in weights.items() if pattern == name or matches(pattern, name)]
    return found[-1] if found else otherwise


def use_project_prices() -> None:
    """Let the prices of the project in force count from here on."""
    project = current_project()
    if project is None:
        use_prices_of_project("", None)
        return
    from assay.formats.project.aliases import prices_of

    use_prices_of_project(str(project.path), prices_of(project))


def project_plan(sources: Sequence[str], *, gates: bool = True) -> ProjectPlan:
    """What the project in force adds to a run of these names."""
    use_project_prices()
    project = current_project()
    if project is None:
        return ProjectPlan()
    suites = [source[1:] for source in sources if source.startswith("@")]
    suite = suites[0] if len(suites) == len(sources) == 1 else None
    _refuse_lost_settings(project, suite, suites)
    said = project.suite(suite) if suite is not None else None
    model = said.model if said is not None and said.model is not None else project.entry.model
    own = (*project.entry.gates, *(said.gates if said is not None else ()))
    members = _members(project, suite) if suite is not None else suites
    every = [*own, *(text for name in members for text in project.suite(name).gates)]
    for name in (None, suite, *members):
        _check_gates(project, name)
    return ProjectPlan(
        project=project,
        suite=suite,
        members=tuple(members),
        models=[model] if isinstance(model, str) else model,
        gates=tuple(dict.fromkeys(own)) if gates else (),
        checks_gates=gates,
        left_out_ignored=gates and said is not None and said.gate_left_out == "ignore",
        notes=() if gates or not every else (f"--no-gates: {len(every)} of the project are not checked",),
    )


def _checkable(texts: Sequence[str], baseline: object) -> tuple[list[str], list[str]]:
    """The gates that can be checked, and those that need a baseline where there is none."""
    from assay.results.gates.expression import parse_gates
    from assay.results.gates.names import needs_baseline

    found: list[str] = []
    lost: list[str] = []
    for text, gate in zip(texts, parse_gates(texts), strict=True):
        (lost if baseline is None and needs_baseline(gate) else found).append(text)
    return found, lost


class _Head(Struct, frozen=True):
    """The fields of a `run.json` that say which tasks were run, and where."""

    commit: str = ""
    created: str = ""
    tasks: dict[str, str] = {}


def _baseline(project: Project, definitions: Sequence[TaskDefinition]) -> Path | None:
    """What the project compares with, None where there is none yet: a run folder, a leaderboard, or of a git ref the
    newest finished run of these tasks that was made at it."""
    from assay.runs.git_commit import commit_of

    named = project.entry.baseline
    if named is None:
        return None
    if (path := project.root / named).exists():
        return path
    commit, wanted = commit_of(named, project.root), {definition.name for definition in definitions}
    found: list[tuple[str, Path]] = []
    for each in (project.root / "runs").glob("*/run.json") if commit is not None else ():
        with suppress(OSError, ValueError):
            head = msgspec.json.decode(each.read_bytes(), type=_Head)
            if head.commit == commit and wanted <= head.tasks.keys() and (each.parent / "leaderboard.json").exists():
                found.append((head.created, each.parent))
    return max(found, default=("", None))[1]


_OF_ITS_OWN_RUN = ("model", "matrix", "gate_left_out")


def _refuse_lost_settings(project: Project, suite: str | None, named: Iterable[str]) -> None:
    """What can only be of a whole run is refused for a suite that is a part of one: it would be lost."""
    inner = _members(project, suite) if suite is not None else list(named)
    outer = f"inside @{suite}" if suite is not None else "next to other names"
    for name in inner:
        for field in _OF_ITS_OWN_RUN:
            if suite is not None and field == "model" and project.suite(suite).model is not None:
                continue  # the outer suite says it
            if ("suites", name, field) in project.document.marks:
                message = f"@{name} has a `{field}` of its own, which cannot be kept {outer}: run @{name} by itself"
                raise project.error(("suites", name, field), message)


def _members(project: Project, suite: str) -> list[str]:
    members = [item[1:] for item in project.suite(suite).select if item.startswith("@")]
    return list(dict.fromkeys([*members, *(inner for member in members for inner in _members(project, member))]))


def _check_gates(project: Project, suite: str | None) -> None:
    """A gate that cannot be read is reported with its place in the file."""
    from assay.results.gates.expression import parse_gates

    texts = project.entry.gates if suite is None else project.suite(suite).gates
    where: FieldPath = ("gates",) if suite is None else ("suites", suite, "gates")
    for at, text in enumerate(texts):
        try:
            parse_gates([text])
        except UsageError as error:
            raise project.error((*where, at), str(error).removeprefix("--gate ")) from error
