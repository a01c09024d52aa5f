"""The aggregate of system tasks: every value of the evidence, under its own name."""

from __future__ import annotations

from msgspec.structs import replace

from assay.core.describe import Whole, describes
from assay.core.types import Summary
from assay.stats.aggregates import mean
from assay.stats.score_table import ScoreTable


@describes(Whole(numbers=("*",)))
def evidence(table: ScoreTable, *, level: float = 0.95) -> list[Summary]:
    """One number per name, as `compute_evidence` returned it; a single reading has no interval."""
    if not table.names:
        reason = "no evidence"
        return [Summary(name="evidence", value=None, failed=table.failed, timeouts=table.timeouts, reason=reason)]
    return [
        replace(summary, low=None, high=None, signature="evidence", details=None)
        for name in table.names
        for summary in mean(table, field=name, name=name, level=level)
    ]
