"""How long attempts took, as leaderboards state it."""

from __future__ import annotations

from assay.reports.board.amounts import Amounts
from assay.reports.board.types import Latency


class Latencies(Amounts):
    """Seconds of many attempts."""

    def summary(self) -> Latency | None:
        """In milliseconds; None when nothing was timed."""
        mean = self.mean
        if mean is None:
            return None
        p50, p95 = self.percentiles((0.5, 0.95))
        return Latency(mean=_milliseconds(mean), p50=_milliseconds(p50), p95=_milliseconds(p95))


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
