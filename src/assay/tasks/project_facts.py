"""What of a project's tasks is known only when they are read or were run: their sizes, how their last runs ended."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint
from assay.core.types import TaskDefinition
from assay.formats.project.discovery import current_project
from assay.formats.project.task_files import TaskFile
from assay.tasks.last_results import LastResult, last_results


def definitions_of(files: Sequence[TaskFile]) -> dict[str, TaskDefinition]:
    """The tasks of these files by name, without calling a server or running code; those that cannot be read are left
    out."""
    from assay.tasks.load import read_sources  # which reads projects

    definitions: dict[str, TaskDefinition] = {}
    for file in files:
        try:
            loaded, _ = read_sources([str(file.path)], allow_bad=True, only_reads=True)
        except UsageError:
            continue
        for task in loaded:
            definitions[file.name if len(loaded) == 1 else task.definition.name] = task.definition
    return definitions


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
