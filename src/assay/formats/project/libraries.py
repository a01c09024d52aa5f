"""What the project file gives to its tasks by key: datasets, and a file of scorers."""

from __future__ import annotations

from pathlib import Path

from assay.formats.declarative.checked import checked_dataset
from assay.formats.declarative.records import DatasetEntry
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain
from assay.formats.project.discovery import current_project
from assay.formats.project.reader import Project
from assay.trust.project import is_inside_this_project


def project_of(file: Path) -> Project | None:
    """The project in force, for a file that is part of it."""
    project = current_project()
    return project if project is not None and is_inside_this_project(file) else None


def dataset_of_project(project: Project, key: str) -> tuple[Document, FieldPath, DatasetEntry] | None:
    """The dataset that the project file has under this key, as a dataset file would have it."""
    said = project.entry.datasets.get(key)
    if said is None:
        return None
    where: FieldPath = ("datasets", key)
    source: Plain = said.source
    if said.path is not None:
        source = {"type": "local", "file_path": said.path}
    elif said.hub is not None:
        given: dict[str, Plain] = {"path": said.hub, "split": said.split, "revision": said.revision}
        if said.config is not None:
            given["load_dataset_kwargs"] = {"name": said.config}
        source = {"type": "huggingface", **{name: value for name, value in given.items() if value is not None}}
    value: Plain = {"key": key, "display_name": key, "source": source}
    return project.document, where, checked_dataset(project.document, value, where)


def scorer_file(task: Path) -> Path | None:
    """The project's file of scorers, for a task of the project; None where it has none."""
    project = project_of(task)
    if project is None or project.entry.scorers is None:
        return None
    return project.root / project.entry.scorers
