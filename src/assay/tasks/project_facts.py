"""What of a project's tasks is known only when they are read or were run: their sizes, how their last runs ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint
from assay.core.types import TaskDefinition
from assay.formats.project.discovery import current_project
from assay.formats.project.task_files import TaskFile
from assay.tasks.last_results import LastResult, last_results


def definitions_of(files: Sequence[TaskFile]) -> dict[str, TaskDefinition]:
    """The tasks of these files by name, without calling a server or running code; those that cannot be read are left
    out."""
    return read_of(files)[0]


def read_of(files: Sequence[TaskFile]) -> tuple[dict[str, TaskDefinition], dict[str, UsageError]]:
    """The tasks of these files by name, and what is wrong with the others."""
    from assay.tasks.load import read_sources  # which reads projects

    if not files:
        return {}, {}
    loaded, refused = read_sources([str(file.path) for file in files], allow_bad=True, only_reads=True)
    by_path = {file.path.resolve(): file.name for file in files}
    tasks: dict[Path, list[TaskDefinition]] = {}
    for task in loaded:
        tasks.setdefault(Path(task.definition.source).resolve(), []).append(task.definition)
    definitions = {
        by_path.get(path, each.name) if len(several) == 1 else each.name: each
        for path, several in tasks.items()
        for each in several
    }
    return definitions, {by_path[file.path.resolve()]: file.error for file in refused}


def sizes_of(files: Sequence[TaskFile]) -> dict[str, int]:
    """How many samples the tasks have."""
    return {name: definition.dataset.size for name, definition in definitions_of(files).items()}


def statuses_of(files: Sequence[TaskFile]) -> dict[str, set[str]]:
    """Which of `never`, `failed` and `stale` hold of each task's last result."""
    project = current_project()
    results = {} if project is None else last_results(project.root)
    definitions = definitions_of([file for file in files if file.name in results])
    return {file.name: _statuses(results.get(file.name), definitions.get(file.name)) for file in files}


def _statuses(result: LastResult | None, definition: TaskDefinition | None) -> set[str]:
    if result is None:
        return {"never"}
    found = set() if result.complete and result.score is not None else {"failed"}
    if definition is not None and task_fingerprint(definition) != result.fingerprint:
        found.add("stale")
    return found
