"""The tasks of one YAML file, without the rest of a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.core.types import TaskDefinition
from assay.formats.declarative.load import read_located_tasks
from assay.formats.declarative.reading_options import ReadingOptions


def read_yaml_tasks(path: Path, **how: Any) -> list[TaskDefinition]:
    """`how` are the fields of `ReadingOptions`."""
    return [task.definition for task in read_located_tasks(path, ReadingOptions(**how))]
