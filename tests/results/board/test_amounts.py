"""Percentiles of latencies are those of the values themselves, to half a percent, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.board.amounts import AT_ONCE, Latencies

SECONDS = st.lists(st.floats(min_value=1e-6, max_value=1e5), min_size=1, max_size=60)


@given(SECONDS, SECONDS)
def test_percentiles_are_those_of_the_values(one: list[float], two: list[float]) -> None:
    parts = []
    for seconds in (one, two):
        part = Latencies()
        for value in seconds:
            part.add(value)
        parts.append(part)
    found = Latencies.together(parts).summary()
    assert found is not None
    expected = np.percentile([*one, *two], [50, 95]) * 1000
    assert (found.p50, found.p95) == (
        pytest.approx(expected[0], rel=0.006, abs=1e-3),
        pytest.approx(expected[1], rel=0.006, abs=1e-3),
    )
    assert found.mean == pytest.approx(np.mean([*one, *two]) * 1000, rel=1e-9, abs=1e-3)


def test_nothing_timed_has_no_latency() -> None:
    assert Latencies().summary() is None


def test_many_are_counted_as_few_are() -> None:
    found = Latencies()
    for place in range(2 * AT_ONCE + 1):
        found.add(place / 1000)
    summary = found.summary()
    assert summary is not None
    assert summary.p50 == pytest.approx(AT_ONCE, rel=0.006)
    assert Latencies.together([found, found]).summary() == summary
