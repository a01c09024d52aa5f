"""Numbers made of sums, as described: the same as by hand, and none where they are undefined."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.describe import RatioOfSums
from assay.stats.sums import names_in, value_of_sums


def test_a_number_is_the_ratio_of_its_weighted_sums() -> None:
    f1 = RatioOfSums(of={"tp": 2.0}, over={"tp": 2.0, "fp": 1.0, "fn": 1.0})
    assert names_in(f1) == ("tp", "fp", "fn")
    assert value_of_sums(f1, np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 0.0]])).tolist() == pytest.approx([6 / 9, 0.0])


def test_nothing_over_nothing_is_undefined() -> None:
    ratio = RatioOfSums(of={"a": 1.0}, over={"b": 1.0})
    assert np.isnan(value_of_sums(ratio, np.array([[1.0, 0.0]]))[0])
