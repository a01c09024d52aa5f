"""The attempts of a run that a reader wants to see first: what failed, then what scored lowest."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.core.journal import Outcome, read_lines, read_records
from assay.core.types import Record
from assay.reports.measure import Measure


def worst_first(journal: Path, measures: Mapping[str, Measure], most: int) -> list[Record]:
    """Up to `most` attempts in one pass over the journal, whatever its size."""

    def badness(record: Record) -> tuple[int, float, str, int, int]:
        place = (record.task, record.index, record.attempt)
        if record.failures:
            return (0, 0.0, *place)
        measure = measures.get(record.task, Measure())
        value = measure.of(record.scores)
        if value is None:
            return (2, 0.0, *place)
        return (1, -value if measure.lower_is_better else value, *place)

    return heapq.nsmallest(most, attempts_that_count(journal), key=badness)


def attempts_that_count(journal: Path) -> Iterator[Record]:
    """Every attempt once: a failure that was made up for later is not shown, nor is one that failed twice."""
    owed: dict[str, int] = {}
    for number, line in enumerate(read_lines(journal, Outcome)):
        if line.failures:
            owed[line.key] = number
        else:
            owed.pop(line.key, None)
    for number, record in enumerate(read_records(journal)):
        if not record.failures or owed.get(record.key) == number:
            yield record


def attempts_of(journal: Path, sample: str) -> list[Record]:
    """Every attempt at one sample, in every task that has a sample of that id."""
    return [record for record in attempts_that_count(journal) if record.sample_id == sample]
