"""Bisection finds the first number for which a condition holds."""

from __future__ import annotations

import pytest

from assay.stats.search import fewest, smallest


def test_the_smallest_number_is_found_and_none_where_there_is_none() -> None:
    assert smallest(lambda x: x >= 0.3, 1.0) == pytest.approx(0.3)
    assert smallest(lambda x: x > 2.0, 1.0) is None


@pytest.mark.parametrize("least", [1, 2, 7, 100])
@pytest.mark.parametrize("first", [1, 2, 3, 99, 100, 1000])
def test_the_fewest_are_found_from_any_beginning(first: int, least: int) -> None:
    assert fewest(lambda n: n >= first, least=least) == max(first, least)
