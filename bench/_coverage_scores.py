"""Two runs by a score that averages nothing: F1, corpus BLEU, quantiles, and what only its author's code computes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from bench._coverage_cell import LEVEL, Floats, Outcome, Random, Row, Trial, holds
from scipy import stats

from assay.metrics.corpus_overlap import BLEU_COUNTS
from assay.stats.jackknife import compare_sums
from assay.stats.paired import PairedComparison
from assay.stats.replicates import Replicates, compare_quantiles, compare_replicates
from assay.task_records import FormulaOfSums, RatioOfSums

SECTION = "Two runs by a score that averages nothing"
F1 = RatioOfSums(of={"tp": 2.0}, over={"tp": 2.0, "fp": 1.0, "fn": 1.0})
BLEU = FormulaOfSums(formula="bleu")
SPREAD = "spread-like aggregates of skewed scores hang on values that few data sets have"
GAIN = 1.2
"""How much longer the second run takes, where it does."""
Number = Callable[[Floats], float]


def rows() -> list[Row]:
    sizes = ((100, 1), (300, 1), (100, 5), (300, 10))
    found = [
        Row(SECTION, "jackknife t", f"F1, {name}", asks, promised, {_size(n, g): f1(n, g, gain) for n, g in sizes})
        for name, asks, promised, gain in (
            ("no difference", "errs", 0.05, 0.0), ("a difference", "covers", LEVEL, 0.1))
    ]  # fmt: skip
    found += [
        Row(SECTION, "jackknife t", "corpus BLEU, no difference", "errs", 0.05,
            {_size(n, g): bleu(n, g) for n, g in ((30, 1), (100, 1), (300, 1), (100, 5))}, sets=2000)
    ]  # fmt: skip
    for q in (0.5, 0.9):
        name = f"{q:g} quantile, log-normal"
        found += [
            Row(SECTION, "replicates", f"{name}, {what}", asks, promised,
                {_size(n, g): quantiles(n, g, q, gain) for n, g in ((100, 1), (300, 1), (500, 5))}, sets=200)
            for what, asks, promised, gain in (
                ("no difference", "errs", 0.05, 1.0), ("a difference", "covers", LEVEL, GAIN))
        ]  # fmt: skip
    codes: list[tuple[str, Number, float, str]] = [
        ("geometric mean", lambda v: math.exp(float(np.log(v).mean())), 1.0, ""),
        ("mean without a tenth at each end", _trimmed, _trimmed_mean(), ""),
        ("deviation ÷ mean", lambda v: float(v.std() / v.mean()), 0.0, SPREAD),
    ]
    for name, code, unit, why in codes:
        # what is the same however long all samples take has no difference to cover
        cases = [("no difference", "errs", 0.05, 1.0)] + [("a difference", "covers", LEVEL, GAIN)] * (unit > 0.0)
        found += [
            Row(SECTION, "replicates of an author's code", f"{name}, log-normal, {what}", asks, promised,
                {f"{n}": replicates(n, code, unit * (gain - 1.0), gain) for n in (100, 300)}, sets=300, why=why)
            for what, asks, promised, gain in cases
        ]  # fmt: skip
    return found


def _size(n: int, group: int) -> str:
    return f"{n}" if group == 1 else f"{n // group} × {group}"


def _groups(n: int, group: int) -> Floats | None:
    return None if group == 1 else np.repeat(np.arange(n // group), group)


def _found(result: PairedComparison) -> Outcome:
    return Outcome(None if result.p_value is None else result.p_value <= 1.0 - LEVEL)


def f1(n: int, group: int, gain: float) -> Trial:
    """Members of a group share how hard they are, and both runs do."""
    skills = 0.75, 0.75 + gain
    truths = [2.0 * 0.4 * skill / (0.8 * skill + 0.6 * (1.0 - skill) + 0.4 * (1.0 - skill)) for skill in skills]

    def once(random: Random) -> Outcome:
        shared = np.repeat(random.normal(size=n // group), group)
        noise = math.sqrt(0.5) * shared + math.sqrt(0.5) * random.normal(size=n)
        positive = random.random(n) < 0.4
        sides = []
        for skill in skills:
            right = math.sqrt(0.5) * (noise + random.normal(size=n)) < stats.norm.ppf(skill)
            called = positive == right
            sides.append(np.column_stack([positive & called, called & ~positive, positive & ~called]).astype(float))
        result = compare_sums(sides[0], sides[1], F1, groups=_groups(n, group), level=LEVEL)
        return holds(result.interval, truths[1] - truths[0]) if gain else _found(result)

    return once


def bleu(n: int, group: int) -> Trial:
    """Texts of 5 to 30 words; an n-gram matches where its words were all kept, so matches thin out as in real ones."""

    def once(random: Random) -> Outcome:
        words = random.integers(5, 31, n)
        kept = np.clip(0.75 - 0.4 * np.repeat(random.random(n // group), group), 0.05, 1.0)
        sides = []
        for _ in range(2):
            ngrams = np.column_stack([np.maximum(words - order, 0) for order in range(4)])
            matched = [random.binomial(ngrams[:, 0], kept)]
            for order in range(1, 4):
                matched.append(np.minimum(random.binomial(matched[-1], kept), ngrams[:, order]))
            sides.append(np.column_stack([*matched, ngrams, words, words]).astype(float))
        assert sides[0].shape[1] == len(BLEU_COUNTS)
        return _found(compare_sums(sides[0], sides[1], BLEU, groups=_groups(n, group), level=LEVEL))

    return once


def _times(random: Random, n: int, group: int = 1) -> tuple[Floats, Floats]:
    """Of two runs, which share how long a sample takes; the median of each is 1."""
    hard = np.repeat(random.normal(0.0, 0.7, n // group), group)
    first, second = (np.exp(hard + random.normal(0.0, 0.7, n)) for _ in range(2))
    return first, second


def quantiles(n: int, group: int, q: float, gain: float) -> Trial:
    truth = (gain - 1.0) * math.exp(math.sqrt(2.0) * 0.7 * float(stats.norm.ppf(q)))

    def once(random: Random) -> Outcome:
        first, second = _times(random, n, group)
        result = compare_quantiles(first, gain * second, q, groups=_groups(n, group), level=LEVEL)
        return _found(result) if gain == 1.0 else holds(result.interval, truth)

    return once


def _trimmed(values: Floats) -> float:
    cut = len(values) // 10
    return float(np.sort(values)[cut:-cut].mean())


def _trimmed_mean() -> float:
    """That of the population: between its tenths, the mean of a log-normal value is known."""
    deviation = math.sqrt(2.0) * 0.7
    low, high = (float(stats.norm.ppf(q)) - deviation for q in (0.1, 0.9))
    return math.exp(deviation**2 / 2.0) * float(stats.norm.cdf(high) - stats.norm.cdf(low)) / 0.8


def replicates(n: int, code: Number, truth: float, gain: float) -> Trial:
    """As a run makes them when it ends, and a report compares them."""

    def kept(values: Floats) -> Replicates:
        random = np.random.default_rng(0)
        draws = [code(values[random.integers(0, n, n)]) for _ in range(200)]
        return Replicates(value=code(values), draws=draws, units=n, over="the same")

    def once(random: Random) -> Outcome:
        first, second = _times(random, n)
        result = compare_replicates(kept(first), kept(gain * second), n=n, level=LEVEL)
        return _found(result) if gain == 1.0 else holds(result.interval, truth)

    return once
