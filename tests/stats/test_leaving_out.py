"""What few samples decide is found by leaving single ones out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.stats.leaving_out import hangs_on, left_out


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (np.max, "hangs on 1 of"),
        (lambda values: float(np.sort(values)[-3:].mean()), "hangs on 3 of"),
        (np.median, None),
    ],
)
def test_a_number_that_few_samples_decide_is_found_by_leaving_them_out(
    number: Callable[[np.ndarray], float], reason: str | None
) -> None:
    values = np.exp(np.random.default_rng(9).normal(size=150))
    without = [float(number(np.delete(values, unit))) for unit in left_out(150)]
    said = hangs_on(without, float(number(values)))
    assert said is None if reason is None else reason in (said or "")


def test_many_units_are_sampled_and_each_once() -> None:
    assert left_out(5).tolist() == [0, 1, 2, 3, 4]
    assert len(set(left_out(10_000).tolist())) == 200
    assert len(left_out(10_000, 50)) == 50


def test_a_number_that_is_undefined_without_a_sample_hangs_on_it() -> None:
    assert hangs_on([1.0, None, 1.0], 1.0) == "without one of its samples, or groups, it is undefined"
