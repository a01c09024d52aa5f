"""Intervals of one number: shares, scores, values without a scale, quantiles and other aggregates."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from bench._coverage_cell import LEVEL, Codes, Floats, Outcome, Random, Row, Trial, holds
from scipy import stats

from assay.core.describe import Range
from assay.runs.python_metrics import with_draws
from assay.stats.agreement import agreement
from assay.stats.bootstrap import bootstrap_sums
from assay.stats.calibration import calibration_test
from assay.stats.cells import UNIT, interval_of_mean
from assay.stats.extremes import largest_interval
from assay.stats.intervals import Interval, clustered_mean_interval, mean_interval, ratio_interval
from assay.stats.python_metric import python_metric
from assay.stats.repetitions import Attempts, majority, pass_at, pass_hat
from assay.stats.sample_quantiles import quantile_interval
from assay.stats.score_table import ScoreTable
from assay.stats.spread import spread_interval

Draw = Callable[[Random, int], Floats]
Grouped = Callable[[Random], tuple[Floats, Codes]]
SMALL, USUAL = (10, 30, 100), (10, 30, 100, 300)
FEW_ANSWERS = "data sets of few right/wrong answers differ by the number of wrong ones and by nothing else"
UNSEEN = "it reckons with a score at the other end, as it must: such data look the same with and without it"
FEW_DRAWS = "200 resamples, as an author's code may be slow"
NO_END = "values beyond those seen have no limit, and nothing in the data shows them"


def rows() -> list[Row]:
    return [*shares(), *graded(), *clusters(), *unbounded(), *ranks(), *repeats(), *others(), *own()]


def mean_of(draw: Draw, truth: float, sizes: Sequence[int], scale: Range | None = UNIT) -> dict[str, Trial]:
    def trial(n: int) -> Trial:
        def once(random: Random) -> Outcome:
            values = draw(random, n)
            return holds(interval_of_mean(values, None, LEVEL, scale), truth, mean_interval(values, LEVEL))

        return once

    return {f"{n:,}": trial(n) for n in sizes}


def mean_in_groups(draw: Grouped, truth: float, scale: Range | None = UNIT) -> Trial:
    def once(random: Random) -> Outcome:
        values, codes = draw(random)
        student = clustered_mean_interval(values, codes, LEVEL)
        return holds(interval_of_mean(values, codes, LEVEL, scale), truth, student)

    return once


def right(share: float) -> Draw:
    return lambda random, n: (random.random(n) < share).astype(np.float64)


def shares() -> list[Row]:
    section, wilson, clustered = "Shares of right answers", "Wilson", "Wilson at the effective number"
    plain = [
        Row(
            section, wilson, f"{share:.0%} right", "covers", LEVEL, mean_of(right(share), share, USUAL), why=FEW_ANSWERS
        )
        for share in (0.5, 0.8, 0.95, 0.99)
    ]
    tries = {
        "chances from Beta(2, 1)": (lambda r, n: r.beta(2.0, 1.0, n), 2.0 / 3.0, ((10, 5), (30, 5), (100, 5)), 0.0),
        "chances of 5 or 95 %": (lambda r, n: r.choice([0.05, 0.95], n), 0.5, ((30, 5), (100, 5)), 0.0),
        "chances near 0.98": (lambda r, n: np.full(n, 0.98), 0.98, ((20, 10), (100, 3)), 0.0),
        "Beta(2, 1), 30 % of the attempts failed": (
            lambda r, n: r.beta(2.0, 1.0, n), 2.0 / 3.0, ((30, 5), (100, 3)), 0.3),
    }  # fmt: skip
    repeated = [
        Row(section, clustered, f"repeated attempts, {name}", "covers", LEVEL,
            {f"{n} × {k}": mean_in_groups(attempts(chances, n, k, lost), truth) for n, k in sizes})
        for name, (chances, truth, sizes, lost) in tries.items()
    ]  # fmt: skip
    unequal = [
        Row(section, clustered, f"30 clusters, {name}, {share:.0%} right", "covers", LEVEL,
            {f"{sizes(30).sum():,}": mean_in_groups(uneven(sizes(30), share), share)}, why=why)
        for name, sizes, why in (("one of them holds half", one_holds_half, "the largest cluster is one draw"),
                                 ("heavy-tailed sizes", heavy_tailed, ""))
        for share in (0.5, 0.95)
    ]  # fmt: skip
    return plain + repeated + unequal


def attempts(chances: Draw, n: int, tries: int, lost: float) -> Grouped:
    def drawn(random: Random) -> tuple[Floats, Codes]:
        codes = np.repeat(np.arange(n), tries)
        values = (random.random(n * tries) < chances(random, n)[codes]).astype(np.float64)
        kept = random.random(n * tries) >= lost
        return values[kept], codes[kept]

    return drawn


def one_holds_half(groups: int) -> Codes:
    return np.append(np.full(groups - 1, 4), 4 * (groups - 1))


def heavy_tailed(groups: int) -> Codes:
    return np.ceil(2.0 * (1.0 - (np.arange(groups) + 0.5) / groups) ** (-1 / 1.1)).astype(np.intp)


def uneven(sizes: Codes, share: float) -> Grouped:
    codes = np.repeat(np.arange(len(sizes)), sizes)

    def drawn(random: Random) -> tuple[Floats, Codes]:
        chances = random.beta(share * 4.0, (1 - share) * 4.0, len(sizes))[codes]
        return (random.random(len(codes)) < chances).astype(np.float64), codes

    return drawn


def beta(a: float, b: float) -> Draw:
    return lambda random, n: random.beta(a, b, n)


def ratings(random: Random, n: int) -> Floats:
    """From 1 to 5, nine in ten of them 5."""
    return np.where(random.random(n) < 0.9, 5.0, random.integers(1, 5, n))


def partial_credit(random: Random, n: int) -> Floats:
    """Like F1 of answers: six in ten perfect, two nothing, the others in between."""
    kind = random.random(n)
    return np.where(kind < 0.6, 1.0, np.where(kind < 0.8, 0.0, random.random(n)))


def with_zeros(zeros: float) -> Draw:
    """About 0.99, and so many zeros expected: a metric that works, and now and then an answer that is nothing."""

    def drawn(random: Random, n: int) -> Floats:
        return np.where(random.random(n) < zeros / n, 0.0, np.clip(random.normal(0.99, 0.003, n), 0.0, 1.0))

    return drawn


def graded() -> list[Row]:
    section, method = "Means of scores on a scale", "guarded t"
    ordinary: list[tuple[str, Draw, float, Sequence[int], str]] = [
        ("Beta(8, 4): mean 2/3, deviation 0.13", beta(8, 4), 2.0 / 3.0, USUAL, ""),
        ("Beta(2, 2): mean 1/2, deviation 0.22", beta(2, 2), 0.5, USUAL, ""),
        ("Beta(9, 1): near the upper end", beta(9, 1), 0.9, USUAL, ""),
        ("uniform", beta(1, 1), 0.5, SMALL, ""),
        ("six in ten perfect, two nothing, the rest between", partial_credit, 0.7, USUAL, ""),
    ]
    found = [Row(section, method, name, "covers", LEVEL, mean_of(draw, truth, sizes), why=why)
             for name, draw, truth, sizes, why in ordinary]  # fmt: skip
    fives = mean_of(ratings, 0.9 * 5.0 + 0.1 * 2.5, USUAL, (1.0, 5.0))
    found.append(Row(section, method, "ratings from 1 to 5, nine in ten are 5", "covers", LEVEL, fives, why=UNSEEN))
    for zeros in (0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0):
        trials = {
            f"{n:,}": trial
            for n in (10, 30, 100, 300, 1000)
            if zeros <= n / 2
            for trial in mean_of(with_zeros(zeros), 0.99 * (1.0 - zeros / n), [n]).values()
        }
        name = f"about 0.99, and {zeros:g} expected to be 0"
        found.append(Row(section, method, name, "covers", LEVEL, trials, why=UNSEEN))
    return found


def in_fives(groups: int, alike: float) -> Grouped:
    """Beta(8, 4) in clusters of five, correlated within."""
    codes = np.repeat(np.arange(groups), 5)

    def drawn(random: Random) -> tuple[Floats, Codes]:
        shared = math.sqrt(alike) * random.normal(size=groups)[codes]
        normal = shared + math.sqrt(1.0 - alike) * random.normal(size=len(codes))
        return stats.beta.ppf(stats.norm.cdf(normal), 8, 4), codes

    return drawn


def lost_whole(groups: int, expected: float, *, alike: bool) -> Grouped:
    """Clusters of five of which so many are expected to be 0 throughout."""
    codes = np.repeat(np.arange(groups), 5)

    def drawn(random: Random) -> tuple[Floats, Codes]:
        lost = random.random(groups) < expected / groups
        others = random.beta(8, 4, groups)[codes] if alike else random.beta(8, 4, len(codes))
        return np.where(lost[codes], 0.0, others), codes

    return drawn


def clusters() -> list[Row]:
    section, method = "Means of scores in groups", "guarded t, groups"
    found = [
        Row(section, method, f"Beta(8, 4) in groups of 5, correlation {alike:g}", "covers", LEVEL,
            {f"{n} × 5": mean_in_groups(in_fives(n, alike), 2.0 / 3.0) for n in (20, 60)}, sets=2000)
        for alike in (0.0, 0.3, 0.8)
    ]  # fmt: skip
    why = "nothing in the data shows that a whole group can be lost when none was, or only one"
    for alike, expected in ((True, 2.5), (False, 2.5), (False, 1.5)):
        members = "alike" if alike else "different"
        trials = {
            f"{n} × 5": mean_in_groups(lost_whole(n, expected, alike=alike), 2.0 / 3.0 * (1.0 - expected / n))
            for n in (20, 60, 200)
        }
        name = f"{expected:g} groups expected to be 0 throughout, members otherwise {members}"
        found.append(Row(section, method, name, "covers", LEVEL, trials, sets=2000, why=why))
    for name, sizes in (("one of them holds half", one_holds_half), ("heavy-tailed sizes", heavy_tailed)):
        for alike_share in (0.1, 0.5):
            trials = {f"{n} groups": mean_in_groups(normal_in(sizes(n), alike_share), 0.0, None) for n in (30, 100)}
            data = f"normal values without a scale, {name}, correlation {alike_share:g}"
            why = "a few groups hold most of the values"
            found.append(Row(section, "skew-corrected t, groups", data, "covers", LEVEL, trials, sets=2000, why=why))
    return found


def normal_in(sizes: Codes, alike: float) -> Grouped:
    codes = np.repeat(np.arange(len(sizes)), sizes)

    def drawn(random: Random) -> tuple[Floats, Codes]:
        shared = random.normal(0.0, math.sqrt(alike), len(sizes))[codes]
        return shared + random.normal(0.0, math.sqrt(1 - alike), len(codes)), codes

    return drawn


def lognormal(sigma: float) -> Draw:
    return lambda random, n: np.exp(sigma * random.normal(size=n))


def slow_calls(random: Random, n: int) -> Floats:
    """One call in fifty takes ten times as long."""
    return random.normal(1.0, 0.1, n) * np.where(random.random(n) < 0.02, 10.0, 1.0)


def lognormal_in_fives(groups: int, alike: float) -> Grouped:
    codes = np.repeat(np.arange(groups), 5)

    def drawn(random: Random) -> tuple[Floats, Codes]:
        shared = math.sqrt(alike) * random.normal(size=groups)[codes]
        return np.exp(shared + math.sqrt(1.0 - alike) * random.normal(size=len(codes))), codes

    return drawn


def unbounded() -> list[Row]:
    section, method = "Means of values without a scale", "skew-corrected t"
    shapes: list[tuple[str, Draw, float, str]] = [
        ("normal", lambda random, n: random.normal(size=n), 0.0, ""),
        ("exponential", lambda random, n: random.exponential(size=n), 1.0, NO_END),
        ("gamma, shape 1/2", lambda random, n: random.gamma(0.5, size=n), 0.5, NO_END),
        ("log-normal, σ = 1/2", lognormal(0.5), math.exp(0.125), ""),
        ("log-normal, σ = 1", lognormal(1.0), math.exp(0.5), NO_END),
        ("log-normal, σ = 3/2", lognormal(1.5), math.exp(1.125), NO_END),
        ("one in fifty ten times as long", slow_calls, 1.18, NO_END + ": read the median too"),
    ]
    found = [
        Row(section, method, name, "covers", LEVEL, mean_of(draw, truth, USUAL, None), why=why)
        for name, draw, truth, why in shapes
    ]
    found += [
        Row(section, method, f"log-normal, σ = 1, in groups of 5, correlation {alike:g}", "covers", LEVEL,
            {f"{n} × 5": mean_in_groups(lognormal_in_fives(n, alike), math.exp(0.5), None) for n in (10, 20, 30)},
            why=NO_END)
        for alike in (0.2, 0.8)
    ]  # fmt: skip
    return found


def ranks() -> list[Row]:
    section, method = "Medians, quantiles, largest values", "order statistics"

    def of_quantile(draw: Draw, q: float, truth: float, n: int) -> Trial:
        return lambda random: holds(quantile_interval(draw(random, n), q, None, LEVEL), truth)

    def in_groups(groups: int, alike: float) -> Trial:
        def once(random: Random) -> Outcome:
            values, codes = lognormal_in_fives(groups, alike)(random)
            return holds(quantile_interval(values, 0.5, codes, LEVEL), 1.0)

        return once

    def of_largest(draw: Draw, n: int) -> Trial:
        def once(random: Random) -> Outcome:
            low = largest_interval(draw(random, n), None, LEVEL).low
            return Outcome(None if low is None else bool(draw(random, n).max() >= low))

        return once

    found = [
        Row(section, method, f"{q:g} quantile, log-normal", "covers", LEVEL,
            {f"{n:,}": of_quantile(lognormal(1.0), q, math.exp(stats.norm.ppf(q)), n) for n in sizes})
        for q, sizes in ((0.5, (10, 30, 100)), (0.9, (40, 100, 300)), (0.99, (400, 1000)))
    ]  # fmt: skip
    found += [
        Row(section, "Woodruff", f"median, log-normal in groups of 5, correlation {alike:g}", "covers", LEVEL,
            {f"{n} × 5": in_groups(n, alike) for n in (20, 60)}, sets=1000)
        for alike in (0.0, 0.5)
    ]  # fmt: skip
    found.append(
        Row(section, method, "largest value of another run as large, exponential", "covers", LEVEL,
            {f"{n:,}": of_largest(lambda random, n: random.exponential(size=n), n) for n in (20, 100)})
    )  # fmt: skip
    return found


def repeats() -> list[Row]:
    section, tries = "Repeated attempts: pass@k, pass^k, majority", 6

    def of_chance(estimate: Callable[..., Any], k: int, truth: float, n: int, a: float, b: float) -> Trial:
        samples = np.repeat(np.arange(n), tries)

        def once(random: Random) -> Outcome:
            values = random.random((n, tries)) < random.beta(a, b, n)[:, None]
            read = Attempts.from_rows(samples, values.astype(np.float64).ravel())
            return holds(estimate(read, k, level=LEVEL).interval, truth)

        return once

    # chances from Beta(1, 2): 1 − E(1−p)³ and E p³; from Beta(1, 4): E p⁵ = 5!·4!/9!; a majority of three 3p² − 2p³
    named: list[tuple[str, Callable[..., Any], int, float, float, float, str]] = [
        ("pass@3, chances from Beta(1, 2)", pass_at, 3, 0.6, 1.0, 2.0, ""),
        ("pass^3, chances from Beta(1, 2)", pass_hat, 3, 0.1, 1.0, 2.0, UNSEEN),
        ("pass^5, chances from Beta(1, 4): mostly 0", pass_hat, 5, 120 * 24 / math.factorial(9), 1.0, 4.0, UNSEEN),
        ("majority of 3, chances from Beta(1, 2)", majority, 3, 3.0 / 6.0 - 2.0 / 10.0, 1.0, 2.0, ""),
    ]
    return [
        Row(section, "guarded t over samples", name, "covers", LEVEL,
            {f"{n} × {tries}": of_chance(estimate, k, truth, n, a, b) for n in (10, 30, 100)}, sets=2000, why=why)
        for name, estimate, k, truth, a, b, why in named
    ]  # fmt: skip


def f1_of(n: int, prevalence: float, sensitivity: float, specificity: float) -> Trial:
    """F1 = 2J / (1 + J) rises with the share J, so its interval holds F1 just when that of J holds J."""
    jaccard = prevalence * sensitivity / (prevalence + (1 - prevalence) * (1 - specificity))

    def once(random: Random) -> Outcome:
        truth = random.random(n) < prevalence
        said = random.random(n) < np.where(truth, sensitivity, 1.0 - specificity)
        counted = (truth | said).astype(np.float64)
        if not counted.any():
            return Outcome(None)
        return holds(ratio_interval((truth & said).astype(np.float64), counted, None, LEVEL), jaccard)

    return once


def others() -> list[Row]:
    section = "Other aggregates"
    f1 = [
        Row(section, "Wilson of summed counts", f"F1, {prevalence:.0%} positive, sensitivity {sensitivity:g}, "
            f"specificity {specificity:g}", "covers", LEVEL,
            {f"{n:,}": f1_of(n, prevalence, sensitivity, specificity) for n in sizes}, why=FEW_ANSWERS)
        for prevalence, sensitivity, specificity, sizes in (
            (0.3, 0.8, 0.95, (10, 30, 100)), (0.1, 0.99, 0.99, (100, 300)), (0.05, 0.9, 0.99, (100, 300)))
    ]  # fmt: skip

    def deviation(draw: Draw, truth: float, n: int) -> Trial:
        return lambda random: holds(spread_interval(draw(random, n), None, LEVEL), truth)

    spreads: list[tuple[str, Draw, float, str]] = [
        ("normal", lambda random, n: random.normal(size=n), 1.0, "Bonett's correction and t together are too wide"),
        ("uniform", lambda random, n: random.random(n), math.sqrt(1 / 12), ""),
        ("exponential", lambda random, n: random.exponential(size=n), 1.0, NO_END),
    ]
    found = f1 + [
        Row(section, "Bonett", f"standard deviation, {name}", "covers", LEVEL,
            {f"{n:,}": deviation(draw, truth, n) for n in SMALL}, why=why)
        for name, draw, truth, why in spreads
    ]  # fmt: skip

    def kappa(marginals: Sequence[float], n: int) -> Trial:
        """The second rater agrees in 7 of 10, and else draws a label: kappa is 0.7."""

        def once(random: Random) -> Outcome:
            first, other = random.choice(3, n, p=marginals), random.choice(3, n, p=marginals)
            second = np.where(random.random(n) < 0.7, first, other)
            return holds(agreement(first.tolist(), second.tolist(), level=LEVEL, resamples=500).kappa_interval, 0.7)

        return once

    found += [
        Row(section, "expanded percentiles", f"kappa, {name}", "covers", LEVEL,
            {f"{n}": kappa(marginals, n) for n in sizes}, sets=1000, why="few labels but one")
        for name, marginals, sizes in (("three labels alike", (1 / 3, 1 / 3, 1 / 3), (20, 50, 100)),
                                       ("one label in nine of ten", (0.9, 0.05, 0.05), (50, 100, 300)))
    ]  # fmt: skip

    def rate(n: int, groups: int | None = None) -> Trial:
        """Nats per byte: a ratio of two sums."""

        def once(random: Random) -> Outcome:
            sizes = 40.0 + random.integers(0, 60, n)
            codes = None if groups is None else np.repeat(np.arange(groups), n // groups)
            hard = random.gamma(4.0, 0.25, n) if codes is None else random.gamma(4.0, 0.25, groups)[codes]
            sums = np.column_stack([sizes * hard, sizes])
            interval = bootstrap_sums(sums, lambda s: s[:, 0] / s[:, 1], groups=codes, level=LEVEL, resamples=500)
            return holds(interval, 1.0)

        return once

    trials = {"30": rate(30), "100": rate(100), "20 × 5": rate(100, 20), "30 × 10": rate(300, 30)}
    found.append(Row(section, "expanded percentiles", "ratio of sums", "covers", LEVEL, trials, sets=1000))

    def calibration(n: int, over: float) -> Trial:
        def once(random: Random) -> Outcome:
            stated = random.uniform(0.5, 1.0, n)
            given = (random.random(n) < stated - over).astype(np.float64)
            return holds(calibration_test(stated, given, draws=300, level=LEVEL).interval, over)

        return once

    found += [
        Row(section, "calibration test", f"calibration error of {name}", "covers", LEVEL,
            {f"{n:,}": calibration(n, over) for n in (100, 3000)}, sets=1000,
            why="" if not over else "what chance adds depends on gaps that 100 answers do not show")
        for name, over in (("a calibrated model", 0.0), ("a model that is over-confident by 0.1", 0.1))
    ]  # fmt: skip
    return found


def own() -> list[Row]:
    """Numbers of the author's code: resampled whole, whatever they are."""
    named: list[tuple[str, Callable[[Floats], float], Draw, float, str]] = [
        ("geometric mean, log-normal", lambda v: math.exp(float(np.log(v).mean())), lognormal(1.0), 1.0, FEW_DRAWS),
        ("median, log-normal", lambda v: float(np.median(v)), lognormal(1.0), 1.0, FEW_DRAWS),
        ("deviation ÷ mean, gamma", lambda v: float(v.std() / v.mean()), lambda r, n: r.gamma(2.0, size=n),
         math.sqrt(0.5), "spread-like aggregates of skewed scores hang on values that few data sets have"),
    ]  # fmt: skip
    return [
        Row("Other aggregates", "percentiles of an author's code", name, "covers", LEVEL,
            {f"{n}": _of_code(code, draw, truth, n) for n in (30, 100)}, sets=1000, why=why)
        for name, code, draw, truth, why in named
    ]  # fmt: skip


def _of_code(code: Callable[[Floats], float], draw: Draw, truth: float, n: int) -> Trial:
    def once(random: Random) -> Outcome:
        values = draw(random, n)

        async def values_over(chosen: Sequence[int] | None) -> dict[str, Any]:
            return {"values": {"v": code(values if chosen is None else values[list(chosen)])}}

        output: Mapping[str, Any] = asyncio.run(with_draws(values_over, range(n)))
        [summary] = python_metric(ScoreTable(), output=output, level=LEVEL)
        return holds(Interval(low=summary.low, high=summary.high, level=LEVEL, method="draws"), truth)

    return once
