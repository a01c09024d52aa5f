"""Numbers that are made of sums over the attempts, as their aggregates describe them."""

from __future__ import annotations

import numpy as np

from assay.core.describe import RatioOfSums
from assay.stats.bootstrap import divide
from assay.stats.intervals import Floats


def names_in(ratio: RatioOfSums) -> tuple[str, ...]:
    """The values that are summed."""
    return tuple(dict.fromkeys([*ratio.of, *ratio.over]))


def value_of_sums(ratio: RatioOfSums, sums: Floats) -> Floats:
    """The number for each row of sums, whose columns are `names_in(ratio)`; NaN where it is undefined."""
    names = names_in(ratio)
    of, over = (np.array([part.get(name, 0.0) for name in names]) for part in (ratio.of, ratio.over))
    with np.errstate(over="ignore", invalid="ignore"):
        return divide(sums @ of, sums @ over)
