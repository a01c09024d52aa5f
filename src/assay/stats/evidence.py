"""The aggregate of system tasks: every value the evidence holds, under its own name."""

from __future__ import annotations

from assay.core.types import Summary
from assay.stats.aggregates import mean
from assay.stats.score_table import ScoreTable


def evidence(table: ScoreTable, *, level: float = 0.95) -> list[Summary]:
    """One number per name, as `compute_evidence` returned it; a single reading has no interval."""
    found: list[Summary] = []
    for name in table.names:
        for summary in mean(table, field=name, name=name, level=level):
            found.append(
                Summary(
                    name=name,
                    value=summary.value,
                    scored=summary.scored,
                    unscored=summary.unscored,
                    failed=summary.failed,
                    timeouts=summary.timeouts,
                    signature="evidence",
                    reason=summary.reason,
                )
            )
    if found:
        return found
    return [Summary(name="evidence", value=None, failed=table.failed, timeouts=table.timeouts, reason="no evidence")]
