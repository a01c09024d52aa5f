"""The difference that McNemar's exact test is said to find is the one it finds."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.mcnemar_power import detectable_share_difference, detectable_within, mcnemar_power, pairs_to_find
from assay.stats.paired_evidence import mcnemar_exact


@pytest.mark.parametrize(("wins", "losses", "n"), [(0, 1, 50), (3, 5, 100), (20, 22, 300), (0, 0, 40)])
def test_the_stated_difference_is_found_with_the_stated_power(wins: int, losses: int, n: int) -> None:
    least = detectable_share_difference(wins, losses, n)
    assert least is not None
    against = min(wins, losses) / n
    random = np.random.default_rng(1)
    draws = random.multinomial(n, [against, against + least, 1 - 2 * against - least], size=4000)
    found = np.mean([mcnemar_exact(int(b), int(c)) <= 0.05 and c > b for b, c, _ in draws])
    assert found == pytest.approx(0.8, abs=0.02)


def test_four_pairs_can_never_be_significant() -> None:
    assert detectable_share_difference(0, 0, 4) is None
    assert detectable_share_difference(0, 0, 0) is None


def test_exact_and_normal_meet_where_one_takes_over_from_the_other() -> None:
    exact, normal = (detectable_share_difference(n // 20, n // 20, n) for n in (3400, 3480))
    assert exact is not None
    assert normal is not None
    assert exact / normal == pytest.approx((3480 / 3400) ** 0.5, rel=0.02)


def test_more_pairs_are_needed_for_smaller_differences_and_more_noise() -> None:
    assert pairs_to_find(0.02, 0.0) == 394
    assert pairs_to_find(0.01, 0.0) > 700
    assert pairs_to_find(0.02, 0.05) > 2000
    least = detectable_share_difference(0, 0, 394)
    assert least == pytest.approx(0.02, abs=1e-4)


@pytest.mark.parametrize(("difference", "against"), [(0.0, 0.1), (-0.1, 0.0), (0.9, 0.1)])
def test_an_impossible_difference_is_an_error(difference: float, against: float) -> None:
    with pytest.raises(ValueError, match="impossible"):
        pairs_to_find(difference, against)


@pytest.mark.parametrize(
    ("wins", "losses", "n", "on_top", "within"),
    [(10, 10, 100, 0.177, 0.128), (8, 4, 50, 0.262, 0.194), (50, 40, 1000, 0.030, 0.027)],
)
def test_what_is_detectable_depends_on_how_many_differ(wins, losses, n, on_top, within):
    """Found with a power of 0.8 where as many differ as were seen, the difference on top is found in up to 0.99."""
    assert detectable_share_difference(wins, losses, n) == pytest.approx(on_top, abs=0.001)
    found = detectable_within(wins + losses, n)
    assert found == pytest.approx(within, abs=0.001)
    assert mcnemar_power(found, ((wins + losses) / n - found) / 2.0, n) == pytest.approx(0.8, abs=0.01)


def test_too_few_that_differ_find_nothing_among_themselves():
    assert detectable_within(5, 100) is None
