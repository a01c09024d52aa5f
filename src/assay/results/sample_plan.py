"""Before a run: how many samples find a difference, what the samples at hand can find, and what that takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.costs.estimate import RoundCost, rounds
from assay.results.diff.paired_columns import Side
from assay.stats.cells import UNIT
from assay.stats.expected import EarlierScores, Prospect, of_one_run, of_two_runs
from assay.stats.families import hardest_level
from assay.stats.margins import smallest_margin
from assay.stats.power import Expected, power_of, samples_needed, smallest_difference
from assay.stats.variance import best_repeat
from assay.text.numbers import number, percent

POWER = 0.8
POINTS = 24
"""Of a curve of power against samples."""
OVERALL = "overall"
WRITTEN = 30
"""Attempts that take as much effort as a sample that has to be written: an example to weigh them by."""


class Guess(Struct, frozen=True, kw_only=True):
    """What the user expects of two models."""

    score: float
    disagree: float | None = None
    """The share of samples on which one is right and the other wrong."""
    flip_rate: float | None = None
    """The share of samples on which two attempts of one model differ."""
    sd: float | None = None
    """The standard deviation of the difference of two scores: then they are graded."""


class PlanTask(Struct, frozen=True, kw_only=True):
    """A task that is planned."""

    task: str
    samples: int
    group: float
    """Samples per group; 1 where each is on its own."""
    weight: float = 1.0
    """In the overall score."""
    largest_loss: float | None = None
    """That the task declares."""


class PlanPoint(Struct, frozen=True, kw_only=True):
    samples: int
    power: float


class PlanRow(Struct, frozen=True, kw_only=True):
    """One task, or all together, with one number of attempts per sample."""

    task: str
    repeat: int
    samples: int
    """At hand."""
    power: float
    """The chance that these find the difference; of skewed differences on the side that is harder to find."""
    power_of_easier: float
    """On the other side."""
    needed: int | None
    """The samples that find it in 80 % of cases; null where none do."""
    needed_on_top: int | None
    """The same if the difference comes on top of the disagreement, and is no part of it."""
    smallest: float | None
    """The smallest difference that the samples at hand find in 80 % of cases."""
    smallest_on_top: float | None
    margin: float | None
    """The smallest margin that the samples at hand can show a drop to be within, even if no score changes; null for all
    tasks together, and where there is none."""
    requests: int
    """For the samples needed, of all models."""
    tokens: int | None
    cost: float | None
    curve: list[PlanPoint] = []


class SamplePlan(Struct, frozen=True, kw_only=True):
    """What `assay plan` prints."""

    detect: float
    power: float
    level: float
    """Of the report."""
    comparisons: int
    """That the level is corrected for, by Holm."""
    expects: list[str]
    """What is assumed of the models, and where it comes from."""
    at_most: bool
    """Whether fewer samples may be enough, since nothing is known of what the models have in common."""
    rows: list[PlanRow]
    """The row of all tasks together last, where there are several of one scale."""
    advice: list[str]
    currency: str
    cost_unknown: str | None
    cost_assumes: str | None
    """How tokens were counted, where they are an estimate."""


def prospect_of_guess(guess: Guess, task: PlanTask) -> Prospect:
    """What a guess means for a task: without a disagreement that of two models with nothing in common."""
    apart = 2.0 * guess.score * (1.0 - guess.score)
    variance = guess.sd**2 if guess.sd is not None else apart if guess.disagree is None else guess.disagree
    expected = Expected(
        samples=task.samples,
        variance=variance,
        noise=min(variance, guess.flip_rate or 0.0),
        right_wrong=guess.sd is None,
        group=task.group,
        icc=1.0 if task.group > 1.0 else 0.0,
        largest_difference=task.largest_loss or 1.0,
    )
    at_most = (guess.disagree is None and guess.sd is None) or task.group > 1.0
    return Prospect(expected=expected, at_most=at_most, noise_known=guess.flip_rate is not None)


def prospect_of_runs(runs: Sequence[Side], task: PlanTask) -> Prospect:
    """What one earlier run, or two, say about a task. `UsageError` where they have no scores of it."""
    scores = [_earlier(side, task.task) for side in runs]
    share = all(row.range == UNIT for side in runs for row in side.board.tasks if row.task == task.task)
    if len(scores) == 1:
        prospect = of_one_run(scores[0], task.samples, share=share)
    else:
        prospect = of_two_runs(scores[0], scores[1], task.samples, share=share)
    if not prospect.expected.variance:
        raise UsageError(
            f"{_names(runs)}: nothing differs in task `{task.task}`, so it says nothing about other models; "
            "use --guess SCORE,disagree=SHARE"
        )
    if task.largest_loss is None or not share:
        return prospect
    expected = replace(prospect.expected, largest_difference=task.largest_loss)
    return Prospect(expected=expected, at_most=prospect.at_most, noise_known=prospect.noise_known)


def plan_samples(
    tasks: Sequence[tuple[PlanTask, Prospect]],
    *,
    detect: float,
    pairs: int,
    repeats: Sequence[int],
    level: float,
    costs: Sequence[RoundCost],
    expects: list[str],
) -> SamplePlan:
    """The plan for tasks, each with what is expected of it and what an attempt at all its samples takes."""
    _check_scales(tasks, detect)
    overall = [place for place, (_, prospect) in enumerate(tasks) if prospect.expected.largest_difference is not None]
    comparisons = (len(tasks) + (len(overall) > 1)) * pairs
    hardest = hardest_level(level, comparisons)
    groups = [([prospect.expected], task.task, [cost]) for (task, prospect), cost in zip(tasks, costs, strict=True)]
    if len(overall) > 1:
        groups.append((_weighted([tasks[place] for place in overall]), OVERALL, [costs[place] for place in overall]))
    margins = {task.task: _margin(task, prospect, level) for task, prospect in tasks}
    rows = [
        replace(_row(name, expected, detect, repeat, hardest, cost), margin=margins.get(name))
        for expected, name, cost in groups
        for repeat in repeats
    ]
    prospects = [prospect for _, prospect in tasks]
    return SamplePlan(
        detect=detect,
        power=POWER,
        level=level,
        comparisons=comparisons,
        expects=expects,
        at_most=any(prospect.at_most for prospect in prospects),
        rows=rows,
        advice=_advice(prospects, repeats, rows, hardest),
        currency=costs[0].currency,
        cost_unknown=next((cost.reason for cost in costs if cost.reason), None),
        cost_assumes=next((cost.assumes for cost in costs if cost.assumes), None),
    )


def _check_scales(tasks: Sequence[tuple[PlanTask, Prospect]], detect: float) -> None:
    for task, prospect in tasks:
        largest = prospect.expected.largest_difference
        if largest is not None and detect >= largest:
            most = f"no score of task `{task.task}` changes by more"
            raise UsageError(f"--detect must be less than {largest:g}, got {detect:g}: {most}")


def _weighted(tasks: Sequence[tuple[PlanTask, Prospect]]) -> list[Expected]:
    mean = math.fsum(task.weight for task, _ in tasks) / len(tasks)
    return [replace(prospect.expected, factor=task.weight / mean) for task, prospect in tasks]


def _margin(task: PlanTask, prospect: Prospect, level: float) -> float | None:
    if prospect.expected.largest_difference is None:
        return None
    return smallest_margin(int(task.samples / task.group), level, task.largest_loss)


def comparisons_of(models: int) -> int:
    """Every two of so many models."""
    return math.comb(max(2, models), 2)


def _row(
    name: str, tasks: Sequence[Expected], detect: float, repeat: int, level: float, costs: Sequence[RoundCost]
) -> PlanRow:
    at_hand = sum(task.samples for task in tasks)
    needed, on_top = (
        samples_needed(tasks, detect, repeat=repeat, level=level, power=POWER, on_top=item) for item in (False, True)
    )
    smallest, smallest_on_top = (
        smallest_difference(tasks, repeat=repeat, level=level, power=POWER, on_top=item) for item in (False, True)
    )
    cost = rounds(costs, repeat * (needed or at_hand) / at_hand)
    return PlanRow(
        task=name,
        repeat=repeat,
        samples=at_hand,
        power=power_of(tasks, detect, repeat=repeat, level=level),
        power_of_easier=power_of(tasks, detect, repeat=repeat, level=level, easier=True),
        needed=needed,
        needed_on_top=on_top,
        smallest=smallest,
        smallest_on_top=smallest_on_top,
        margin=None,
        requests=cost.requests,
        tokens=cost.tokens,
        cost=cost.amount,
        curve=_curve(tasks, detect, repeat, level, max(needed or 0, at_hand)),
    )


def _curve(tasks: Sequence[Expected], detect: float, repeat: int, level: float, last: int) -> list[PlanPoint]:
    sizes = np.unique(np.geomspace(max(4, 2 * len(tasks)), 1.5 * last, POINTS).astype(int)).tolist()
    return [
        PlanPoint(samples=size, power=power_of(tasks, detect, samples=size, repeat=repeat, level=level))
        for size in sizes
    ]


def _advice(prospects: Sequence[Prospect], repeats: Sequence[int], rows: Sequence[PlanRow], level: float) -> list[str]:
    """Whether more samples help, or more attempts at those at hand."""
    expected = [prospect.expected for prospect in prospects]
    if not all(prospect.noise_known for prospect in prospects):
        meanwhile = "; the rows with more attempts reckon that they do not" if repeats[-1] > 1 else ""
        return [
            "whether more attempts help is not known: it takes a baseline of 50 samples with --repeat 2, or "
            f"flip_rate=SHARE in the guess, the share of samples on which two attempts of one model differ{meanwhile}"
        ]
    repeat = max(*repeats, 2)
    at_hand = rows[-1].samples
    attempts = smallest_difference(expected, repeat=repeat, level=level, power=POWER)
    samples = smallest_difference(expected, samples=at_hand * repeat, level=level, power=POWER)
    whole, noise = (math.fsum(getattr(item, name) for item in expected) for name in ("variance", "noise"))
    best = best_repeat(whole - noise, noise, per_sample=WRITTEN)
    return [
        f"{repeat} attempts at each of the {at_hand:,} samples find {number(attempts)}; {at_hand * repeat:,} samples "
        f"with one attempt each find {number(samples)}, for as many requests",
        f"attempts are {percent(noise / whole)} of the variance of a difference, and more of them reduce that alone; "
        f"where a new sample takes the effort of {WRITTEN} attempts, {best} at each are best",
    ]


def _earlier(side: Side, task: str) -> EarlierScores:
    columns = side.tasks.get(task)
    if columns is None:
        known = ", ".join(f"`{name}`" for name in side.tasks) or "no task with the scores of its samples"
        raise UsageError(f"--baseline {side.source}: has no scores of task `{task}`; it has {known}")
    rows = columns.scored
    if not rows.any():
        raise UsageError(f"--baseline {side.source}: no sample of task `{task}` has a score")
    scored = columns.only(rows)
    faults = any(row.task == task and row.lower_is_better and row.range == UNIT for row in side.board.tasks)
    # a share of faults is negated, so that higher is better
    values = scored.scores + 1.0 if faults else scored.scores
    return EarlierScores(samples=scored.samples, values=values, groups=scored.groups)


def _names(runs: Iterable[Side]) -> str:
    return " and ".join(str(side.source) for side in runs)


def parse_guess(text: str) -> Guess:
    """`0.7,disagree=0.15`: a score, and what else is known."""
    parts = [part.strip() for part in text.split(",")]
    guess = Guess(score=_share(parts[0], "the score", text))
    for part in parts[1:]:
        name, equals, value = part.partition("=")
        if not equals or name not in ("disagree", "flip_rate", "sd"):
            known = "disagree=SHARE, flip_rate=SHARE or sd=NUMBER"
            raise UsageError(f"--guess {text}: after the score, expected {known}, got {part!r}")
        if getattr(guess, name) is not None:
            raise UsageError(f"--guess {text}: {name} is given twice")
        guess = replace(guess, **{name: _share(value, name, text)})
    if guess.sd is not None and (guess.disagree is not None or guess.flip_rate is not None):
        raise UsageError(f"--guess {text}: sd is for graded scores, disagree and flip_rate for right/wrong answers")
    if guess.disagree is not None and guess.flip_rate is not None and guess.flip_rate > guess.disagree:
        raise UsageError(
            f"--guess {text}: two models disagree at least as often as two attempts of one model (flip_rate)"
        )
    most = 2.0 * guess.score * (1.0 - guess.score)
    if guess.flip_rate is not None and guess.flip_rate > most + 1e-9:
        scored = f"two attempts of a model that scores {guess.score:g}"
        raise UsageError(f"--guess {text}: {scored} differ on {percent(most)} of the samples at most (flip_rate)")
    for name in ("disagree", "sd"):
        if getattr(guess, name) == 0.0:
            raise UsageError(f"--guess {text}: {name} must be more than 0: two models that never differ are one")
    return guess


def check_guess(guess: Guess, detect: float, text: str) -> None:
    """`UsageError` where no two models with that score and difference disagree so seldom, or so often."""
    if detect > max(guess.score, 1.0 - guess.score) + 1e-9:
        raise UsageError(f"--guess {text}: no score is {detect:g} above or below {guess.score:g}")
    most = 2.0 * min(guess.score, 1.0 - guess.score) + detect
    if guess.sd is not None and guess.sd**2 > most - detect**2 + 1e-9:
        largest = math.sqrt(max(0.0, most - detect**2))
        raise UsageError(f"--guess {text}: the differences of such scores have an sd of {number(largest)} at most")
    if guess.disagree is None:
        return
    if guess.disagree < detect:
        raise UsageError(f"--guess {text}: two models that differ by {detect:g} disagree at least that often")
    if guess.disagree > most + 1e-9:
        scored = f"a model that scores {guess.score:g} and one that differs by {detect:g}"
        raise UsageError(f"--guess {text}: {scored} disagree on {percent(most)} of the samples at most")


def _share(value: str, name: str, text: str) -> float:
    try:
        share = float(value)
    except ValueError:
        raise UsageError(f"--guess {text}: {name} must be a number from 0 to 1, got {value!r}") from None
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"--guess {text}: {name} must be a number from 0 to 1, got {value}")
    return share
