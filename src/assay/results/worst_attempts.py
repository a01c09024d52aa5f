"""The attempts of a run to look at first: those that failed, then those with the lowest scores."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from assay.core.journal import counting_lines
from assay.core.types import Record
from assay.results.diff.paired_columns import Side
from assay.results.measure import Measure
from assay.results.per_example import PerExample


def worst_attempts(
    journal: Path, measures: Mapping[str, Measure], most: int, *, task: str | None = None
) -> list[Record]:
    """Up to `most` attempts, of one task or of all, in one pass over the journal."""

    def badness(record: Record) -> tuple[int, float, str, int, int]:
        place = (record.task, record.index, record.attempt)
        if record.failures:
            return (0, 0.0, *place)
        measure = measures.get(record.task, Measure())
        value = measure.upwards(measure.of(record))
        return (2, 0.0, *place) if value is None else (1, value, *place)

    records = (record for _, record in counting_lines(journal, Record) if task is None or record.task == task)
    return heapq.nsmallest(most, records, key=badness)


def some_attempts(journal: Path, tasks: Collection[str], most: int) -> list[Record]:
    """The first `most` attempts of each of these tasks; the journal is read no further than that."""
    missing = dict.fromkeys(tasks, most)
    chosen = []
    for _, record in counting_lines(journal, Record):
        if not missing:
            break
        if record.task in missing:
            chosen.append(record)
            missing[record.task] -= 1
            if not missing[record.task]:
                del missing[record.task]
    return chosen


def attempts_of(journal: Path, sample: str) -> list[Record]:
    """Every attempt at the samples with this id, of any task."""
    records = [record for _, record in counting_lines(journal, Record) if record.sample_id == sample]
    return sorted(records, key=lambda record: (record.task, record.index, record.attempt))


def lowest_scored(side: Side, task: str, most: int) -> tuple[int, list[PerExample]]:
    """How many attempts of a task scored less than is possible, and up to `most` of them, the lowest first."""
    columns, measure = side.tasks[task], side.measures[task]
    turn = -1.0 if measure.lower_is_better else 1.0
    marks = measure.marks(turn * columns.scores[columns.scored])
    full = np.inf if marks is None else turn * marks[1]
    below = np.flatnonzero(columns.scored & (columns.scores < full))
    lowest = below[np.lexsort((columns.places[below], columns.scores[below]))][:most]
    return len(below), [side.example(task, int(columns.places[row])) for row in lowest]
