"""The task files of a project: found below its folders of tasks, each with the name that it has there.

A task is called by its folder below `tasks` and its key, or for other files than YAML its file: `support/intent`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.catalog import OTHER_MODELS
from assay.core.errors import UsageError
from assay.formats.declarative.checked import kind_of, other_kind
from assay.formats.declarative.load import holds_rows
from assay.formats.declarative.shape import mappings
from assay.formats.declarative.yaml_reader import Plain, inside, read_yaml
from assay.formats.project.discovery import FILE_NAME
from assay.formats.project.name_patterns import is_pattern, matches
from assay.formats.project.reader import Project
from assay.trust.project import out_of_bounds

YAML = (".yaml", ".yml")
_SKIPPED = {"datasets", "models", "model_adapters", "runs", "__pycache__"}
"""Folders that hold what tasks name by key, or what runs wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A task file, and what is known of it before it is read as a task."""

    name: str
    path: Path
    kind: str
    """`yaml`, or another ending without its dot."""
    value: Plain = None
    """What a YAML file holds; None where it cannot be read, or is of another kind."""
    broken: str | None = None
    """Why it cannot be read."""

    @property
    def tags(self) -> tuple[str, ...]:
        tags = self.value.get("tags") if isinstance(self.value, dict) else None
        return tuple(map(str, tags)) if isinstance(tags, list) else ()

    @property
    def parameters(self) -> set[str]:
        """The keys of its `config_spec`."""
        spec = self.value.get("config_spec") if isinstance(self.value, dict) else None
        return {str(parameter.get("key")) for parameter in mappings(spec)}

    @property
    def scorers(self) -> set[str]:
        """The types and keys of its scorers."""
        return {str(part[word]) for part in self._parts("scorers") for word in ("type", "key") if part.get(word)}

    @property
    def datasets(self) -> set[str]:
        """The keys of its datasets."""
        dataset = self._definition.get("dataset")
        named = [dataset.get("key"), *(dataset.get("keys") or ())] if isinstance(dataset, dict) else []
        return {str(item) for item in named if item}

    @property
    def judges(self) -> set[str]:
        """The keys of the models that it calls in addition to the evaluated one."""
        return set(_other_models(self._definition))

    @property
    def _definition(self) -> dict[str, Any]:
        definition = self.value.get("definition") if isinstance(self.value, dict) else None
        return definition if isinstance(definition, dict) else {}

    def _parts(self, kind: str) -> list[dict[str, Any]]:
        return mappings(self._definition.get(kind))


def _other_models(value: Plain) -> Iterator[str]:
    for at, item in inside(value):
        if at[-1] in OTHER_MODELS and isinstance(item, str):
            yield item
        else:
            yield from _other_models(item)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTasks:
    """All task files of a project, by name, and what was left out."""

    by_name: dict[str, TaskFile]
    notes: tuple[str, ...] = ()


def task_files(project: Project) -> FoundTasks:
    """Every task of a project; two of one name are refused."""
    found: dict[str, TaskFile] = {}
    notes: list[str] = []
    paths = list(_files(project, notes))
    with_yaml = {path.parent for path, _ in paths if path.suffix in YAML and _task_file(path, path.parent) is not None}
    for path, folder in paths:
        file = _task_file(path, folder, beside_tasks=path.parent in with_yaml)
        if file is None:
            continue
        if (other := found.get(file.name)) is not None and not _is_same(other.path, path):
            raise UsageError(f"`{file.name}` is {_called(other)} and {_called(file)}; rename one")
        found.setdefault(file.name, file)
    return FoundTasks(by_name=found, notes=tuple(dict.fromkeys(notes)))


def name_in_project(project: Project, path: Path) -> str | None:
    """The folder of a task file below the folders of tasks, as names have it: `support` or, at the top, the empty name.

    None for a file that is not below one of them.
    """
    resolved = path.resolve()
    for root in _roots(project, []):
        if resolved.is_relative_to(root.resolve()):
            inner = resolved.parent.relative_to(root.resolve()).as_posix()
            return "" if inner == "." else inner
    return None


def _called(file: TaskFile) -> str:
    key = file.name.rpartition("/")[2]
    return f"{file.path}" + (f" (key: {key})" if file.kind == "yaml" and file.path.stem != key else "")


def _is_same(one: Path, other: Path) -> bool:
    return one == other or one.resolve() == other.resolve()


def _files(project: Project, notes: list[str]) -> Iterator[tuple[Path, Path]]:
    """Each file that may be a task, with the folder that its name begins below."""
    for root in _roots(project, notes):
        if root.is_file():
            yield root, root.parent
        else:
            yield from ((path, root) for path in _below(root, project, notes))


def _roots(project: Project, notes: list[str]) -> list[Path]:
    roots: list[Path] = []
    for at, named in enumerate(project.entry.tasks):
        if is_pattern(named):
            matching = sorted(project.root.glob(named))
            if not matching and not notes:
                raise project.error(("tasks", at), f"no file or folder matches `{named}`")
            roots += matching
            continue
        path = project.root / named
        if not path.exists():
            if ("tasks",) not in project.document.marks:
                continue  # the default: a project may have no tasks yet
            raise project.error(("tasks", at), f"there is no file or folder {path}")
        roots.append(path)
    return roots


def _below(folder: Path, project: Project, notes: list[str]) -> list[Path]:
    """The files below a folder that no pattern excludes; inner projects and links out are noted."""
    inner: list[Path] = []
    files: list[Path] = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = folder / entry.name
        if entry.name.startswith(".") or _is_excluded(path, project):
            continue
        if entry.is_symlink() and (reason := out_of_bounds(path, project.root)):
            notes.append(f"{path}: {reason}; left out")
            continue
        if not entry.is_dir():
            files.append(path)
        elif (path / FILE_NAME).is_file():
            notes.append(f"{path}: is a project of its own ({FILE_NAME}); left out")
        elif entry.name not in _SKIPPED:
            inner += _below(path, project, notes)
    return [*files, *inner]


def _is_excluded(path: Path, project: Project) -> bool:
    relative = os.path.relpath(path, project.root)
    return any(matches(pattern, Path(relative).as_posix()) for pattern in project.entry.exclude)


def _task_file(path: Path, root: Path, *, beside_tasks: bool = False) -> TaskFile | None:
    """The task in a file; None for files of other kinds."""
    folder = path.parent.relative_to(root).as_posix()
    prefix = "" if folder == "." else f"{folder}/"
    if path.suffix == ".jsonl":
        rows = holds_rows(path, beside_tasks=beside_tasks)
        return None if rows else TaskFile(name=f"{prefix}{path.stem}", path=path, kind="jsonl")
    if path.suffix not in YAML:
        return None
    status = path.stat()
    value, broken = yaml_value(path, (status.st_ino, status.st_size, status.st_mtime_ns))
    if broken is not None:
        return TaskFile(name=f"{prefix}{path.stem}", path=path, kind="yaml", broken=broken)
    if not _is_task(value, path):
        return None
    key = value.get("key") if isinstance(value, dict) else None
    return TaskFile(name=f"{prefix}{key or path.stem}", path=path, kind="yaml", value=value)


def _is_task(value: Plain, path: Path) -> bool:
    if not isinstance(value, dict):
        return True  # its reader says what is wrong with it
    return (other_kind(value, path) or kind_of(value)) == "task"


@lru_cache(maxsize=10_000)
def yaml_value(path: Path, _version: tuple[int, ...]) -> tuple[Plain, str | None]:
    """What a YAML file says, or why it cannot be read."""
    try:
        return read_yaml(path, collect_faults=True).value, None
    except UsageError as error:
        return None, str(error)


def nearest_names(names: Iterable[str]) -> Sequence[str]:
    """All that a user may name: tasks, and the folders that they are in."""
    known: dict[str, None] = {}
    for name in names:
        parts = name.split("/")
        for end in range(1, len(parts)):
            known["/".join(parts[:end])] = None
        known[name] = None
    return list(known)
