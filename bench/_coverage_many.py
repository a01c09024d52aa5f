"""Many numbers at once: means over tasks, ranks, weak slices; and plans of what a comparison will find."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from bench._coverage_cell import LEVEL, ONE_SIDE, Floats, Outcome, Random, Row, Trial, holds

from assay.stats.expected import EarlierScores, of_two_runs
from assay.stats.families import CORRECTED_BY, Correction, correct, holm
from assay.stats.guarded import detectable_mean, p_values, spread_of
from assay.stats.intervals import Interval, wilson
from assay.stats.mcnemar_power import detectable_share_difference
from assay.stats.pair_tests import PairTests
from assay.stats.paired_evidence import AnswerPairs
from assay.stats.power import Expected, power_of, smallest_difference
from assay.stats.ranking import ranges_of, rank_ranges_of_scores
from assay.stats.subgroups import against_rest
from assay.stats.task_means import TaskMean, mean_of_tasks_interval
from assay.stats.variance import Readings, variance_split, variant_spread

BOTH = 2.0 * ONE_SIDE


def rows() -> list[Row]:
    return [*overall(), *together(), *ranks(), *plans(), *parts()]


def overall() -> list[Row]:
    section, method = "The mean of several tasks", "Wilson, shared answers"

    def trial(sizes: Sequence[int], shares: Sequence[float]) -> Trial:
        def once(random: Random) -> Outcome:
            right = random.binomial(sizes, shares) / np.array(sizes)
            means = [
                TaskMean(mean=p, variance=p * (1 - p) / max(1, n - 1), units=n)
                for p, n in zip(right.tolist(), sizes, strict=True)
            ]
            return holds(mean_of_tasks_interval(means, LEVEL), float(np.mean(shares)))

        return once

    def equal(tasks: int, samples: int, share: float) -> Trial:
        return trial([samples] * tasks, [share] * tasks)

    many = {
        f"{share:.0%} right": {f"{tasks} × {n}": equal(tasks, n, share) for tasks, n in sizes}
        for share, sizes in (
            (0.5, ((57, 5),)),
            (0.8, ((57, 5), (57, 1), (57, 2), (27, 5))),
            (0.9, ((57, 100), (100, 10), (3, 10), (2, 5))),
            (0.95, ((57, 5), (20, 10))),
            (0.99, ((57, 5),)),
        )
    }
    unequal = {
        "7 tasks": trial([5, 10, 20, 50, 100, 200, 500], [0.9, 0.95, 0.5, 0.7, 0.99, 0.8, 0.3]),
        "20 + 200": trial([20, 200], [0.95, 0.5]),
        "20 + 1,000": trial([20, 1000], [0.05, 0.99]),
    }
    few = "so few right/wrong answers differ by the number of wrong ones and by nothing else"
    one = "one small task near an end decides"
    return [
        *(Row(section, method, name, "covers", LEVEL, trials, 2000, few) for name, trials in many.items()),
        Row(section, method, "tasks of very unequal size", "covers", LEVEL, unequal, 2000, one),
    ]


def together() -> list[Row]:
    section = "Several comparisons in one report"

    def drawn(random: Random, truths: Sequence[float]) -> list[tuple[AnswerPairs, float]]:
        """Tasks of 200 pairs, of which 20 % differ."""
        shares = [[0.1 + truth / 2.0, 0.1 - truth / 2.0, 0.8] for truth in truths]
        counts = [random.multinomial(200, share).tolist() for share in shares]
        return [(AnswerPairs(counted[0], counted[1], 200, 200), t) for counted, t in zip(counts, truths, strict=True)]

    def hold(truths: Sequence[float]) -> Trial:
        """Whether all intervals hold, each at the level that its corrected test leaves it."""

        def once(random: Random) -> Outcome:
            tasks = drawn(random, truths)
            family = correct([each.p_value for each, _ in tasks], LEVEL)
            pairs = zip(tasks, family, strict=True)
            return Outcome(all(holds(each.interval(own.level), truth).hit for (each, truth), own in pairs))

        return once

    def false_share(truths: Sequence[float], correction: Correction) -> Trial:
        """Whether one of the differences found, drawn at random, is false; nothing found is none."""

        def once(random: Random) -> Outcome:
            tasks = drawn(random, truths)
            family = correct([each.p_value for each, _ in tasks], LEVEL, correction)
            picked = [truth for (_, truth), own in zip(tasks, family, strict=True) if own.significant]
            return Outcome(bool(picked) and picked[int(random.integers(len(picked)))] == 0.0)

        return once

    def mixed(count: int, share: float, truth: float) -> list[float]:
        return [truth if place < share * count else 0.0 for place in range(count)]

    joint = [
        Row(section, "Holm", f"right/wrong, {name}: all intervals hold", "covers", LEVEL,
            {f"{count} tasks": hold(mixed(count, share, truth)) for count in (2, 5, 20)}, 1000,
            "what only a later step of Holm's finds has the narrower interval of that step")
        for name, share, truth in (("no difference", 0.0, 0.0), ("half differ by 0.1", 0.5, 0.1),
                                   ("all differ by 0.12", 1.0, 0.12))
    ]  # fmt: skip
    rates = [
        Row(section, CORRECTED_BY[correction], f"right/wrong, {share:.0%} differ by 0.1: a difference found is false",
            "errs", BOTH, {"20 tasks": false_share(mixed(20, share, 0.1), correction)}, 2000,
            "it holds whatever the tasks have in common" if correction == "by" else "")
        for correction in ("bh", "by")
        for share in (0.2, 0.5)
    ]  # fmt: skip
    return [*joint, *rates]


def ranks() -> list[Row]:
    section = "Ranks and weak slices: any false one at all"

    def denied(models: int, tasks: int, samples: int, kind: str) -> Trial:
        """Whether equal models get any range that excludes rank 1."""

        def once(random: Random) -> Outcome:
            pairs = PairTests(models)
            for _ in range(tasks):
                pairs.add(_equal(random, samples, models, kind), None)
            return Outcome(any(low > 1 for low, _ in ranges_of(pairs.p_values(), pairs.differences(), LEVEL)))

        return once

    def alone(random: Random) -> Outcome:
        rows = (random.random((60, 4)) < 0.7).astype(np.float64)
        scores, ends = rows.mean(axis=0).tolist(), [wilson(int(each.sum()), 60) for each in rows.T]
        return Outcome(any(each.low > 1 for each in rank_ranges_of_scores(list("abcd"), scores, ends)))

    def slices(random: Random) -> Outcome:
        """Twenty tasks, each cut into five slices of 40 that are all alike."""
        p_values_of, below = [], []
        for row in random.binomial(40, 0.7, (20, 5)).tolist():
            for right in row:
                rest = sum(row) - right
                part, others = np.repeat([1.0, 0.0], [right, 40 - right]), np.repeat([1.0, 0.0], [rest, 160 - rest])
                compared = against_rest(part, others)
                p_values_of.append(1.0 if compared is None else compared.p_value)
                below.append(compared is not None and compared.part < compared.rest)
        return Outcome(any(p <= BOTH and low for p, low in zip(holm(p_values_of), below, strict=True)))

    boards = {f"{n} models": denied(n, 1, 100, "coins") for n in (10, 20)}
    scored, method = {"10 models": denied(10, 1, 40, "graded")}, "Holm over all pairs"
    return [
        Row(section, method, "100 right/wrong answers: an equal model denied rank 1", "errs", BOTH, boards, 1000),
        Row(section, method, "40 graded scores", "errs", BOTH, scored, 1000),
        Row(section, method, "three tasks of 40 hard and easy samples", "errs", BOTH,
            {"10 models": denied(10, 3, 40, "hard and easy")}, 500),
        Row(section, "intervals apart", "60 answers each, not paired", "errs", BOTH, {"4 models": alone}, 2000),
        Row(section, "Fisher, Holm", "slices of 40 that are all alike", "errs", BOTH, {"20 × 5": slices}, 500),
    ]  # fmt: skip


def _equal(random: Random, samples: int, models: int, kind: str) -> Floats:
    if kind == "graded":
        return np.clip(random.beta(2.0, 1.0, (samples, 1)) + random.normal(0.0, 0.2, (samples, models)), 0.0, 1.0)
    chances = 0.5 if kind == "coins" else random.beta(1.0, 0.5, (samples, 1))
    return (random.random((samples, models)) < chances).astype(np.float64)


def plans() -> list[Row]:
    """The promise is what the product says beforehand."""
    section = "Detectable differences and plans: found as often as said"

    def graded(n: int, deviation: float) -> Trial:
        like = np.random.default_rng(1).normal(0.0, 1.0, n)
        like = (like - like.mean()) / like.std(ddof=1) * deviation
        effect = detectable_mean(spread_of(like), 1.0, LEVEL, 0.8) or 0.0

        def once(random: Random) -> Outcome:
            return Outcome(p_values(spread_of(random.normal(effect, deviation, n)), (-1.0, 1.0))[0] <= ONE_SIDE)

        return once

    def on_top(wins: int, losses: int, n: int, *, fixed: bool) -> Trial:
        """The difference on top of the rarer flips, or within the same disagreement."""
        effect = detectable_share_difference(wins, losses, n, LEVEL, 0.8) or 0.0
        rare, disagree = min(wins, losses) / n, (wins + losses) / n
        gain = (disagree + effect) / 2.0 if fixed else rare + effect
        loss = max(0.0, (disagree - effect) / 2.0) if fixed else rare

        def once(random: Random) -> Outcome:
            won, lost, _ = random.multinomial(n, [gain, loss, 1.0 - gain - loss]).tolist()
            return Outcome(AnswerPairs(won, lost, n, n).p_values()[0] <= ONE_SIDE)

        return once

    def repeated(n: int, tries: int, difference: float) -> tuple[Trial, float]:
        chances = np.random.default_rng(2).beta(2.0, 2.0, 100_000) * (1.0 - difference)
        noise = float(np.mean([p * (1.0 - p) for p in (chances, chances + difference)])) * 2.0
        task = Expected(
            samples=n, variance=noise + difference**2, noise=noise, right_wrong=True, largest_difference=1.0
        )

        def once(random: Random) -> Outcome:
            chance = random.beta(2.0, 2.0, n) * (1.0 - difference)
            before, after = (random.binomial(tries, p) / tries for p in (chance, chance + difference))
            return Outcome(p_values(spread_of(after - before), (-1.0, 1.0))[0] <= ONE_SIDE)

        return once, power_of([task], difference, repeat=tries)

    counts = ((10, 10, 100), (8, 4, 50), (50, 40, 1000))
    rows = [
        Row(section, "guarded t", f"graded, ± {deviation:g}, symmetric: the difference said to be detectable", "finds",
            0.8, {f"{n}": graded(n, deviation)})
        for n, deviation in ((60, 0.2), (150, 0.1), (400, 0.3))
    ]  # fmt: skip
    for fixed in (False, True):
        model = "within the disagreement seen" if fixed else "on top of the rarer flips"
        trials = {f"{n:,} ({wins} + {losses})": on_top(wins, losses, n, fixed=fixed) for wins, losses, n in counts}
        why = "the page of a comparison names this model and gives the other difference too" if fixed else ""
        rows.append(Row(section, "McNemar", f"right/wrong, {model}", "finds", 0.8, trials, why=why))
    for tries in (2, 8):
        trial, promised = repeated(200, tries, 0.08)
        rows.append(Row(section, "guarded t", f"`plan`: right/wrong, {tries} attempts, a difference of 0.08", "finds",
                        round(promised, 3), {"200": trial}, 2000))  # fmt: skip
    skewed = "few of the samples have the values that make the differences skewed"
    for kind, data in (("losses", "small gains, one in twenty loses 0.6"), ("tailed", "right-tailed, Beta(2, 8)")):
        for group in (1, 4):
            units = f", in groups of {group}" if group > 1 else ""
            trials = {f"{n}" if group == 1 else f"{n} × {group}": _planned(kind, n, group) for n in (50, 100, 300)}
            rows.append(Row(section, "guarded t", f"`plan` from two runs: {data}{units}", "finds", 0.8, trials, 2000,
                            why=skewed if kind == "losses" else ""))  # fmt: skip
    return rows


def _planned(kind: str, units: int, group: int) -> Trial:
    """The smallest difference that a plan promises to find, on the side where that is harder."""
    groups = np.repeat(np.arange(units), group)

    def once(random: Random) -> Outcome:
        drawn = np.repeat(_skewed(kind, random, units), group) + _smallest(kind, units, group)
        return Outcome(p_values(spread_of(drawn, groups), (-1.0, 1.0))[0] <= ONE_SIDE)

    return once


def _skewed(kind: str, random: Random, count: int) -> Floats:
    """Differences of mean 0."""
    if kind == "losses":
        return np.where(random.random(count) < 0.05, -0.6, random.normal(0.06, 0.05, count)) - 0.027
    return 0.2 - random.beta(2.0, 8.0, count)


@cache
def _smallest(kind: str, units: int, group: int) -> float:
    """From two earlier runs that differ so."""
    samples = np.arange(40_000 * group)
    differences = np.repeat(_skewed(kind, np.random.default_rng(3), 40_000), group)
    before = np.full(len(samples), 0.5)
    runs = [
        EarlierScores(samples=samples, values=values, groups=samples // group)
        for values in (before, before + differences)
    ]
    task = of_two_runs(runs[0], runs[1], units * group, share=True).expected
    return smallest_difference([task]) or 0.0


def parts() -> list[Row]:
    section = "Where the spread comes from"

    def share(kind: str, n: int) -> Trial:
        def once(random: Random) -> Outcome:
            values, truth = _twice(kind, n, random)
            sample, draw = np.indices(values.shape)
            split = variance_split(Readings(samples=sample.ravel(), draws=draw.ravel(), values=values.ravel()), LEVEL)
            if split.draw_share_low is None or split.draw_share_high is None:
                return Outcome(None)
            return Outcome(split.draw_share_low <= truth <= split.draw_share_high)

        return once

    def wordings(variants: int) -> Trial:
        def once(random: Random) -> Outcome:
            means = (random.normal(0.0, 0.3, 60) + random.normal(0.0, 0.05, (variants, 1))
                     + random.normal(0.0, 0.2, (variants, 60)))  # fmt: skip
            spread = variant_spread(means, LEVEL)
            return holds(Interval(low=spread.low, high=spread.high, level=LEVEL, method="F"), 0.05**2)

        return once

    kinds = {
        "right/wrong, chances from Beta(2, 1)": "",
        "right/wrong, chances of 5 or 95 %": "",
        "normal scores": "",
        "5 % of the samples at 0, the rest near 0.9": "of 50 samples two or three hold all of the spread",
    }
    found_rows = [
        Row(section, "jackknife", f"share of the attempts: {kind}", "covers", LEVEL,
            {f"{n} × 2": share(kind, n) for n in (50, 100, 300)}, 2000, why)
        for kind, why in kinds.items()
    ]  # fmt: skip
    trials = {f"{variants} wordings": wordings(variants) for variants in (3, 5, 10)}
    return [*found_rows, Row(section, "F and χ²", "spread between wordings of a prompt", "covers", LEVEL, trials, 2000)]


def _twice(kind: str, n: int, random: Random) -> tuple[Floats, float]:
    """Two attempts at each sample, and the true share of the attempts in the variance of one score."""
    if kind == "normal scores":
        return random.normal(0.0, 0.3, (n, 1)) + random.normal(0.0, 0.2, (n, 2)), 0.04 / 0.13
    if kind.startswith("5 %"):
        level = np.where(random.random((n, 1)) < 0.05, 0.0, 0.9)
        between = 0.05 * 0.95 * 0.81
        return level + random.normal(0.0, 0.05, (n, 2)), 0.05**2 / (0.05**2 + between)
    if "Beta" in kind:
        chances, within, whole = random.beta(2.0, 1.0, (n, 1)), 2 / 3 - 1 / 2, 2 / 9
    else:
        chances, within, whole = random.choice([0.05, 0.95], (n, 1)), 0.05 * 0.95, 0.25
    return (random.random((n, 2)) < chances).astype(np.float64), within / whole
