"""`assay list` in a project: its tasks with tags, owners, sizes, and the last score of each with its age."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from assay.cli.output import print_json, show
from assay.cli.project import project_root
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.formats.project.task_files import TaskFile
    from assay.pages.document import Cell
    from assay.tasks.last_results import LastResult
    from assay.tasks.project_sources import ProjectSources


def list_project(options: argparse.Namespace) -> int:
    from assay.formats.declarative.config_spec import NoValueError
    from assay.tasks.last_results import last_results
    from assay.tasks.load import task_files_named
    from assay.tasks.project_facts import read_of
    from assay.tasks.project_sources import project_sources

    project = project_sources()
    assert project is not None  # noqa: S101 - the caller has looked
    names = options.what or [str(project.project.root)]
    paths = task_files_named(names, project, options.tagged or ())
    listed = [project.file(path) for path in dict.fromkeys(path for each in paths.values() for path in each)]
    files = [file for file in listed if options.search is None or options.search.casefold() in file.name.casefold()]
    definitions, broken = read_of(files)
    results = last_results(project_root())
    now = datetime.now(UTC)
    if options.json:
        tasks = [_as_data(project, file, definitions.get(file.name), results.get(file.name)) for file in files]
        print_json({"project": project.project.name, "tasks": tasks, "notes": project.tasks.files.notes})
    else:
        _show(project, files, definitions, results, now, options)
    for note in project.tasks.files.notes:
        print(note, file=sys.stderr)
    for name, error in broken.items():
        if isinstance(error, NoValueError):
            print(f"{name}: needs {error.flags}", file=sys.stderr)
    wrong = [str(error) for error in broken.values() if not isinstance(error, NoValueError)]
    if wrong:
        raise UsageError("\n".join(dict.fromkeys(wrong)))
    return DONE


def _show(
    project: ProjectSources,
    files: Sequence[TaskFile],
    definitions: dict[str, TaskDefinition],
    results: dict[str, LastResult],
    now: datetime,
    options: argparse.Namespace,
) -> None:
    from assay.pages.document import Span, TextTable
    from assay.text.ages import age_text
    from assay.text.numbers import number

    rows: list[list[Cell]] = []
    shown = [result for file in files if (result := results.get(file.name)) is not None]
    several = len({result.model for result in shown}) > 1
    for file in files:
        said, result = project.tasks.of(file.name).values, results.get(file.name)
        definition = definitions.get(file.name)
        rows.append(
            [
                Span(file.name, "key"),
                ", ".join(said.tags),
                said.owner or "",
                "" if definition is None else f"{definition.dataset.size:,}",
                "never run" if result is None else "none" if result.score is None else number(result.score),
                "" if result is None else age_text((now - result.time).total_seconds()),
            ]
        )
        if several:
            rows[-1].append("" if result is None else result.model)
    header = ["task", "tags", "owner", "samples", "last score", "age", *(["of"] if several else [])]
    show(TextTable(header=header, rows=rows, numeric_from=3, drops=("tags", "owner")), options)


def _as_data(
    project: ProjectSources, file: TaskFile, definition: TaskDefinition | None, result: LastResult | None
) -> dict[str, object]:
    said = project.tasks.of(file.name).values
    return {
        "task": file.name,
        "path": str(file.path),
        "kind": file.kind,
        "tags": said.tags,
        "owner": said.owner,
        "samples": None if definition is None else definition.dataset.size,
        "last": result,
    }
