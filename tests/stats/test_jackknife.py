"""Scores made of sums: the difference of two is tested by leaving samples out, as a plain loop would."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from assay.metrics.corpus_overlap import bleu_counts
from assay.stats.corpus_overlap import bleu_of_sums
from assay.stats.jackknife import compare_sums
from assay.stats.paired import PairedComparison
from assay.stats.quantiles import normal_quantile, student_t_quantile
from assay.task_records import FormulaOfSums, RatioOfSums

F1 = RatioOfSums(of={"tp": 2.0}, over={"tp": 2.0, "fp": 1.0, "fn": 1.0})
NATS_PER_WORD = RatioOfSums(of={"nats": 1.0}, over={"words": 1.0})
Rows = list[list[float]]


def f1(rows: Sequence[Sequence[float]]) -> float:
    tp, fp, fn = (sum(row[column] for row in rows) for column in range(3))
    return 2.0 * tp / (2.0 * tp + fp + fn)


def counts(chance: random.Random, n: int, skill: float) -> Rows:
    """Of each sample whether it is found, missed or invented."""
    rows = []
    for _ in range(n):
        positive, found = chance.random() < 0.4, chance.random() < skill
        called = positive if found else not positive
        rows.append([float(positive and called), float(called and not positive), float(positive and not called)])
    return rows


def total(rows: Rows, groups: Sequence[int], unit: int) -> list[float]:
    inside = [row for row, group in zip(rows, groups, strict=True) if group == unit]
    return [sum(column) for column in zip(*inside, strict=True)]


def compared(a: Rows, b: Rows, groups: Sequence[int] | None = None, level: float = 0.95) -> PairedComparison:
    return compare_sums(np.array(a), np.array(b), F1, groups=groups, level=level)


@pytest.mark.parametrize("group_size", [1, 5])
def test_a_difference_of_f1_is_that_of_a_loop_that_leaves_one_out(group_size: int) -> None:
    chance = random.Random(3)
    a, b = counts(chance, 60, 0.7), counts(chance, 60, 0.85)
    groups = [n // group_size for n in range(60)]
    found = compared(a, b, groups if group_size > 1 else None)
    units = sorted(set(groups))
    without = []
    for left_out in units:
        kept = [n for n in range(60) if groups[n] != left_out]
        without.append(f1([b[n] for n in kept]) - f1([a[n] for n in kept]))
    mean = math.fsum(without) / len(units)
    error = math.sqrt((len(units) - 1) / len(units) * math.fsum((each - mean) ** 2 for each in without))
    differ = sum(total(a, groups, unit) != total(b, groups, unit) for unit in units)
    reach = student_t_quantile(0.975, differ - 1) * error
    assert found.difference == pytest.approx(f1(b) - f1(a), abs=1e-12)
    assert found.interval.low == pytest.approx(f1(b) - f1(a) - reach, abs=1e-12)
    assert found.interval.high == pytest.approx(f1(b) - f1(a) + reach, abs=1e-12)
    assert found.clusters == (None if group_size == 1 else 12)


def test_a_difference_of_corpus_bleu_is_that_of_a_loop_too() -> None:
    chance = random.Random(5)
    targets = [" ".join(chance.choices("abcdefgh", k=12)) for _ in range(20)]
    a, b = (
        np.array([bleu_counts(" ".join(w if chance.random() < skill else "z" for w in t.split()), t) for t in targets])
        for skill in (0.7, 0.9)
    )
    found = compare_sums(a, b, FormulaOfSums(formula="bleu"))
    whole = [float(bleu_of_sums(side.sum(axis=0)[None, :])[0]) for side in (a, b)]
    without = [
        float(bleu_of_sums(np.delete(b, n, 0).sum(axis=0)[None, :])[0])
        - float(bleu_of_sums(np.delete(a, n, 0).sum(axis=0)[None, :])[0])
        for n in range(20)
    ]
    error = math.sqrt(19 / 20 * sum((each - sum(without) / 20) ** 2 for each in without))
    differ = int((a != b).any(axis=1).sum())
    assert found.difference == pytest.approx(whole[1] - whole[0])
    assert found.interval.low == pytest.approx(whole[1] - whole[0] - student_t_quantile(0.975, differ - 1) * error)


def test_swapping_the_two_negates_the_difference_its_interval_and_its_sides() -> None:
    chance = random.Random(4)
    a, b = counts(chance, 80, 0.7), counts(chance, 80, 0.8)
    there, back = compared(a, b), compared(b, a)
    assert there.difference == pytest.approx(-(back.difference or 0.0))
    assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))  # type: ignore[operator]  # both have ends
    assert there.p_value == pytest.approx(back.p_value)
    assert there.p_drop == pytest.approx(1.0 - (back.p_drop or 0.0))


def test_where_lower_is_better_a_fall_is_positive() -> None:
    rows = np.column_stack([np.linspace(20.0, 40.0, 30), np.full(30, 10.0)])
    better = rows * [0.9, 1.0] + np.column_stack([np.sin(np.arange(30)), np.zeros(30)])
    found = compare_sums(rows, better, NATS_PER_WORD, lower_is_better=True)
    assert found.difference == pytest.approx(found.second - found.first)  # type: ignore[operator]  # both are known
    assert found.p_drop is not None
    assert found.p_drop > 0.99
    assert found.first == pytest.approx(-rows[:, 0].sum() / 300.0)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_p_value_is_the_one_that_the_interval_inverts(level: float) -> None:
    for seed in range(30):
        chance = random.Random(seed)
        found = compared(counts(chance, 40, 0.65), counts(chance, 40, 0.85), level=level)
        low, high = found.interval.low, found.interval.high
        assert low is not None
        assert high is not None
        assert found.p_value is not None
        assert (low <= 0.0 <= high) == (found.p_value >= 1.0 - level)


def test_few_changes_prove_nothing_however_many_samples_there_are() -> None:
    same = [[1.0, 0.0, 0.0]] * 900 + [[0.0, 1.0, 0.0]] * 100
    for lost in range(1, 6):
        worse = [[0.0, 0.0, 1.0]] * lost + same[lost:]
        found = compared(same, worse)
        assert found.p_value is not None
        assert found.p_value > 0.05, lost
    assert (compared(same, [[0.0, 0.0, 1.0]] * 9 + same[9:]).p_value or 1.0) < 0.05


def test_equal_runs_have_no_difference_and_no_interval() -> None:
    rows = counts(random.Random(1), 50, 0.8)
    found = compared(rows, rows)
    assert (found.n, found.difference, found.p_value, found.interval.low) == (50, 0.0, 1.0, None)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([[1.0, 0.0, 0.0]] * 3, [[0.0, 1.0, 1.0]] * 3, "needs at least 5"),
        ([[0.0, 0.0, 0.0]] * 40, [[1.0, 0.0, 0.0]] * 40, "undefined"),
        ([[1.0, 0.0, 0.0], *[[0.0, 0.0, 0.0]] * 40], [[0.0, 1.0, 0.0], *[[0.0, 0.0, 0.0]] * 40], "without a single"),
        ([[9.0, 1.0, 0.0], [8.0, 3.0, 0.0]] + [[0.0] * 3] * 40, [[1.0, 0.0, 0.0]] * 2 + [[0.0] * 3] * 40, "hangs on 2"),
    ],
)
def test_a_score_that_hangs_on_few_samples_is_not_compared(a: Rows, b: Rows, reason: str) -> None:
    found = compared(a, b)
    assert found.n == 0
    assert found.p_value is None
    assert reason in (found.reason or "")


def rates(n: int, size: int, sets: int, seed: int, gain: float) -> tuple[float, float]:
    """How often the interval holds the true difference of F1, and how often a difference is found."""
    chance = np.random.default_rng(seed)
    covered = found = 0
    truth = f1_of_population(0.75 + gain) - f1_of_population(0.75)
    groups = None if size == 1 else np.repeat(np.arange(n // size), size)
    for _ in range(sets):
        # the members of a group share how hard they are, and both runs do
        hard = np.repeat(chance.normal(size=n // size), size)
        noise = math.sqrt(0.5) * hard + math.sqrt(0.5) * chance.normal(size=n)
        positive = chance.random(n) < 0.4
        sides = [
            _rows(positive, 0.5 * noise + math.sqrt(0.75) * chance.normal(size=n) < quantile_of(skill))
            for skill in (0.75, 0.75 + gain)
        ]
        result = compare_sums(*sides, F1, groups=groups)
        low, high = result.interval.low, result.interval.high
        covered += low is None or high is None or low <= truth <= high
        found += result.p_value is not None and result.p_value < 0.05
    return covered / sets, found / sets


def _rows(positive: np.ndarray, right: np.ndarray) -> np.ndarray:
    called = positive == right
    return np.column_stack([positive & called, called & ~positive, positive & ~called]).astype(float)


def quantile_of(skill: float) -> float:
    return normal_quantile(skill)


def f1_of_population(skill: float) -> float:
    tp, fp, fn = 0.4 * skill, 0.6 * (1.0 - skill), 0.4 * (1.0 - skill)
    return 2.0 * tp / (2.0 * tp + fp + fn)


def test_an_excerpt_of_the_coverage_of_differences_of_f1() -> None:
    assert rates(100, 1, 300, 5, 0.0)[1] <= 0.09
    assert rates(100, 5, 300, 6, 0.1)[0] >= 0.91


@pytest.mark.prove
@pytest.mark.parametrize(("n", "size"), [(100, 1), (300, 1), (100, 5), (300, 10)])
def test_differences_of_f1_are_covered_and_seldom_false(n: int, size: int) -> None:
    assert rates(n, size, 4000, 77, 0.0)[1] <= 0.06
    assert rates(n, size, 4000, 78, 0.1)[0] >= 0.93
