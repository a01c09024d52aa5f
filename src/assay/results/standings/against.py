"""Every model against one of them, task by task: differences over paired samples, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.results.diff.comparison import paired_diff
from assay.results.diff.paired_columns import Side
from assay.results.report_settings import View
from assay.stats.paired import holm


class BaselineCell(Struct, frozen=True, kw_only=True):
    """One model on one task against the baseline. Positive is better, even where lower scores are."""

    model: str
    task: str
    difference: float | None
    pairs: int
    adjusted_p: float | None
    """Corrected by Holm over all cells."""
    significant: bool


def against_baseline(named: Sequence[tuple[str, Side]], baseline: str, view: View) -> list[BaselineCell]:
    """The comparisons of `assay diff`, of every model with the baseline."""
    base = dict(named)[baseline]
    compared = [
        (label, task.task, task.comparison)
        for label, side in named
        if label != baseline
        for task in paired_diff(base, side, view, samples=0).tasks
        if task.comparison is not None
    ]
    p_values = [comparison.p_value for _, _, comparison in compared if comparison.p_value is not None]
    adjusted = iter(holm(p_values))
    cells = []
    for label, task, comparison in compared:
        p = None if comparison.p_value is None else next(adjusted)
        cells.append(
            BaselineCell(
                model=label,
                task=task,
                difference=comparison.difference,
                pairs=comparison.n,
                adjusted_p=p,
                significant=p is not None and p < 1.0 - view.level,
            )
        )
    return cells
