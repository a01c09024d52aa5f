"""Slices: a task's score per value of a metadata key, and which slices are weak, where the evidence supports it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from assay.core.types import Summary
from assay.results.board.board_types import ScoreInterval, SliceRow
from assay.results.measure import Measure
from assay.stats.cells import UNIT
from assay.stats.intervals import Codes
from assay.stats.score_table import Numbers, ScoreTable
from assay.text.numbers import equals_p, level_text, number

if TYPE_CHECKING:
    from assay.stats.families import Corrected
    from assay.stats.subgroups import PartAgainstRest

NO_VALUE = "(none)"
MOST = 200
"""A key with more values than this is an identifier, not a slice."""
FEWEST = 5
"""A slice of fewer samples is shown but never called weak."""


def slice_rows(
    by: str,
    tables: dict[str, ScoreTable],
    headline: Callable[[ScoreTable], Summary],
    measure: Measure,
    level: float,
) -> list[SliceRow]:
    """One row per value, in order; `weak_slices` corrects their p-values and marks the weak ones."""
    names = sorted(tables, key=_in_order)
    against = _against_rest([tables[name] for name in names], measure) if measure.headline else [None] * len(names)
    rows = []
    for name, compared in zip(names, against, strict=True):
        summary = headline(tables[name])
        rows.append(
            SliceRow(
                by=by,
                value=name,
                score=summary.value,
                interval=_interval(summary, level),
                scored=summary.scored,
                failed=summary.failed + summary.timeouts,
                rest=compared.rest if compared is not None else None,
                adjusted_p=compared.p_value if compared is not None else None,
            )
        )
    return rows


def shown_slices(rows: Sequence[SliceRow]) -> list[SliceRow]:
    """The slices of a task worth showing: a key that none of its samples has is left out."""
    keys = {row.by for row in rows if row.value != NO_VALUE}
    return [row for row in rows if row.by in keys]


def weak_slices(
    slices: list[list[SliceRow]], level: float, *, turned: Sequence[bool] | None = None
) -> list[list[SliceRow]]:
    """The slices of all tasks, with those marked that are significantly worse than the rest of their task: below it, or
    above it for tasks that are `turned`, where lower is better.

    Holm's correction is over every slice of the report: among a hundred of them, five look weak by chance.
    """
    if not any(slices):
        return slices
    from assay.stats.families import correct_known  # most boards have no slices

    family = iter(correct_known([row.adjusted_p for rows in slices for row in rows], level))
    return [
        [_marked(row, next(family), lower=lower) for row in rows]
        for rows, lower in zip(slices, turned or [False] * len(slices), strict=True)
    ]


def _marked(row: SliceRow, corrected: Corrected | None, *, lower: bool) -> SliceRow:
    if corrected is None:
        return row
    known = row.score is not None and row.rest is not None and row.score != row.rest
    worse = known and ((row.score or 0.0) > (row.rest or 0.0)) is lower
    weak = worse and corrected.significant and row.scored >= FEWEST
    return replace(row, adjusted_p=corrected.adjusted_p, weak=weak)


def weak_sentences(task: str, rows: list[SliceRow], level: float) -> list[str]:
    """The weak slices of a task, weakest first; one sentence when none stands out."""
    weak = sorted((row for row in rows if row.weak), key=lambda row: -abs((row.score or 0.0) - (row.rest or 0.0)))
    if all(row.value == NO_VALUE for row in rows):
        return []  # a key that no sample has is reported once, not for every task
    if not weak:
        keys = ", ".join(dict.fromkeys(row.by for row in rows))
        return [f"{task}: no slice by {keys} is significantly weaker than the rest ({level_text(level)} level, Holm)"]
    return [
        f"{task}: weak where {row.by} = {row.value}: {number(row.score)} over {row.scored:,}, "
        f"{number(row.rest)} over the rest ({equals_p(row.adjusted_p)} after Holm)"
        for row in weak
        if row.score is not None and row.rest is not None and row.adjusted_p is not None
    ]


def _against_rest(tables: list[ScoreTable], measure: Measure) -> list[PartAgainstRest | None]:
    if measure.column is None or len(tables) < 2:
        return [None] * len(tables)
    numbers = [table.numbers(measure.column) for table in tables]
    clustered = any(each.clustered for each in numbers)
    if measure.untested is not None:
        return [None] * len(tables)
    shares = measure.bounds == UNIT
    return [_one_against_rest(numbers, index, clustered=clustered, shares=shares) for index in range(len(numbers))]


def _one_against_rest(numbers: list[Numbers], index: int, *, clustered: bool, shares: bool) -> PartAgainstRest | None:
    from assay.stats.subgroups import against_rest  # most runs have no slices

    rest = [*numbers[:index], *numbers[index + 1 :]]
    return against_rest(
        numbers[index].values,
        np.concatenate([item.values for item in rest]),
        part_groups=numbers[index].clusters if clustered else None,
        rest_groups=_apart([item.clusters for item in rest]) if clustered else None,
        shares=shares,
    )


def _apart(tables: list[Codes]) -> Codes:
    """Cluster codes of several tables, renumbered so that none is shared."""
    shifted, start = [], 0
    for codes in tables:
        shifted.append(codes + start)
        start += int(codes.max()) + 1 if len(codes) else 0
    return np.concatenate(shifted)


def _interval(summary: Summary, level: float) -> ScoreInterval | None:
    if summary.low is None or summary.high is None:
        return None
    return ScoreInterval(low=summary.low, high=summary.high, level=level)


def _in_order(value: str) -> tuple[int, float, str]:
    """Numbers first, by size, then texts in alphabetical order."""
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value
