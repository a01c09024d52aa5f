"""The overall score: the mean of the task scores, each with the weight of its task, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from assay.core.describe import Range
from assay.core.types import Bounds, Summary
from assay.results.board.board_types import Leaderboard, ScoreInterval, TaskRow
from assay.stats.combined_means import TaskScore, combined_mean_interval


def overall_score(rows: Sequence[TaskRow]) -> tuple[float | None, str | None]:
    """The mean, with a note on tasks left out, or None with the reason.

    A task without a score leaves no overall score; a refused one is left out.
    """
    chosen = overall_rows(rows)
    included = [row for row in chosen if row.refused is None]
    tried = [row for row in rows if row.refused is None]
    if not included:
        return None, _why_none(tried)
    missing = [row for row in included if row.score is None]
    if missing:
        reason = "there is no score of" if any(row.scored for row in missing) else "no sample was scored in"
        return None, f"{reason} {', '.join(row.task for row in missing)}"
    left_out = {"refused": [row.task for row in rows if row.refused is not None]}
    for row in tried:
        if row not in chosen:
            left_out.setdefault(_why_not(row, chosen), []).append(row.task)
    omitted = "; ".join(f"{why}: {', '.join(tasks)}" for why, tasks in left_out.items() if tasks)
    note = f"over {len(included)} of {len(rows)} tasks; {omitted}" if omitted else None
    return _mean(included), note


def _mean(rows: Sequence[TaskRow]) -> float:
    """The mean of scores that are there; a sum of shares, so that equal weights give what they always did."""
    if not is_weighted(rows):
        return sum((row.score or 0.0) / len(rows) for row in rows)
    return math.fsum(share * (row.score or 0.0) for share, row in zip(shares_of(rows), rows, strict=True))


def is_weighted(rows: Sequence[TaskRow]) -> bool:
    """Whether tasks count differently."""
    return len({row.weight for row in rows}) > 1


def factors_of(boards: Sequence[Leaderboard], tasks: Sequence[str]) -> list[float]:
    """How much each task counts in the mean of these, 1 on average; 1 each where the results weigh them differently."""
    weights = [[row.weight for task in tasks for row in board.tasks if row.task == task] for board in boards]
    alike = all(known == weights[0] for known in weights) and len(weights[0]) == len(tasks)
    total = math.fsum(weights[0])
    return [weight * len(tasks) / total for weight in weights[0]] if alike and total > 0.0 else [1.0] * len(tasks)


def shares_of(rows: Sequence[TaskRow]) -> list[float]:
    total = math.fsum(row.weight for row in rows)
    return [row.weight / total for row in rows]


def overall_rows(rows: Sequence[TaskRow]) -> list[TaskRow]:
    """The tasks that count in the overall score, or would if they could be run here."""
    unknown = {row.task for row in rows if _is_unknown(row)}
    known = [row for row in rows if row.has_score and row.task not in unknown]
    chosen = of_one_scale({row.task: (row.lower_is_better, row.range) for row in known})
    return [row for row in rows if row.task in chosen or row.task in unknown]


def _is_unknown(row: TaskRow) -> bool:
    """Whether only its scores, of which there are none yet, would tell the task's scale."""
    is_open = row.has_score and row.score is None and row.refused is None and not row.scored
    return is_open and row.range is None and row.lower_is_better is False


def of_one_scale(numbers: Mapping[str, tuple[bool | None, Range | None]]) -> set[str]:
    """The names of the numbers that may be averaged, from the direction and the range of each.

    Those where higher is better, on one scale: scores from 0 to 1 where there are some, else the only scale there is.
    A number alone is its own mean, whatever its scale.
    """
    rising = {name: within for name, (lower, within) in numbers.items() if lower is False}
    if len(numbers) == 1:
        return set(rising)
    scales = {within for within in rising.values() if within is not None}
    scale = (0.0, 1.0) if (0.0, 1.0) in scales else scales.pop() if len(scales) == 1 else None
    return set() if scale is None else {name for name, within in rising.items() if within == scale}


def _why_none(tried: Sequence[TaskRow]) -> str:
    if not tried:
        return "no task could be run"
    scored = [row for row in tried if row.has_score]
    if not scored:
        return "none of its tasks has a score"
    reasons = dict.fromkeys(_why_not(row, []) for row in scored)
    return f"its tasks have no scale in common: {', '.join(reasons)}" if len(scored) > 1 else next(iter(reasons))


def _why_not(row: TaskRow, chosen: Sequence[TaskRow]) -> str:
    """Why a task is left out of the overall score."""
    if not row.has_score:
        return "without a score"
    if row.lower_is_better is not False:
        return "lower is better" if row.lower_is_better else "neither a higher nor a lower score is better"
    if row.range is None:
        return "of no known scale"
    return f"from {row.range[0]:g} to {row.range[1]:g}"


def overall_interval(rows: Sequence[TaskRow], overall: float | None, level: float) -> ScoreInterval | None:
    """The interval of the mean over tasks; None when there is no mean, or one of the tasks has no interval."""
    included = [row for row in overall_rows(rows) if row.refused is None]
    return None if overall is None or not included else interval_of_tasks(included, level)


def overall_bounds(rows: Sequence[TaskRow], level: float) -> Bounds | None:
    """The overall score if every failed or remaining attempt had been wrong, and if every one had been right.

    None where there are no such attempts, or where a task has some and no bounds.
    """
    included = overall_rows(rows)
    bounds = [each for row in included if (each := bounds_of(row)) is not None]
    if not any(map(open_attempts, included)) or len(bounds) < len(included):
        return None
    wrong = [_with(row, each.low, each.low_interval, level) for row, each in zip(included, bounds, strict=True)]
    right = [_with(row, each.high, each.high_interval, level) for row, each in zip(included, bounds, strict=True)]
    low, high = _mean(wrong), _mean(right)
    ends = overall_interval(wrong, low, level), overall_interval(right, high, level)
    low_interval, high_interval = (None if end is None else (end.low, end.high) for end in ends)
    return Bounds(low=low, high=high, low_interval=low_interval, high_interval=high_interval)


def shown_bounds(row: TaskRow) -> Bounds | None:
    """What the score lies between, over all samples of its task where some were left out, given its open attempts."""
    if not row.left_out:
        return bounds_of(row)
    return None if row.whole_bounds is None else Bounds(low=row.whole_bounds[0], high=row.whole_bounds[1])


def overall_between(rows: Sequence[TaskRow], bounds: Mapping[str, Bounds]) -> Bounds | None:
    """The ends of the overall score, from those of its tasks; None where nothing is open, or a task has none."""
    counted = overall_rows(rows)
    if not any(open_attempts(row) or row.left_out for row in counted) or any(row.task not in bounds for row in counted):
        return None
    shares = shares_of(counted)
    low, high = (
        math.fsum(share * getattr(bounds[row.task], end) for share, row in zip(shares, counted, strict=True))
        for end in ("low", "high")
    )
    return Bounds(low=low, high=high)


def bounds_of(row: TaskRow) -> Bounds | None:
    """The task's score if its open attempts had been wrong, or right; all attempts of a refused task failed."""
    if row.refused is not None:
        return Bounds(low=0.0, high=1.0)
    if row.score is None or open_attempts(row):
        return row.bounds
    ends = None if row.interval is None else (row.interval.low, row.interval.high)
    return Bounds(low=row.score, high=row.score, low_interval=ends, high_interval=ends)


def failed_attempts(row: TaskRow) -> int:
    """Attempts that the task's score lacks because they failed."""
    first = row.aggregates[0] if row.aggregates else row
    return first.failed + first.timeouts


def open_attempts(row: TaskRow) -> int:
    """Attempts that could have scored anything: they failed, or are not yet made."""
    return failed_attempts(row) + row.remaining


def coverage_of(row: TaskRow, lacking: int) -> float:
    """The share of the planned attempts that a number is over when it lacks so many that failed."""
    planned = row.total - row.excluded
    return (planned - row.remaining - lacking) / planned if planned else 0.0


def least_coverage(row: TaskRow) -> float:
    """The coverage of the number, or the scorer, that lacks the most attempts."""
    lacking = [aggregate.failed + aggregate.timeouts for aggregate in row.aggregates]
    return min([row.coverage, *(coverage_of(row, score) for score in [*lacking, *row.missing_scores.values()])])


def _with(row: TaskRow, score: float, ends: tuple[float, float] | None, level: float) -> TaskRow:
    """The row with a score at one end of its bounds, without aggregates: those are of what was measured."""
    method = row.interval.method if row.interval is not None else ""
    interval = None if ends is None else ScoreInterval(low=ends[0], high=ends[1], level=level, method=method)
    return replace(
        row, refused=None, score=score, interval=interval, aggregates=[], scored=row.scored + open_attempts(row)
    )


def interval_of_tasks(rows: list[TaskRow], level: float) -> ScoreInterval | None:
    """The interval of the mean over these tasks, such as those of a category."""
    if len(rows) == 1:
        return rows[0].interval
    scores = [score for row in rows if (score := _task_score(row)) is not None]
    if len(scores) < len(rows):
        return None
    return combined_interval(scores, level, shares_of(rows) if is_weighted(rows) else None)


def combined_interval(
    scores: Sequence[TaskScore], level: float, shares: Sequence[float] | None = None
) -> ScoreInterval | None:
    """The interval of the mean over tasks, each with the same weight or with its share."""
    interval = combined_mean_interval(scores, level, shares)
    if interval.low is None or interval.high is None:
        return None
    return ScoreInterval(low=interval.low, high=interval.high, level=level, method=interval.method)


def _task_score(row: TaskRow) -> TaskScore | None:
    """The row's score with the standard error of its aggregate."""
    if row.score is None or row.interval is None:
        return None
    headline = row.aggregates[0] if row.aggregates else Summary(name="", value=row.score, scored=row.scored)
    details = headline.details or {}
    units = int(details.get("clusters") or headline.scored)
    interval = row.interval
    return TaskScore(
        row.score, interval.low, interval.high, interval.level, interval.method, units, details.get("standard_error")
    )
