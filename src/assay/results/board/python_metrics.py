"""The results of a run's Python metrics: computed when the run ends, kept next to the journal, read by every report.

A report never executes code: `runs/python_metrics.py` does. The file names the digest of the scores it was computed
from, so that numbers of other scores are not taken for these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from assay import catalog
from assay.core.describe import Whole
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import PartSpec, TaskDefinition
from assay.results.board.journal_table import TaskTable

FILE = "python_metrics.json"
KeptMetrics = dict[str, dict[str, Any]]
"""Task -> `digest` and `metrics`: aggregate key -> its output."""


def runs_code(part: PartSpec) -> bool:
    """Whether an aggregate is computed by code that is not ours: a snippet, another program's, a third-party part."""
    return is_own_object(part) or (isinstance(part.about, Whole) and part.about.runs != "here")


def is_own_object(part: PartSpec) -> bool:
    """Whether an aggregate is a Python object that is not ours."""
    return not catalog.is_ours("aggregate", part.use)


def read_python_metrics(folder: Path) -> KeptMetrics:
    path = folder / FILE
    try:
        return msgspec.json.decode(read_regular(path), type=KeptMetrics)
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not a file of Python metrics: {error}. Delete it to have it rebuilt.") from error


def output_for(kept: KeptMetrics, task: str, part: str, table: TaskTable) -> dict[str, Any] | None:
    """The results for exactly these scores; None when they are missing, or for other scores."""
    entry = kept.get(task)
    if entry is None or entry["digest"] != f"{table.digest:x}":
        return None
    output: dict[str, Any] | None = entry["metrics"].get(part)
    return output


def broken_metrics(kept: KeptMetrics, definition: TaskDefinition, table: TaskTable) -> dict[str, str]:
    """The Python metrics of a task that broke over exactly these scores: failure kind -> what happened."""
    outputs = {part.key: output_for(kept, definition.name, part.key, table) or {} for part in definition.aggregates}
    return {
        f"metric/{output.get('kind', 'bad_output')}": f"{key}: {output['error']}"
        for key, output in outputs.items()
        if "error" in output
    }
