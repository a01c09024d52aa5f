"""Which tasks a command is about: names add, `-t` narrows. Unknown words and empty selections are refused.

A name is a path, a task, a folder, a pattern or `@suite`; a term is a tag, `owner:X`, `scorer:X`, …, or `!` and one.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.errors import UsageError
from assay.formats.project.applied import ForTask, for_task, near_pattern, refuse_idle_values, refuse_unmatched
from assay.formats.project.name_patterns import is_pattern, matches
from assay.formats.project.reader import Project
from assay.formats.project.records import Suite
from assay.formats.project.task_files import FoundTasks, TaskFile, task_files
from assay.text.wording import count_of, hint, nearest

DEFAULT = "default"
"""The suite that runs where nothing is named."""
STATUSES = ("failed", "stale", "never")
_SIZE = re.compile(r"(<=|>=|<|>|=)?\s*(\d+)\Z")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """What a selection may have to look up: how many samples tasks have, and how their last runs ended."""

    sizes: Callable[[Sequence[TaskFile]], Mapping[str, int]]
    statuses: Callable[[Sequence[TaskFile]], Mapping[str, set[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTasks:
    """The tasks of a project, with what it says of each."""

    project: Project
    files: FoundTasks
    said: dict[str, ForTask] = field(default_factory=dict)

    @property
    def by_name(self) -> dict[str, TaskFile]:
        return self.files.by_name

    def of(self, name: str) -> ForTask:
        if name not in self.said:
            file = self.by_name.get(name)
            self.said[name] = for_task(self.project, name, file.tags if file is not None else ())
        return self.said[name]


def project_tasks(project: Project) -> ProjectTasks:
    """The tasks of a project; folders and suites that name none are refused."""
    tasks = ProjectTasks(project=project, files=task_files(project))
    refuse_unmatched(project, tasks.by_name)
    refuse_idle_values(project, tasks.by_name)
    return tasks


def named_tasks(tasks: ProjectTasks, name: str) -> list[TaskFile]:
    """The tasks behind a name that is no path: a task, a folder, a pattern or a suite."""
    if name.startswith("@"):
        return suite_tasks(tasks, name[1:])
    found = [file for each, file in tasks.by_name.items() if matches(name, each)]
    if not found:
        raise UsageError(unknown_task(tasks, name))
    return found


def unknown_task(tasks: ProjectTasks, name: str) -> str:
    near = near_pattern(name, tasks.by_name)
    if near is None:
        return f"no task `{name}` in {tasks.project.path}: `assay list` shows its tasks"
    number = sum(matches(near, item) for item in tasks.by_name)
    return f"no task `{name}`. Did you mean `{near}`" + (f" ({number})?" if near not in tasks.by_name else "?")


def suite_tasks(tasks: ProjectTasks, name: str, lookups: Lookups | None = None) -> list[TaskFile]:
    """The tasks of a suite, in the order of its `select`, each once."""
    suite = tasks.project.suite(name)
    found: dict[str, TaskFile] = {}
    for at, each in enumerate(suite.select):
        try:
            members = _selected(tasks, each, lookups)
        except UsageError as error:
            if each.startswith("@"):
                raise
            raise tasks.project.error(("suites", name, "select", at), str(error)) from error
        found |= {file.name: file for file in members}
    try:
        files = narrowed(tasks, list(found.values()), suite.where, lookups)
    except UsageError as error:
        raise tasks.project.error(("suites", name, "where"), str(error)) from error
    _refuse_idle_weights(tasks.project, name, suite, files)
    return files


def _selected(tasks: ProjectTasks, name: str, lookups: Lookups | None) -> list[TaskFile]:
    if name.startswith("@"):
        return suite_tasks(tasks, name[1:], lookups)
    path = tasks.project.root / name
    if not is_pattern(name) and path.is_file():  # such as a run file, or a task outside the folders of tasks
        known = next((file for file in tasks.by_name.values() if file.path.resolve() == path.resolve()), None)
        return [known or TaskFile(name=name, path=path, kind=path.suffix.removeprefix("."))]
    return named_tasks(tasks, name)


def _refuse_idle_weights(project: Project, name: str, suite: Suite, files: Sequence[TaskFile]) -> None:
    for pattern in suite.weights if isinstance(suite.weights, dict) else ():
        if not any(matches(pattern, file.name) for file in files):
            at = ("suites", name, "weights", pattern)
            raise project.error(at, f"`{pattern}` has a weight, and @{name} selects none of it")


def narrowed(
    tasks: ProjectTasks, files: Sequence[TaskFile], terms: Iterable[str], lookups: Lookups | None = None
) -> list[TaskFile]:
    """The tasks of which every one of `terms` holds; each is a list of alternatives, separated by commas."""
    left = list(files)
    steps: list[str] = []
    for term in terms:
        words = [word.strip() for word in term.split(",") if word.strip()]
        if not words:
            raise UsageError(f"-t {term!r}: expected a tag, `owner:X`, … or `!` before one")
        rules = [_rule(tasks, word, left, lookups) for word in words]
        # what a broken file would have is not known: it is kept, so that its reader says what is wrong with it
        kept = [file for file in left if file.broken is not None or any(rule(file) for rule in rules)]
        if not kept:
            why = (
                f"{', '.join(steps)}, then `{term}` removes {len(left)}"
                if steps
                else f"none of {len(left)} has `{term}`"
            )
            raise UsageError(f"no task is left: {why}")
        steps.append(f"{len(kept)} have `{term}`")
        left = kept
    return left


Rule = Callable[[TaskFile], bool]


def _rule(tasks: ProjectTasks, word: str, files: Sequence[TaskFile], lookups: Lookups | None) -> Rule:
    if word.startswith("!"):
        inner = _rule(tasks, word[1:], files, lookups)
        return lambda file: not inner(file)
    kind, colon, wanted = word.partition(":")
    if not colon:
        return _has_tag(tasks, word)
    if kind not in _FILTERS:
        raise UsageError(f"unknown filter `{kind}:`; known: {', '.join(_FILTERS)}")
    return _FILTERS[kind](tasks, wanted, files, lookups)


def _has_tag(tasks: ProjectTasks, tag: str) -> Rule:
    known = {each for name in tasks.by_name for each in tasks.of(name).values.tags}
    if tag not in known:
        near = nearest(tag, known)
        instead = f"Did you mean `{near}`?" if near else f"Known: {', '.join(sorted(known)) or 'none'}"
        raise UsageError(f"unknown tag `{tag}` ({count_of(len(known), 'tag')}). {instead}")
    return lambda file: tag in tasks.of(file.name).values.tags


def _of_values(called: str, values: Callable[[ProjectTasks, TaskFile], Iterable[str]]) -> Callable[..., Rule]:
    """A filter on one of the values that tasks have; one that no task has is a mistake."""

    def made(tasks: ProjectTasks, wanted: str, files: Sequence[TaskFile], lookups: Lookups | None) -> Rule:
        known = {value for file in tasks.by_name.values() for value in values(tasks, file)}
        if wanted not in known:
            raise UsageError(f"no task has the {called} `{wanted}`. {hint(wanted, sorted(known))}")
        return lambda file: wanted in values(tasks, file)

    return made


def _owner(tasks: ProjectTasks, file: TaskFile) -> Iterable[str]:
    owner = tasks.of(file.name).values.owner
    return () if owner is None else (owner,)


def _judges(tasks: ProjectTasks, file: TaskFile) -> Iterable[str]:
    judge = tasks.of(file.name).values.judge or tasks.project.entry.judge
    return {*file.judges, *([judge] if judge is not None and file.judges else [])}


def _size(tasks: ProjectTasks, wanted: str, files: Sequence[TaskFile], lookups: Lookups | None) -> Rule:
    match = _SIZE.match(wanted)
    if match is None:
        raise UsageError(f"size:{wanted}: expected a number of samples, such as `size:<100`")
    compare, limit = _COMPARE[match[1] or "="], int(match[2])
    sizes = lookups.sizes(files) if lookups is not None else {}
    return lambda file: compare(sizes.get(file.name, 0), limit)


def _status(tasks: ProjectTasks, wanted: str, files: Sequence[TaskFile], lookups: Lookups | None) -> Rule:
    if wanted not in STATUSES:
        raise UsageError(f"unknown status `{wanted}`. {hint(wanted, STATUSES)}")
    statuses = lookups.statuses(files) if lookups is not None else {}
    return lambda file: wanted in statuses.get(file.name, set())


_FILTERS: dict[str, Callable[..., Rule]] = {
    "owner": _of_values("owner", _owner),
    "scorer": _of_values("scorer", lambda tasks, file: file.scorers),
    "dataset": _of_values("dataset", lambda tasks, file: file.datasets),
    "judge": _of_values("judge", _judges),
    "kind": _of_values("kind", lambda tasks, file: (file.kind,)),
    "size": _size,
    "status": _status,
}


def files_below(tasks: ProjectTasks, folder: Path) -> list[TaskFile]:
    """The tasks of the project that lie in a folder or below it."""
    top = folder.resolve()
    return [file for file in tasks.by_name.values() if file.path.resolve().is_relative_to(top)]
