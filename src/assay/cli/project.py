"""What a command is about where nothing is named, in a project and without one."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import UsageError
from assay.formats.project.discovery import current_project, project_file


def project_default() -> list[str]:
    """What is run in a project where nothing is named: its suite `default`, else all its tasks; empty without one."""
    project = current_project()
    if project is None:
        return []
    from assay.formats.project.selection import DEFAULT

    return [f"@{DEFAULT}"] if DEFAULT in project.entry.suites else [str(project.root)]


def named_or_whole_project(named: list[str]) -> list[str]:
    """What was named, else all tasks of the project; `UsageError` where there is none."""
    path = None if named else project_file()
    if not named and path is None:
        raise UsageError("name task files or folders; without names the tasks of a project are meant: assay.yaml")
    return named or [str(path.parent)] if path is not None else named


def project_root() -> Path:
    """The folder of the project in force; the working directory where there is none."""
    path = project_file()
    return Path() if path is None else path.parent
