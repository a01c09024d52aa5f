"""Every model against one of them, task by task: differences over paired samples, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.results.diff.comparison import paired_diff
from assay.results.diff.paired_columns import Side
from assay.results.report_settings import View
from assay.stats.families import correct_known


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
    family = correct_known([comparison.p_value for _, _, comparison in compared], view.level)
    return [
        BaselineCell(
            model=label,
            task=task,
            difference=comparison.difference,
            pairs=comparison.n,
            adjusted_p=None if corrected is None else corrected.adjusted_p,
            significant=corrected is not None and corrected.significant,
        )
        for (label, task, comparison), corrected in zip(compared, family, strict=True)
    ]
