"""How often intervals cover the truth, over simulated data sets."""

from __future__ import annotations

import numpy as np

from assay.stats.intervals import Interval

DATA_SETS = 2000


FLOOR, CEILING = 0.93, 0.97


def covered(intervals: list[Interval], truth: float) -> float:
    found = [each for each in intervals if each.low is not None and each.high is not None]
    assert found
    return float(np.mean([each.low - 1e-12 <= truth <= each.high + 1e-12 for each in found]))
