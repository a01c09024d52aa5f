"""What the Python metrics of a run came to: computed when the run ends, kept beside the journal, read by every report.

A report never executes code. The file names the digest of the scores it was computed from, so that numbers of other
scores are not taken for these.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.journal import counting_lines
from assay.core.regular_file import read_regular
from assay.core.run_file import write_whole
from assay.core.types import TaskDefinition
from assay.reports.journal_table import Line, TaskTable, read_tables
from assay.reports.measure import counts
from assay.reports.view import GROUP, metadata_value
from assay.stats.python_metric import compute_metrics
from assay.tasks.trust import untrusted

FILE = "python_metrics.json"
Kept = dict[str, dict[str, Any]]
"""Task -> `digest` and `metrics`: aggregate key -> what was found."""


async def run_python_metrics(folder: Path, definitions: Sequence[TaskDefinition], *, trust: bool = False) -> None:
    """Run every Python metric over the journal's scores and keep what it found.

    The definitions are those of a run folder: without `trust`, the user's word, code that only the folder vouches for
    is left alone.
    """
    definitions = [each for each in definitions if trust or not untrusted(each, out_of_a_run=True)]
    wanted = {
        each.name: parts
        for each in definitions
        if (parts := [part for part in each.aggregates if part.use == "python"])
    }
    if not wanted:
        return
    journal = folder / "journal.jsonl"
    tables = read_tables(journal, [each for each in definitions if each.name in wanted])
    lines = _lines_of(journal, set(wanted))
    kept: Kept = {}
    for task, parts in wanted.items():
        metrics = {}
        for part in parts:
            scorer = part.options.get("scorer")
            counted = [(line, score) for line in lines[task] for score in line.scores if score.name == scorer]
            metrics[part.key] = await compute_metrics(
                part.options["compute_metrics_snippet"],
                [{"values": dict(score.values), "metadata": score.metadata or {}} for _, score in counted],
                part=part.key,
                clusters=[metadata_value(line.metadata, GROUP) or line.index for line, _ in counted],
            )
        kept[task] = {"digest": f"{tables[task].digest:x}", "metrics": metrics}
    write_whole(folder / FILE, msgspec.json.format(msgspec.json.encode(kept), indent=2))


def read_python_metrics(folder: Path) -> Kept:
    path = folder / FILE
    try:
        return msgspec.json.decode(read_regular(path), type=Kept)
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not a file of Python metrics: {error}. Delete it to have it made again.") from error


def found_for(kept: Kept, task: str, part: str, table: TaskTable) -> dict[str, Any] | None:
    """What was found over these very scores; None when it was not, or over others."""
    entry = kept.get(task)
    if entry is None or entry["digest"] != f"{table.digest:x}":
        return None
    found: dict[str, Any] | None = entry["metrics"].get(part)
    return found


def broken_metrics(kept: Kept, definition: TaskDefinition, table: TaskTable) -> dict[str, str]:
    """The Python metrics of a task that broke over these very scores: failure kind -> what happened."""
    found = {part.key: found_for(kept, definition.name, part.key, table) or {} for part in definition.aggregates}
    return {
        f"metric/{each.get('kind', 'bad_output')}": f"{key}: {each['error']}"
        for key, each in found.items()
        if "error" in each
    }


def _lines_of(journal: Path, tasks: set[str]) -> dict[str, list[Line]]:
    """The attempts whose scores count, in the order of the dataset."""
    found: dict[str, list[Line]] = {task: [] for task in tasks}
    for _, line in counting_lines(journal, Line):
        if line.task in found and counts(line):
            found[line.task].append(line)
    return {task: sorted(lines, key=lambda line: (line.index, line.attempt)) for task, lines in found.items()}
