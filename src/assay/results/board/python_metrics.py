"""The results of a run's Python metrics: computed when the run ends, kept next to the journal, read by every report.

A report never executes code: `runs/python_metrics.py` does. The file names the digest of the scores it was computed
from, so that numbers of other scores are not taken for these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import TaskDefinition
from assay.results.board.journal_table import TaskTable
from assay.results.measure import headline_of
from assay.stats.replicates import Replicates

FILE = "python_metrics.json"
KeptMetrics = dict[str, dict[str, Any]]
"""Task -> `digest` and `metrics`: aggregate key -> its output."""


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


def replicates_in(kept: KeptMetrics, definition: TaskDefinition, score: float | None) -> Replicates | None:
    """The task's score over resamples of its samples; None where there are none, or they are of another score."""
    headline = headline_of(definition)
    output = None if headline is None else kept.get(definition.name, {}).get("metrics", {}).get(headline.key)
    if output is None or "over" not in output:
        return None
    name = next((name for name, value in output["values"].items() if value == score), "")
    reason = output.get("no_interval") or output.get("hanging", {}).get(name)
    draws = output.get("draws", {}).get(name, [])
    if not draws and reason is None:
        return None
    return Replicates(
        value=output["values"][name], draws=draws, units=output["units"], over=output["over"], reason=reason
    )


def broken_metrics(kept: KeptMetrics, definition: TaskDefinition, table: TaskTable) -> dict[str, str]:
    """The Python metrics of a task that broke over exactly these scores: failure kind -> what happened."""
    outputs = {part.key: output_for(kept, definition.name, part.key, table) or {} for part in definition.aggregates}
    return {
        f"metric/{output.get('kind', 'bad_output')}": f"{key}: {output['error']}"
        for key, output in outputs.items()
        if "error" in output
    }
