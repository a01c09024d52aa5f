"""`--changed`: what of a run an earlier result still answers. The rest is run; what is taken is said and recorded.

Compared are the parts of fingerprints, never files: a comment changes nothing. One function decides for each attempt,
whether the plan is printed or carried out, so that what is predicted is what is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct

from assay.core.attempt import attempt_key
from assay.core.describe import ScorerInfo
from assay.core.errors import UsageError
from assay.core.journal import Journal
from assay.core.regular_file import read_regular
from assay.core.run import Stop, remaining_work
from assay.core.seams import Model, Work, offers_of
from assay.core.task import Task
from assay.core.types import Failure, Record, TaskDefinition
from assay.datasets.content import awaited, is_elsewhere
from assay.formats.project.discovery import current_project
from assay.formats.project.selection import project_tasks
from assay.results.board.board_types import read_leaderboard_file
from assay.run_file import ReusedTask, RunFile, read_run_file, sealed_as
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.folder import what_changed
from assay.runs.git_commit import COMMIT, commit_of
from assay.runs.later.rescore import Answers, asks_the_same
from assay.runs.preview import first_requests
from assay.runs.same_weights import SameWeights
from assay.tasks.task_parts import scorer_parts, task_parts
from assay.text.ages import age_text, seconds_between
from assay.text.wording import count_of, few
from assay.user.seal import is_sealed

if TYPE_CHECKING:
    from assay.runs.assemble import Parts

ALWAYS = "always"
"""The tag of tasks that are run whatever an earlier result has."""
RESCORED = "to_be_scored"
"""The kind of the failure that stands for a score which is not there yet."""

Outcome = Literal["same", "rescore", "run", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseRules:
    """What `--changed` may take."""

    ref: str
    """A git ref, or a run folder."""
    runs: Path = Path("runs")
    """Where results are looked for."""
    max_age_seconds: float | None = None
    sampled: bool = False
    """Also answers that were sampled."""
    foreign: bool = False
    """Also results of another user or machine."""


class TaskChange(Struct, frozen=True, kw_only=True):
    """What becomes of one task."""

    task: str
    outcome: Outcome
    why: str
    kept: int
    """Attempts that are taken with their scores."""
    rescored: int
    """Attempts whose answers are taken and scored again."""
    run: int
    """Attempts that are made."""
    last_score: float | None = None
    age_seconds: float | None = None
    """Of the answers, where there are some."""


class Baseline(NamedTuple):
    """The result that is compared with."""

    folder: Path
    run: RunFile


class _Decision(NamedTuple):
    work: Work
    record: Record | None
    """The attempt on record, as far as it still holds; None for one that has to be made."""
    again: tuple[str, ...] = ()
    """Scorers that are to score the answer again; with none the record is taken as it is."""
    rules: bool = False
    """Whether the rules that exclude samples are others."""


@dataclass
class ReusePlan:
    """What a run takes from a baseline."""

    rules: ReuseRules
    run: RunFile
    tasks: Sequence[Task]
    model: Model
    baseline: Baseline | None
    why_none: str
    """Why there is no baseline."""
    weights: SameWeights | None
    """Whether the models are those of the baseline, where there is one."""
    _reasons: dict[str, str] = field(default_factory=dict)
    """Of tasks of which nothing is taken, why."""
    _whys: dict[str, str] = field(default_factory=dict)
    _other_judges: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of scorers, by task and key, why a judge of theirs may be another one now."""

    async def prepare(self) -> ReusePlan:
        """Find out of which tasks nothing can be taken."""
        for task in self.tasks:
            if reason := await self._reason(task):
                self._reasons[task.name] = reason
            elif self.weights is not None:
                judges = {(task.name, key): await self.weights.of_judges(task.name, key) for key in task.scorers}
                self._other_judges |= {scorer: why for scorer, why in judges.items() if why is not None}
        return self

    def changes(self) -> list[TaskChange]:
        """The plan: one row for each task."""
        with self._answers() as answers:
            return [self._change(task, answers) for task in self.tasks]

    def gone(self) -> list[str]:
        """The tasks of the baseline that are no longer there, not even under another name."""
        kept = {then.name for task in self.tasks if (then := self._then(task.name)) is not None}
        project = current_project()  # of which a command may be about some tasks only
        others = project_tasks(project).by_name if project is not None else ()
        return [] if self.baseline is None else sorted({*self.baseline.run.tasks} - kept - {*others})

    def fill(self, journal: Journal) -> dict[str, ReusedTask]:
        """Write what is taken into the journal of the run; what that has already stays."""
        made = EarlierAttempts(journal.path)
        reused: dict[str, ReusedTask] = {}
        with self._answers() as answers:
            for task in self.tasks:
                taken = others = 0
                for decision in self._decisions(task, answers):
                    if decision.record is None or (decision.again or decision.rules):
                        others += 1
                    if decision.record is None:
                        continue
                    taken += 1
                    if not made.has_line(int(decision.work.key, 16)):
                        journal.append([_taken(decision)])
                if taken:
                    reused[task.name] = self._reused(task.name, taken, whole=not others)
        return reused

    @contextmanager
    def _answers(self) -> Iterator[Answers | None]:
        if self.baseline is None:
            yield None
            return
        with closing(Answers(self.baseline.folder / "journal.jsonl")) as answers:
            yield answers

    def _then(self, task: str) -> TaskDefinition | None:
        """The task of the baseline: that of this name, else the one that was renamed."""
        return self._earlier.get(task)

    @cached_property
    def _earlier(self) -> dict[str, TaskDefinition]:
        """The tasks of the baseline by the names that they have now; one with all the parts of a gone one is that."""
        known = {} if self.baseline is None else {each.name: each for each in self.baseline.run.definitions}
        now = {task.name: task.definition for task in self.tasks}
        gone = [(task_parts(each), each) for name, each in known.items() if name not in now]
        earlier = {name: known[name] for name in now if name in known}
        for name in now if gone else ():
            alike = [each for parts, each in gone if name not in known and parts == task_parts(now[name])]
            if len(alike) == 1 and alike[0] not in earlier.values():
                earlier[name] = alike[0]
        return earlier

    def _name_then(self, task: str) -> str:
        then = self._then(task)
        return task if then is None else then.name

    def _origin(self, task: str) -> tuple[str, str]:
        """Where and when the answers were made: the baseline may have taken them itself."""
        assert self.baseline is not None  # noqa: S101 - without one nothing is taken
        run = self.baseline.run
        origin = run.reused.get(self._name_then(task))
        return (origin.commit, origin.created) if origin is not None else (run.commit, run.created)

    def _reused(self, task: str, attempts: int, *, whole: bool) -> ReusedTask:
        assert self.baseline is not None  # noqa: S101 - without one nothing is taken
        commit, created = self._origin(task)
        return ReusedTask(
            folder=str(self.baseline.folder),
            run=sealed_as(self.baseline.run),
            ref=self.rules.ref,
            commit=commit,
            created=created,
            attempts=attempts,
            whole=whole,
        )

    async def _reason(self, task: Task) -> str | None:  # noqa: PLR0911 - one case per reason
        """Why nothing of a task is taken; None where its parts decide."""
        if self.baseline is None:
            return self.why_none
        then, earlier = self._then(task.name), self.baseline.run
        if then is None:
            return "new"
        if ALWAYS in task.definition.shown.tags:
            return f"has the tag `{ALWAYS}`"
        package = "assay-eval"
        if earlier.versions.get(package) != self.run.versions.get(package):
            return "another version of assay"
        if awaited(task.definition.dataset) is not None:
            return "its rows are the result of another task of the run"
        if is_elsewhere(task.definition.dataset):
            return "its rows are fetched when it runs"
        if (limit := self.rules.max_age_seconds) is not None and self._age(task.name) > limit:
            return f"older than {age_text(limit)}"
        if not task.needs.asks_model:
            return self._other_settings(task.name, earlier, model=False)
        return self._other_settings(task.name, earlier, model=True) or await self._unsteady(task)

    def _other_settings(self, task: str, earlier: RunFile, *, model: bool) -> str | None:
        """What of the settings that hold for the task is another, or the model; what other tasks have is theirs."""
        then, now = (
            msgspec.structs.replace(run, tasks={}, definitions=(), settings=_settings_of(run, name))
            for run, name in ((earlier, self._name_then(task)), (self.run, task))
        )
        if not model:
            then = msgspec.structs.replace(then, model=now.model)
        same = (then.settings, then.model) == (now.settings, now.model)
        return None if same else what_changed(then, now)[0]

    async def _unsteady(self, task: Task) -> str | None:
        """Why the answers of this model are not those it would give now."""
        assert self.weights is not None  # noqa: S101 - without a baseline nothing is taken
        if other := await self.weights.of_model(self.model):
            return other
        if self.rules.sampled:
            return None
        offers = offers_of(self.model)
        if offers.cacheable and offers.applies is not None and "temperature" not in offers.applies:
            return None
        requests = await first_requests(task.definition)
        if requests is None:
            return "sampled: its own code sets the temperature" if offers.applies is None else _SAMPLED
        config = self.run.config
        usual = config.settings_of_tasks().get(task.name, config.settings()).temperature
        for request in requests:
            given = usual if request.temperature is None else request.temperature
            if given != 0 and request.continuation is None and not request.embed:
                return _SAMPLED if given is None else f"sampled at temperature {given:g}"
        return None

    def _age(self, task: str) -> float:
        return seconds_between(self._origin(task)[1], self.run.created)

    def _change(self, task: Task, answers: Answers | None) -> TaskChange:
        kept = rescored = run = 0
        for decision in self._decisions(task, answers):
            if decision.record is None:
                run += 1
            elif decision.again or decision.rules:
                rescored += 1
            else:
                kept += 1
        why = self._reasons.get(task.name) or self._whys.get(task.name, "")
        is_new = self.baseline is not None and self._then(task.name) is None
        if run:
            outcome: Outcome = "new" if is_new else "run"
            why = why or "other rows, or not finished"
            if kept or rescored:
                why = f"{run:,} of {run + kept + rescored:,} attempts: {why}"
        elif rescored or why:
            outcome, why = "rescore", why or f"{rescored:,} of {kept + rescored:,} attempts: other right answers"
        else:
            outcome = "same"
        if (name := self._name_then(task.name)) != task.name:
            why = f"was `{name}`" + (f"; {why}" if why else "")
        is_known = self._then(task.name) is not None
        before = self._last_score(task.name) if is_known else None
        age = self._age(task.name) if is_known else None
        return TaskChange(
            task=task.name,
            outcome=outcome,
            why=why,
            kept=kept,
            rescored=rescored,
            run=run,
            last_score=before,
            age_seconds=age,
        )

    def _last_score(self, task: str) -> float | None:
        if self.baseline is None:
            return None
        rows = read_leaderboard_file(self.baseline.folder / "leaderboard.json").tasks
        return next((row.score for row in rows if row.task == self._name_then(task)), None)

    def _decisions(self, task: Task, answers: Answers | None) -> Iterator[_Decision]:
        """What becomes of each attempt."""
        works = remaining_work([task], (), self.run.config.repeat_of(task.name), Stop())
        then, now = self._then(task.name), task.definition
        if task.name in self._reasons or then is None or answers is None:
            yield from (_Decision(work, None) for work in works)
            return
        before, after = task_parts(then), task_parts(now)
        if before.asking != after.asking:
            self._whys[task.name] = "prompt"
            yield from (_Decision(work, None) for work in works)
            return
        scorers, known = scorer_parts(now), scorer_parts(then)
        of_all = {part.key for part in now.scorers if isinstance(part.about, ScorerInfo) and part.about.sees_all}
        again = {key for key in scorers if known.get(key) != scorers[key]}
        other_judges = {key: why for key in scorers if (why := self._other_judges.get((task.name, key)))}
        if before.content != after.content:
            again |= of_all
        rules = _identities(then.actions) != _identities(now.actions)
        numbers = _identities(then.aggregates) != _identities(now.aggregates)
        names = [f"`{key}`" for key in scorers if key in again] + ["rules"] * rules + ["metrics"] * numbers
        if whys := [f"scoring: {', '.join(names)}"] * bool(names) + [*other_judges.values()]:
            self._whys[task.name] = "; ".join(whys)
        again |= {*other_judges}
        for work in works:
            record = answers.of(then.name, work.sample.id, work.attempt)
            if record is None or record.failures or record.trace is None:
                yield _Decision(work, None)
            elif record.key == attempt_key(then.name, work.sample, work.attempt):
                yield _Decision(work, record, tuple(sorted(again)), rules)
            elif task.needs.asks_model and asks_the_same(work, record):
                yield _Decision(work, record, tuple(scorers), rules)
            else:
                yield _Decision(work, None)


_SAMPLED = "sampled: no temperature is set"


def _settings_of(run: RunFile, task: str) -> dict[str, Any]:
    """The settings of a run as they hold for one task."""
    settings = dict(run.settings)
    own = dict((settings.pop("of_tasks", None) or {}).get(task) or {})
    generation = {**(settings.get("generation") or {}), **own.pop("generation", {})}
    return {**settings, **own, "generation": generation}


def _identities(parts: Sequence[object]) -> list[object]:
    return [msgspec.structs.replace(part, about=None) for part in parts]  # type: ignore[type-var]


def _taken(decision: _Decision) -> Record:
    """The record as one of this run, which paid nothing for it; the scores that no longer hold are missing."""
    work, record, again = decision.work, decision.record, decision.again
    task: Task = work.task
    assert record is not None  # noqa: S101 - what has to be made is not taken
    assert record.trace is not None  # noqa: S101
    completions = tuple(
        msgspec.structs.replace(completion, cached=True, from_earlier_run=True)
        for completion in record.trace.completions
    )
    missing = [
        Failure(stage="scorer", part=key, scorer=key, kind=RESCORED, message="its scorer has changed since")
        for key in again
    ]
    if decision.rules and not missing:
        missing = [Failure(stage="action", part="rules", kind=RESCORED, message="the rules have changed since")]
    return msgspec.structs.replace(
        record,
        key=work.key,
        task=task.name,
        index=work.position,
        targets=work.sample.targets,
        metadata=work.sample.slices(),
        trace=msgspec.structs.replace(record.trace, completions=completions),
        scores=tuple(score for score in record.scores if score.name in _scorers(work) and score.name not in again),
        failures=tuple(missing),
        usage=(),
        continued=False,
    )


def _scorers(work: Work) -> Mapping[str, object]:
    task: Task = work.task
    return task.scorers


async def plan_of(parts: Parts, rules: ReuseRules) -> ReusePlan:
    """What a run of these parts takes."""
    baseline, why_none = find_baseline(rules, parts.run_file)
    models = parts.models
    reuse = ReusePlan(
        rules=rules,
        run=parts.run_file,
        tasks=parts.tasks,
        model=parts.measured,
        baseline=baseline,
        why_none=why_none,
        weights=None if baseline is None else SameWeights(baseline.folder, models.judges_by_model, models.asked_by),
    )
    return await reuse.prepare()


def summary_of(reuse: ReusePlan) -> str:
    """The plan in a line or two: how many tasks of each outcome, and what is gone."""
    changes = reuse.changes()
    counts = {outcome: sum(change.outcome == outcome for change in changes) for outcome in get_args(Outcome)}
    listed = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count)
    against = reuse.why_none or f"compared with {reuse.rules.ref} ({reuse.baseline.folder if reuse.baseline else ''})"
    gone = f"; gone: {few(reuse.gone())}" if reuse.gone() else ""
    if renamed := [f"{change.task} ({change.why})" for change in changes if change.outcome == "same" and change.why]:
        gone = f"; renamed: {few(renamed)}{gone}"
    return f"{count_of(len(changes), 'task')}: {listed}; {against}{gone}"


# -- the baseline --------------------------------------------------------------------------------------------------


class _Head(Struct):
    commit: str = ""
    created: str = ""


def find_baseline(rules: ReuseRules, run: RunFile) -> tuple[Baseline | None, str]:
    """The newest finished result of this model that was made at the ref, or why there is none."""
    folder = Path(rules.ref)
    if (folder / "run.json").exists():
        return _accepted(folder, rules)
    commit = commit_of(rules.ref)
    if commit is None or not COMMIT.fullmatch(commit):
        raise UsageError(
            f"--changed {rules.ref}: neither a run folder nor a commit of this clone; a shallow clone has few of them "
            "(`fetch-depth: 0`), and a run folder may be named itself"
        )
    there = sorted(rules.runs.glob("*/run.json")) if rules.runs.is_dir() else []
    made = [(head.created, path.parent) for path in there if (head := _head(path)).commit == commit]
    made = [(created, each) for created, each in made if (each / "leaderboard.json").exists()]
    why = f"no finished result in {rules.runs} was made at {rules.ref} ({commit[:7]})"
    for _, each in sorted(made, reverse=True):
        earlier = read_run_file(each)
        if earlier.model.get("name") != run.model.get("name") or earlier.config.prompt != run.config.prompt:
            why = f"no result of `{run.model.get('name')}` was made at {rules.ref} ({commit[:7]})"
            continue
        found, reason = _accepted(each, rules)
        if found is not None:
            return found, ""
        why = reason
    return None, why


def _head(path: Path) -> _Head:
    try:
        return msgspec.json.decode(read_regular(path), type=_Head)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return _Head()


def _accepted(folder: Path, rules: ReuseRules) -> tuple[Baseline | None, str]:
    run = read_run_file(folder)
    if not (folder / "leaderboard.json").exists():
        return None, f"{folder} is not finished"
    if not rules.foreign and not is_sealed(folder, sealed_as(run)):
        return None, f"{folder} was made by another user or machine (--resume-foreign accepts it)"
    return Baseline(folder, run), ""
