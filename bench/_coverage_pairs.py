"""Two runs: is the second better, is it no worse than a margin, is it the same, is there enough to tell?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from bench._coverage_cell import LEVEL, ONE_SIDE, Codes, Floats, Outcome, Random, Row, Trial, found, holds
from scipy import stats

from assay.stats.answers_of_tasks import evidence_of_tasks
from assay.stats.guarded import skewed_t, spread_of
from assay.stats.intervals import clustered_mean_interval, mean_interval
from assay.stats.margins import non_inferiority, same_within
from assay.stats.paired_evidence import AnswerPairs, GuardedPairs, OpenPairs, PairedEvidence
from assay.stats.permutation import permutation_test

Draw = Callable[[Random], Floats]
Grouped = Callable[[Random], tuple[Floats, Codes]]
BOTH = 2.0 * ONE_SIDE
TOO_LITTLE = "below n·d = 9 no valid test keeps the power of t"


def rows() -> list[Row]:
    return [*graded(), *margins(), *power(), *clusters(), *tasks(), *answers(), *open_ended()]


def guarded(differences: Floats, groups: Codes | None = None, *, reach: float = 1.0) -> GuardedPairs:
    spread = spread_of(differences, groups)
    return GuardedPairs(spread, had=spread, reach=reach)


def better(draw: Draw, reach: float = 1.0) -> Trial:
    """Whether the second is called better, one-sided at 2.5 %; that t does so is said beside it."""

    def once(random: Random) -> Outcome:
        differences = draw(random)
        n, mean, deviation = len(differences), differences.mean(), differences.std(ddof=1)
        t = math.inf if deviation < 1e-12 else mean / deviation * math.sqrt(n)
        by_t = bool(mean > 0.0 and t >= stats.t.ppf(1.0 - ONE_SIDE, n - 1))
        return found(guarded(differences, reach=reach).p_values()[0] <= ONE_SIDE, by_t)

    return once


def losing(n: int, share: float, gain: float, lost: float = 0.9) -> Draw:
    """Nearly all samples gain a little and a few lose nearly everything: the second is worse."""
    return lambda random: np.where(random.random(n) < share, -lost, gain * random.random(n))


def alike(n: int, losses: float) -> Draw:
    """Losses of everything at this rate, and gains of one size that make up for them: no difference."""
    share = losses / n
    return lambda random: np.where(random.random(n) < share, -1.0, share / (1.0 - share))


def quarters(n: int) -> Draw:
    """Losses of a quarter, which no sample can exceed, and gains that make up for them."""
    wholes = alike(n, 3.0)
    return lambda random: 0.25 * wholes(random)


def uneven(n: int, losses: float) -> Draw:
    """The same, with gains that vary by 0.05."""
    share = losses / n

    def drawn(random: Random) -> Floats:
        gains = share / (1.0 - share) + random.normal(0.0, 0.05, n)
        return np.where(random.random(n) < share, -1.0, np.clip(gains, -1.0, 1.0))

    return drawn


def judged(n: int) -> Draw:
    return lambda random: (random.integers(1, 6, n) - random.integers(1, 6, n)) / 4.0


def fallen(n: int) -> Draw:
    """A judge's marks: 1 in 100 falls from 5 to 1, and others rise by one to make up for it."""
    return lambda random: random.choice([-1.0, 0.25, 0.0], n, p=[0.01, 0.04, 0.95])


def ties(n: int) -> Draw:
    """97 in 100 the same, rare losses of everything and small gains that make up for them."""
    return lambda random: random.choice([-1.0, 0.1, 0.0], n, p=[0.03 / 11.0, 0.3 / 11.0, 1.0 - 0.33 / 11.0])


def bimodal(n: int) -> Draw:
    return lambda random: random.choice([-0.6, 0.6], n) + random.normal(0.0, 0.05, n)


def of_sizes(make: Callable[[int], Draw], sizes: Sequence[int]) -> dict[str, Trial]:
    return {f"{n:,}": better(make(n)) for n in sizes}


def graded() -> list[Row]:
    section, method = "Graded pairs: a worse or equal result called better", "guarded t"
    shapes: list[tuple[str, dict[str, Trial]]] = [
        ("3 % fall to 0, the rest gain up to 0.02", of_sizes(lambda n: losing(n, 0.03, 0.02), (30, 50, 100))),
        ("1 % fall to 0, the rest gain up to 0.01", of_sizes(lambda n: losing(n, 0.01, 0.01), (100, 300))),
        ("0.5, 0.3, 0.1 % fall to 0, the rest gain up to as much",
         {f"{n:,}": better(losing(n, share, share)) for n, share in ((200, 0.005), (300, 0.003), (1000, 0.001))}),
        ("2 % lose half, the rest gain up to 0.018", of_sizes(lambda n: losing(n, 0.02, 0.018, 0.45), (50,))),
        ("3 losses of everything expected, gains alike make up", of_sizes(lambda n: alike(n, 3.0), (30, 100, 300))),
        ("3 losses of a quarter, the most that is declared, gains alike make up",
         {f"{n}": better(quarters(n), 0.25) for n in (30, 100, 300)}),
        ("4.5 losses", of_sizes(lambda n: alike(n, 4.5), (30, 100, 1000))),
        ("7 losses", of_sizes(lambda n: alike(n, 7.0), (100, 300, 1000))),
        ("3 losses, gains vary by 0.05", of_sizes(lambda n: uneven(n, 3.0), (30, 100, 300))),
        ("a judge's marks, no difference", of_sizes(judged, (30, 100, 300))),
        ("a judge's marks, 1 % fall from 5 to 1", of_sizes(fallen, (100, 300, 1000))),
        ("97 % ties, rare losses of everything", of_sizes(ties, (300, 1000))),
        ("two opposite humps", of_sizes(bimodal, (10, 300))),
    ]  # fmt: skip
    return [Row(section, method, data, "errs", ONE_SIDE, trials) for data, trials in shapes]


def margins() -> list[Row]:
    section = "Margins: a drop of exactly the margin taken for less"

    def met(evidence: Callable[[Random], PairedEvidence], margin: float) -> Trial:
        return lambda random: Outcome(
            non_inferiority(evidence(random).margin_interval(LEVEL), margin - 1e-4).outcome == "met"
        )

    def called_same(evidence: Callable[[Random], PairedEvidence], margin: float) -> Trial:
        return lambda random: Outcome(same_within([evidence(random)], margin, LEVEL)[0].same)

    def rare(n: int, margin: float) -> Callable[[Random], PairedEvidence]:
        """The drop is all in a few total losses."""
        return lambda random: guarded(np.where(random.random(n) < margin, -1.0, 0.0))

    def shifted(n: int, margin: float) -> Callable[[Random], PairedEvidence]:
        return lambda random: guarded(random.normal(-margin, 0.1, n))

    def flips(n: int, margin: float, gained: float) -> Callable[[Random], PairedEvidence]:
        def drawn(random: Random) -> PairedEvidence:
            wins, losses, _ = random.multinomial(n, [gained, gained + margin, 1.0 - 2.0 * gained - margin]).tolist()
            return AnswerPairs(wins, losses, n, n)

        return drawn

    def in_groups(n: int, margin: float) -> Callable[[Random], PairedEvidence]:
        codes = np.repeat(np.arange(n), 5)

        def drawn(random: Random) -> PairedEvidence:
            lose = random.beta(0.5, 0.5 / margin - 0.5, n)[codes]
            return guarded(-(random.random(len(codes)) < lose).astype(np.float64), codes)

        return drawn

    claims: list[tuple[str, str, Callable[[int], Callable[[Random], PairedEvidence]], float, Sequence[int]]] = [
        ("guarded t", "graded, all of it in rare total losses", lambda n: rare(n, 0.03), 0.03, (50, 100, 300, 1000)),
        ("guarded t", "graded, every sample falls a little", lambda n: shifted(n, 0.05), 0.05, (60, 300)),
        ("Tango", "right/wrong, losses only", lambda n: flips(n, 0.03, 0.0), 0.03, (100, 400)),
        ("Tango", "right/wrong, losses and gains", lambda n: flips(n, 0.03, 0.05), 0.03, (100, 400)),
        ("guarded t, groups", "right/wrong in groups of 5", lambda n: in_groups(n, 0.05), 0.05, (30, 100)),
    ]
    questions = (("no drop beyond", met, ONE_SIDE, 4000), ("the same within", called_same, BOTH, 1000))
    return [
        Row(section, f"{method}: {name}", data, "errs", promised,
            {f"{n:,}": trial(make(n), margin) for n in sizes}, sets=sets)
        for name, trial, promised, sets in questions
        for method, data, make, margin, sizes in claims
    ]  # fmt: skip


def power() -> list[Row]:
    section = "Graded pairs: a true difference found"
    shapes = [(100, 0.03, 0.1), (200, 0.02, 0.1), (100, 0.05, 0.1), (50, 0.1, 0.2), (200, 0.03, 0.1), (300, 0.02, 0.1),
              (200, 0.05, 0.1), (100, 0.1, 0.3), (500, 0.02, 0.1), (1000, 0.02, 0.1)]  # fmt: skip

    def normal(n: int, difference: float, deviation: float) -> Draw:
        return lambda random: np.clip(random.normal(difference, deviation, n), -1.0, 1.0)

    return [
        Row(section, "guarded t", f"d = {d:g} ± {deviation:g}; n·d = {n * d:.0f}", "finds", None,
            {f"{n:,}": better(normal(n, d, deviation))}, why="" if n * d >= 9 else TOO_LITTLE)
        for n, d, deviation in shapes
    ] + [
        Row(section, "guarded t", f"d = {d:g} ± {deviation:g}; a largest loss of {reach:g} declared", "finds", None,
            {f"{n:,}": better(normal(n, d, deviation), reach)})
        for n, d, deviation, reach in ((100, 0.02, 0.05, 0.25), (100, 0.03, 0.1, 0.5))
    ]  # fmt: skip


def clusters() -> list[Row]:
    section = "Pairs in groups, and repeated attempts"

    def trial(draw: Grouped) -> Trial:
        def once(random: Random) -> Outcome:
            differences, codes = draw(random)
            student = clustered_mean_interval(differences, codes, LEVEL)
            by_t = student.low is not None and student.high is not None and not student.low <= 0.0 <= student.high
            return found(guarded(differences, codes).p_value <= BOTH, by_t)

        return once

    def moved(sizes: Codes) -> Grouped:
        """Right/wrong answers of two models that differ by cluster, and not on the whole."""
        codes = np.repeat(np.arange(len(sizes)), sizes)

        def drawn(random: Random) -> tuple[Floats, Codes]:
            chances = np.clip(random.normal(0.15, 0.1, (2, len(sizes))), 0.0, 0.5)[:, codes]
            at = random.random(len(codes))
            return (at < chances[1]).astype(np.float64) - (at > 1.0 - chances[0]), codes

        return drawn

    def whole(n: int, size: int, share: float) -> Grouped:
        """Whole clusters are lost, and the others gain what makes up for it."""
        codes = np.repeat(np.arange(n), size)

        def drawn(random: Random) -> tuple[Floats, Codes]:
            return np.where(random.random(n) < share, -1.0, share / (1.0 - share))[codes], codes

        return drawn

    def repeats(n: int, tries: int, lost: float) -> Trial:
        """Means of the attempts at each sample, whichever were scored."""

        def once(random: Random) -> Outcome:
            chances = random.beta(2.0, 1.0, n)[:, None]
            sides = [np.where(random.random((n, tries)) < lost, np.nan, random.random((n, tries)) < chances)
                     for _ in range(2)]  # fmt: skip
            both = ~np.isnan(sides[0]).all(axis=1) & ~np.isnan(sides[1]).all(axis=1)
            before, after = (np.nanmean(side[both], axis=1) for side in sides)
            student = mean_interval(after - before, LEVEL)
            by_t = student.low is not None and student.high is not None and not student.low <= 0.0 <= student.high
            return found(guarded(after - before).p_value <= BOTH, by_t)

        return once

    equal = {f"{n} × 10": trial(moved(np.full(n, 10))) for n in (2, 3, 5, 8, 15, 40)}
    heavy = {f"{n} groups": trial(moved(np.ceil(2.0 * (1.0 - (np.arange(n) + 0.5) / n) ** (-1 / 1.1)).astype(np.intp)))
             for n in (6, 12, 30)}  # fmt: skip
    lost = {f"{n} × 5": trial(whole(n, 5, losses / n)) for n, losses in ((20, 3.0), (60, 3.0), (200, 4.5))}
    complete = {f"{n} × {k}": repeats(n, k, 0.0) for n, k in ((20, 4), (60, 4))}
    missing = {f"{n} × {k}": repeats(n, k, 0.3) for n, k in ((20, 4), (60, 4))}
    why = "few groups prove nothing"
    return [
        Row(
            section, "guarded t, groups", "the models differ by group, not on the whole", "errs", BOTH, equal, 2000, why
        ),
        Row(section, "guarded t, groups", "the same, heavy-tailed sizes", "errs", BOTH, heavy, 2000, why),
        Row(section, "guarded t, groups", "whole groups lost, the others make up for it", "errs", BOTH, lost, 2000),
        Row(section, "guarded t over samples", "repeated attempts, no difference", "errs", BOTH, complete, 2000),
        Row(section, "guarded t over samples", "… 30 % of the attempts failed", "errs", BOTH, missing, 2000),
    ]


def tasks() -> list[Row]:
    section = "The overall difference of several tasks"

    def losses(sizes: Sequence[int], share: float) -> Trial:
        def once(random: Random) -> Outcome:
            each = [guarded(np.where(random.random(n) < share, -1.0, share / (1.0 - share))) for n in sizes]
            return Outcome(evidence_of_tasks(each).p_values()[0] <= ONE_SIDE)

        return once

    def answers(sizes: Sequence[int], differ: float) -> Trial:
        def once(random: Random) -> Outcome:
            each = []
            for n in sizes:
                wins, lost, _ = random.multinomial(n, [differ / 2.0, differ / 2.0, 1.0 - differ]).tolist()
                each.append(AnswerPairs(wins, lost, n, n))
            return Outcome(evidence_of_tasks(each).p_value <= BOTH)

        return once

    def covering(kinds: str) -> Trial:
        codes = np.repeat(np.arange(8), 10)

        def one(kind: str, random: Random) -> AnswerPairs | GuardedPairs:
            if kind == "a":
                wins, lost, _ = random.multinomial(100, [0.065, 0.035, 0.9]).tolist()
                return AnswerPairs(wins, lost, 100, 70)
            if kind == "g":
                return guarded(random.normal(0.03, 0.2, 15))
            return guarded(random.normal(0.03, 0.2, 8)[codes] + random.normal(0.0, 0.2, 80), codes)

        return lambda random: holds(evidence_of_tasks([one(kind, random) for kind in kinds]).interval(LEVEL), 0.03)

    rare = {
        "5 × 20": losses((20,) * 5, 0.03),
        "40 × 5": losses((5,) * 40, 0.03),
        "5, 50, 400": losses((5, 50, 400), 0.03),
    }
    pairs = {"57 × 5": answers((5,) * 57, 0.2), "20 × 5": answers((5,) * 20, 0.3), "3 × 10": answers((10,) * 3, 0.3),
             "4 × 100": answers((100,) * 4, 0.1)}  # fmt: skip
    guard = "the unit that is reckoned with is a whole group of eight, or one sample of fifteen"
    return [
        Row(section, "guarded t", "graded: 3 % lose everything, the rest make up for it", "errs", ONE_SIDE, rare, 2000),
        Row(section, "shared answers, t", "right/wrong, no difference, both sides", "errs", BOTH, pairs, 2000),
        Row(section, "shared answers, t", "right/wrong, a difference of 0.03", "covers", LEVEL,
            {"4 × 100": covering("aaaa")}, 2000),
        Row(section, "guarded t", "graded, grouped and mixed tasks, a difference of 0.03", "covers", LEVEL,
            {"3 graded": covering("ggg"), "2 grouped": covering("cc"), "mixed": covering("agca")}, 2000, guard),
    ]  # fmt: skip


def answers() -> list[Row]:
    section = "Right/wrong pairs"

    def drawn(n: int, gain: float, loss: float) -> Callable[[Random], AnswerPairs]:
        def draw(random: Random) -> AnswerPairs:
            wins, losses, _ = random.multinomial(n, [gain, loss, 1.0 - gain - loss]).tolist()
            return AnswerPairs(wins, losses, n, n)

        return draw

    def test(n: int, gain: float, loss: float) -> Trial:
        draw = drawn(n, gain, loss)
        return lambda random: Outcome(draw(random).p_value <= BOTH)

    def one_sided(n: int, gain: float, loss: float) -> Trial:
        draw = drawn(n, gain, loss)
        return lambda random: Outcome(draw(random).p_values()[1] <= ONE_SIDE)

    def interval(n: int, gain: float, loss: float) -> Trial:
        draw = drawn(n, gain, loss)
        return lambda random: holds(draw(random).interval(LEVEL), gain - loss)

    sizes = (20, 100, 500)
    few = "an exact test of few flips cannot spend all of its level"
    return [
        Row(section, "McNemar", "no difference, 20 % differ, both sides", "errs", BOTH,
            {f"{n}": test(n, 0.1, 0.1) for n in sizes}, why=few),
        Row(section, "McNemar", "no difference, 20 % differ, drops", "errs", ONE_SIDE,
            {f"{n}": one_sided(n, 0.1, 0.1) for n in sizes}, why=few),
        Row(section, "Bonett–Price", "no difference, 20 % differ", "covers", LEVEL,
            {f"{n}": interval(n, 0.1, 0.1) for n in sizes}),
        Row(section, "Bonett–Price", "a difference of 0.1, 20 % differ", "covers", LEVEL,
            {f"{n}": interval(n, 0.15, 0.05) for n in sizes}),
        Row(section, "Bonett–Price", "a difference of 0.02, 3 % differ", "covers", LEVEL,
            {f"{n}": interval(n, 0.025, 0.005) for n in sizes}, why="few answers differ"),
    ]  # fmt: skip


def open_ended() -> list[Row]:
    section = "Pairs without a scale, and changes that are not chance"

    def test(draw: Draw) -> Trial:
        def once(random: Random) -> Outcome:
            differences = draw(random)
            student = mean_interval(differences, LEVEL)
            by_t = student.low is not None and student.high is not None and not student.low <= 0.0 <= student.high
            return found(OpenPairs(skewed_t(differences)).p_value <= BOTH, by_t)

        return once

    def flips(draw: Draw) -> Trial:
        return lambda random: Outcome(permutation_test(draw(random), resamples=1000)[1] <= BOTH)

    def log_normal(n: int) -> Draw:
        return lambda random: np.exp(random.normal(size=n)) - math.exp(0.5)

    def symmetric(n: int) -> Draw:
        return lambda random: random.choice([-1, 1], n) * random.gamma(1.0, size=n)

    skewed = {f"{n}": test(log_normal(n)) for n in (30, 100, 300)}
    why = "log-normal values have no end, and nothing in the data shows those that are rare"
    return [
        Row(section, "skew-corrected t", "log-normal differences (σ = 1) of mean 0", "errs", BOTH, skewed, 2000, why),
        Row(section, "skew-corrected t", "symmetric differences of mean 0", "errs", BOTH,
            {f"{n}": test(symmetric(n)) for n in (10, 30, 100)}, 2000),
        Row(section, "sign flips", "answers that are exchangeable", "errs", BOTH,
            {f"{n}": flips(symmetric(n)) for n in (12, 60)}, 1000),
    ]  # fmt: skip
