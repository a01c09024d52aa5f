"""Before a run: the chance that a comparison finds a true difference, and how many samples that takes.

The tests are those of a comparison: McNemar's for right/wrong answers, the guarded t for scores, groups and repeated
attempts, the combined t for the overall difference. So what is planned is what `diff` will be able to find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from assay.stats.answers_of_tasks import combined_error
from assay.stats.guarded import Spread, combined, guarded_power, harder_side, scaled
from assay.stats.mcnemar_power import mcnemar_power
from assay.stats.search import fewest, smallest
from assay.stats.task_means import quantile, tail


class Expected(Struct, frozen=True, kw_only=True):
    """What is expected of one task's pairs: how much two models differ on a sample, and how often they were tried."""

    samples: int
    """At hand."""
    variance: float
    """Of the difference of two single attempts at a sample; of right/wrong answers the share of pairs that differ."""
    noise: float = 0.0
    """The part of it that is another one at the next attempt, of both models together: repeats reduce it."""
    third: float = 0.0
    """The third central moment of the differences on a scale, each weighed by the samples in its group; 0 where they
    are as often on one side as on the other."""
    right_wrong: bool
    group: float = 1.0
    """Samples per group, where samples come in groups."""
    icc: float = 0.0
    """How much the differences of one group move together: from 0, not at all, to 1."""
    largest_difference: float | None
    """None for values without a scale."""
    factor: float = 1.0
    """How much the task counts in the mean of several, 1 on average."""


def power_of(
    tasks: Sequence[Expected],
    difference: float,
    *,
    samples: int | None = None,
    repeat: int = 1,
    level: float = 0.95,
    on_top: bool = False,
    easier: bool = False,
) -> float:
    """The chance that the test finds this true difference of the mean of the tasks.

    `samples` are those of all tasks together, in the proportions at hand. Right/wrong answers differ as often as
    expected whatever the difference is, or as often and the difference `on_top`. Where the differences are skewed, one
    side is harder to find: the chance is that of the harder one, unless `easier`.
    """
    sizes = _sizes(tasks, samples)
    alone = tasks[0] if len(tasks) == 1 else None
    if alone is not None and alone.right_wrong and alone.group == 1.0 and repeat == 1:
        flips = _flips(alone, difference, on_top=on_top)
        return mcnemar_power(difference, (flips - difference) / 2.0, max(1, round(sizes[0])), level)
    spreads = [_spread(task, size, difference, repeat, on_top=on_top) for task, size in zip(tasks, sizes, strict=True)]
    if any(task.largest_difference is None for task in tasks):
        error = math.sqrt(math.fsum(spread.second for spread in spreads)) / len(tasks)
        return _power_of_t(difference, error, math.fsum(spread.degrees for spread in spreads), level)
    answers = repeat == 1 and all(task.right_wrong and task.group == 1.0 for task in tasks)
    if alone is None and answers and len({task.factor for task in tasks}) == 1:
        return _power_of_t(difference, *combined_error(spreads, sizes), level)
    reach = max(task.factor * (task.largest_difference or 0.0) for task in tasks)
    whole = harder_side(spreads[0] if alone is not None else combined(spreads, reach))
    return guarded_power(replace(whole, third=-whole.third) if easier else whole, difference, reach, level)


def samples_needed(
    tasks: Sequence[Expected],
    difference: float,
    *,
    repeat: int = 1,
    level: float = 0.95,
    power: float = 0.8,
    on_top: bool = False,
) -> int | None:
    """The fewest samples, of all tasks together, that find this difference; None for one beyond the scale."""

    def enough(samples: int) -> bool:
        return power_of(tasks, difference, samples=samples, repeat=repeat, level=level, on_top=on_top) >= power

    if not 0.0 < difference < _largest(tasks, on_top=on_top):
        return None
    return fewest(enough, least=2 * len(tasks))


def smallest_difference(
    tasks: Sequence[Expected],
    *,
    samples: int | None = None,
    repeat: int = 1,
    level: float = 0.95,
    power: float = 0.8,
    on_top: bool = False,
) -> float | None:
    """The smallest true difference that these samples find with this power; None when they find none."""
    chance: Callable[[float], float] = partial(
        _power_at, tasks, samples=samples, repeat=repeat, level=level, on_top=on_top
    )
    return smallest(lambda difference: chance(difference) >= power, _largest(tasks, on_top=on_top))


def _power_at(
    tasks: Sequence[Expected], difference: float, *, samples: int | None, repeat: int, level: float, on_top: bool
) -> float:
    return power_of(tasks, difference, samples=samples, repeat=repeat, level=level, on_top=on_top)


def _sizes(tasks: Sequence[Expected], samples: int | None) -> list[float]:
    at_hand = sum(task.samples for task in tasks)
    factor = 1.0 if samples is None else samples / at_hand
    return [max(1.0, task.samples * factor) for task in tasks]


def _largest(tasks: Sequence[Expected], *, on_top: bool) -> float:
    """The largest difference that can be planned for: with values without a scale, one that any sample shows."""
    spread = math.sqrt(max(task.variance for task in tasks))
    ends = [spread * 1e3 if task.largest_difference is None else task.largest_difference for task in tasks]
    flips = max((task.variance for task in tasks if task.right_wrong), default=0.0) if on_top else 0.0
    return max(ends) - flips


def _flips(task: Expected, difference: float, *, on_top: bool) -> float:
    return min(1.0, task.variance + difference) if on_top else max(task.variance, difference)


def _spread(task: Expected, samples: float, difference: float, repeat: int, *, on_top: bool) -> Spread:
    """The spread that the mean difference of this many samples will have."""
    variance = _flips(task, difference, on_top=on_top) - difference**2 if task.right_wrong else task.variance
    each = max(variance - task.noise, 0.0) + min(task.noise, variance) / repeat
    units = samples / task.group
    spread = Spread(
        mean=difference,
        second=each * (1.0 + (task.group - 1.0) * task.icc) / samples,
        third=task.third / units**2,
        pad=1.0 / units,
        degrees=max(1.0, units - 1.0),
        units=int(units),
    )
    return scaled(spread, task.factor)


def _power_of_t(difference: float, error: float, degrees: float, level: float) -> float:
    if not error:
        return 1.0
    beyond = difference / error - quantile(0.5 + level / 2.0, degrees)
    return 1.0 - tail(beyond, degrees) if beyond >= 0.0 else tail(-beyond, degrees)
