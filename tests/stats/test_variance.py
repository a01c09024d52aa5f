"""Where the spread of scores comes from: components that are known are found again, and little data gives no answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.stats.variance import Readings, best_repeat, variance_split, variant_spread

Numbers = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Numbers]


def attempts(values: Numbers) -> Readings:
    """Samples by attempts; NaN where one failed."""
    rows, columns = np.nonzero(~np.isnan(values))
    return Readings(samples=rows, draws=columns, values=values[rows, columns])


def of_chances(chances: Draw, repeat: int) -> tuple[Draw, float]:
    """Right and wrong answers with these chances, and the true share of the draws in their variance."""

    def drawn(random: np.random.Generator, n: int) -> Numbers:
        return random.binomial(1, chances(random, n)[:, None], (n, repeat)).astype(float)

    many = chances(np.random.default_rng(0), 400_000)
    draw, sample = float((many * (1.0 - many)).mean()), float(many.var())
    return drawn, draw / (draw + sample)


def normal_scores(repeat: int) -> tuple[Draw, float]:
    def drawn(random: np.random.Generator, n: int) -> Numbers:
        return random.normal(0.5, 0.2, (n, 1)) + random.normal(0.0, 0.1, (n, repeat))

    return drawn, 0.01 / 0.05


CELLS = {
    "chances Beta(2, 1)": of_chances(lambda random, n: random.beta(2.0, 1.0, n), 2),
    "sure or unsure": of_chances(lambda random, n: random.choice([0.05, 0.95], n), 2),
    "normal": normal_scores(2),
    "eight attempts": of_chances(lambda random, n: random.beta(2.0, 1.0, n), 8),
}


@pytest.mark.parametrize("name", CELLS)
def test_the_interval_of_the_share_of_draws_covers_the_truth(name: str) -> None:
    drawn, share = CELLS[name]
    random = np.random.default_rng(6)
    splits = [variance_split(attempts(drawn(random, 100))) for _ in range(400)]
    known = [split for split in splits if split.reason is None]
    assert len(known) > 380
    covered = np.mean([split.draw_share_low <= share <= split.draw_share_high for split in known])  # type: ignore[operator]
    assert covered >= 0.92


def test_components_are_unbiased_where_attempts_are_missing() -> None:
    random, found = np.random.default_rng(7), []
    for _ in range(300):
        values = random.normal(0.0, 0.3, (80, 1)) + random.normal(0.0, 0.2, (80, 4))
        values[random.random((80, 4)) < 0.3] = np.nan
        split = variance_split(attempts(values))
        found.append((split.sample, split.draw))
    assert np.mean(found, axis=0) == pytest.approx([0.09, 0.04], rel=0.03)


def judged(random: np.random.Generator, n: int, draws: int, readings: int) -> Readings:
    values = (
        random.normal(0.0, 0.3, (n, 1, 1))
        + random.normal(0.0, 0.2, (n, draws, 1))
        + random.normal(0.0, 0.1, (n, draws, readings))
    )
    sample, draw, _ = np.indices(values.shape)
    return Readings(samples=sample.ravel(), draws=draw.ravel(), values=values.ravel())


def test_the_judge_is_told_from_the_draw_where_verdicts_were_read_twice() -> None:
    random = np.random.default_rng(8)
    splits = [variance_split(judged(random, 100, 2, 2)) for _ in range(200)]
    found = np.mean([(split.sample, split.draw, split.judge) for split in splits], axis=0)
    assert found == pytest.approx([0.09, 0.04, 0.01], rel=0.05)


def test_read_once_the_judge_is_part_of_the_draw() -> None:
    random = np.random.default_rng(9)
    splits = [variance_split(judged(random, 100, 2, 1)) for _ in range(200)]
    assert {split.judge for split in splits} == {None}
    assert np.mean([split.draw for split in splits]) == pytest.approx(0.05, rel=0.05)


def test_the_parts_of_the_mean_add_up_to_its_squared_error() -> None:
    """Of the plain mean over samples: the spread of their means, whatever caused it."""
    values = judged(np.random.default_rng(10), 120, 3, 2)
    split = variance_split(values)
    means = np.array([values.values[values.samples == each].mean() for each in range(120)])
    assert sum(split.of_mean().values()) == pytest.approx(means.var(ddof=1) / 120)
    assert list(split.of_mean()) == ["sample", "draw", "judge"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.random.default_rng(1).random((49, 2)), "49 samples with two scored attempts; at least 50 are needed"),
        (np.random.default_rng(1).random((300, 1)), "no sample has two scored attempts"),
        (np.ones((60, 2)), "all scores are equal"),
    ],
)
def test_too_little_data_gives_no_split_and_says_why(values: Numbers, reason: str) -> None:
    split = variance_split(attempts(values))
    assert split.reason == reason
    assert split.of_mean() == {}


def test_a_share_that_could_be_anything_is_none() -> None:
    """One sample that differs between attempts, and one that lies apart: neither part is known."""
    values = np.ones((60, 2))
    values[0] = [0.0, 1.0]
    values[1] = [0.0, 0.0]
    split = variance_split(attempts(values))
    assert split.reason is not None
    assert split.reason.startswith("the share of the attempts could be anything from")


def test_the_best_number_of_attempts_weighs_their_effort_against_that_of_a_sample() -> None:
    assert best_repeat(0.09, 0.05, per_sample=0.0) == 1
    chosen = best_repeat(0.09, 0.05, per_sample=30.0)

    def error(repeat: int) -> float:
        samples = 10_000.0 / (30.0 + repeat)
        return (0.09 + 0.05 / repeat) / samples

    assert error(chosen) <= 1.001 * min(error(repeat) for repeat in range(1, 30))


@pytest.mark.parametrize("variants", [3, 10])
def test_the_interval_of_the_wordings_covers_their_true_spread(variants: int) -> None:
    random, inside, found = np.random.default_rng(12), [], []
    for _ in range(400):
        means = (
            random.normal(0.0, 0.3, 60)
            + random.normal(0.0, 0.05, (variants, 1))
            + random.normal(0.0, 0.2, (variants, 60))
        )
        spread = variant_spread(means)
        inside.append(spread.low <= 0.05**2 <= spread.high)
        found.append(spread.variance)
    assert np.mean(inside) >= 0.93
    if variants < 5:
        assert set(found) == {None}
    else:
        assert np.mean([each for each in found if each is not None]) == pytest.approx(0.05**2, rel=0.15)
