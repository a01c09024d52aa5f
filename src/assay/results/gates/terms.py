"""What a name in a gate refers to: its value, and its bounds given the failed attempts.

A score has two ends: if every attempt that failed, remains or was left out by `--limit` had been wrong, and if every
one had been right. What remains or was left out may still fail, take time, tokens and money, and cover more or less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from msgspec import Struct

from assay.core.types import Bounds, Summary
from assay.costs.spending import Cost, no_price, total_cost
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.board.overall import (
    bounds_of,
    coverage_of,
    failed_attempts,
    least_coverage,
    open_attempts,
    overall_bounds,
    overall_rows,
    shares_of,
)
from assay.results.gates.unknown import Unknown

OVERALL = ("overall", "overall.low", "overall.high")

MEASURED: dict[str, Callable[[Leaderboard], float | None]] = {
    "failed": lambda board: board.failed + board.timeouts,
    "timeouts": lambda board: board.timeouts,
    "remaining": lambda board: sum(row.remaining for row in board.tasks),
    "weak": lambda board: _sum_of_known(row.weak_passes for row in board.tasks),
    "coverage": lambda board: min(map(least_coverage, board.tasks), default=None),
    "tokens": lambda board: sum(row.tokens_in + row.tokens_out for row in board.tasks),
    "cost": lambda board: board.cost.amount if board.cost else None,
    "judge_cost": lambda board: board.judge_cost.amount if board.judge_cost else 0.0,
    "total_cost": lambda board: _sum_of_costs([board.cost, board.judge_cost]),
}

MEASURED_OF_TASK: dict[str, Callable[[TaskRow], float | None]] = {
    "coverage": least_coverage,
    "failed": lambda row: row.failed + row.timeouts,
    "timeouts": lambda row: row.timeouts,
    "weak": lambda row: row.weak_passes,
    "tokens": lambda row: row.tokens_in + row.tokens_out,
    "cost": lambda row: row.cost.amount if row.cost else None,
    "judge_cost": lambda row: row.judge_cost.amount if row.judge_cost else 0.0,
    "p50": lambda row: row.latency.p50 if row.latency else None,
    "p95": lambda row: row.latency.p95 if row.latency else None,
}

FAILURES = ("failed", "timeouts")
LATENCIES = ("p50", "p95")
COVERAGE, REMAINING = "coverage", "remaining"

OF_RUN = (*OVERALL, *MEASURED)
"""The names of all numbers of the whole run."""
OF_THE_RUN = "run."
"""The prefix of such a name where a task has the same."""
INTERVALS = ("low", "high")
CALIBRATION = "ece"
OF_AGGREGATE = ".coverage"
"""After the name of an aggregate: the share of attempts that it is over."""

Ends = tuple[float, float]
"""A number if every failed attempt had been wrong, and if every one had been right."""


class TermValue(Struct, frozen=True, kw_only=True):
    """A name, looked up in a result."""

    value: float | None
    reason: str | None = None
    """Why there is no value."""
    ends: Mapping[str, Ends] | None = None
    """By task, what its failed attempts contribute, with what is certain under "": they add up to the value's ends.
    None when the failed attempts could have made it anything."""
    failed: Mapping[str, int] = {}
    """By task, the attempts that make it uncertain: failed, not yet made, or left out."""
    unknown: Unknown = Unknown()
    """Which of these there are."""
    so_far: bool = False
    """Whether it only grows: what is not yet made adds to it."""


class Meaning(NamedTuple):
    """What a name stands for: a number of the whole run, or a task's."""

    task: str | None
    """None: of the whole run."""
    aspect: str
    """The number of the run, or of the task; "" for the task's score."""

    @property
    def is_score(self) -> bool:
        """Whether it is computed from scores, rather than a count, a time or a cost."""
        measured = MEASURED if self.task is None else MEASURED_OF_TASK
        return self.aspect not in measured and not self.aspect.endswith(OF_AGGREGATE)


def meanings(name: str, tasks: Iterable[str], *, quoted: bool = False) -> list[Meaning]:
    """What the name may refer to: nothing when it is unknown, two things when a task has the name of a number of the
    run and neither backticks nor `run.` say which is meant.
    """
    known = list(tasks)
    matches = [Meaning(name, "")] if name in known else []
    task = max((item for item in known if name.startswith(item + ".")), key=len, default=None)
    if not matches and task is not None:
        matches = [Meaning(task, name[len(task) + 1 :])]
    if not quoted and name in OF_RUN:
        matches.append(Meaning(None, name))
    elif not quoted and not matches and name.removeprefix(OF_THE_RUN) in OF_RUN:
        matches.append(Meaning(None, name.removeprefix(OF_THE_RUN)))
    return matches


def read(board: Leaderboard | None, name: str, *, quoted: bool = False) -> TermValue:
    """What the name refers to in a result."""
    if board is None:
        return TermValue(value=None)
    rows = {row.task: row for row in board.tasks}
    matches = meanings(name, rows, quoted=quoted)
    if not matches:
        return TermValue(value=None)
    task, aspect = matches[-1]
    if task is not None:
        return _of_task(rows[task], aspect) if aspect else _score(rows[task])
    if aspect in OVERALL:
        return _overall(board, aspect)
    if aspect in FAILURES:
        return _counted(board.tasks, MEASURED[aspect](board) or 0.0)
    return _measured(board.tasks, aspect, MEASURED[aspect](board), _why_unmeasured(board, aspect))


def _score(row: TaskRow) -> TermValue:
    if row.left_out:
        ends = None if row.whole_bounds is None else _turned(row, row.whole_bounds)
        return _bounded(row, row.score, ends)
    return _bounded(row, row.score, None if row.bounds is None else _turned(row, (row.bounds.low, row.bounds.high)))


def _turned(row: TaskRow, ends: Ends) -> Ends:
    """Wrong first, and then right."""
    return ends[::-1] if row.lower_is_better else ends


def _of_task(row: TaskRow, aspect: str) -> TermValue:
    if aspect in FAILURES:
        return _counted([row], MEASURED_OF_TASK[aspect](row) or 0.0)
    if aspect in MEASURED_OF_TASK:
        reason = "no outcome of it was graded" if aspect == "weak" else None
        return _measured([row], aspect, MEASURED_OF_TASK[aspect](row), reason)
    bounds = None if row.left_out else row.bounds
    if aspect in INTERVALS:
        value = None if row.interval is None else getattr(row.interval, aspect)
        return _bounded(row, value, None if bounds is None else _interval_ends(bounds, aspect))
    if aspect == CALIBRATION:
        value = row.calibration.expected_error.value if row.calibration else None
        return _bounded(row, value, None)
    summaries = {repetition.name: repetition for repetition in [*row.repetitions, *row.aggregates]}
    if aspect in summaries:
        return _summary(row, summaries[aspect])
    covered = summaries.get(aspect.removesuffix(OF_AGGREGATE))
    share = None if covered is None else coverage_of(row, covered.failed + covered.timeouts)
    return _measured([row], COVERAGE, share)


def _summary(row: TaskRow, summary: Summary) -> TermValue:
    bounds = None if row.left_out else summary.bounds
    ends = None if bounds is None else (bounds.low, bounds.high)
    value = _bounded(row, summary.value, ends, failed=summary.failed + summary.timeouts)
    return value if value.value is not None else TermValue(value=None, reason=summary.reason)


def _bounded(row: TaskRow, value: float | None, ends: Ends | None, *, failed: int | None = None) -> TermValue:
    count = (failed_attempts(row) if failed is None else failed) + _not_made(row)
    if value is None or not count:
        return _certain(value, row.refused or row.reason)
    own = None if ends is None else {row.task: ends}
    return TermValue(value=value, ends=own, failed={row.task: count}, unknown=Unknown.of(row))


def _counted(rows: Sequence[TaskRow], value: float) -> TermValue:
    """A number of failures, to which each attempt that is not yet made may add one."""
    more = {row.task: (float(_not_made(row)), 0.0) for row in rows if _not_made(row)}
    return _not_yet(rows, value, {"": (value, value), **more})


def _measured(rows: Sequence[TaskRow], aspect: str, value: float | None, reason: str | None = None) -> TermValue:
    """Coverage, a time, or what only grows, with what is not yet made."""
    if value is None or aspect == REMAINING or not any(map(_not_made, rows)):
        return _certain(value, reason)
    if aspect in LATENCIES:
        return _not_yet(rows, value, None)
    if aspect == COVERAGE:
        ends = [_coverage_ends(row, value) for row in rows]
        return _not_yet(rows, value, {"": (min(low for low, _ in ends), max(high for _, high in ends))})
    return _not_yet(rows, value, {"": (value, math.inf)}, so_far=True)


def _coverage_ends(row: TaskRow, coverage: float) -> Ends:
    """The coverage of all samples of the task if none of what is not yet made were scored, or all of it."""
    planned = row.total - row.excluded
    whole = planned + row.left_out
    covered = coverage * planned
    return (covered / whole, min(1.0, (covered + _not_made(row)) / whole)) if whole else (0.0, 1.0)


def _not_yet(
    rows: Sequence[TaskRow], value: float, ends: Mapping[str, Ends] | None, *, so_far: bool = False
) -> TermValue:
    return TermValue(
        value=value,
        ends=ends,
        failed={row.task: _not_made(row) for row in rows if _not_made(row)},
        unknown=_unknown(rows),
        so_far=so_far,
    )


def _unknown(rows: Sequence[TaskRow]) -> Unknown:
    return reduce(Unknown.or_of, map(Unknown.of, rows), Unknown())


def _not_made(row: TaskRow) -> int:
    return row.remaining + row.left_out


def _overall(board: Leaderboard, name: str) -> TermValue:
    """With ends task by task, so that a task named in the same gate is wrong or right in both places."""
    rows = overall_rows(board.tasks)
    failed = {row.task: count for row in rows if (count := open_attempts(row) + row.left_out)}
    value = board.overall_score
    if name != "overall":
        interval = board.overall_interval
        value = None if interval is None else interval.low if name == "overall.low" else interval.high
    if value is None or not failed:
        return _certain(value, board.overall_reason)
    ends = _ends_by_task(rows) if name == "overall" else _ends_of_interval(board, rows, name.removeprefix("overall."))
    return TermValue(value=value, ends=ends, failed=failed, unknown=_unknown(rows))


def _ends_by_task(rows: Sequence[TaskRow]) -> Mapping[str, Ends] | None:
    ends: dict[str, Ends] = {}
    for row, share in zip(rows, shares_of(rows), strict=True):
        bounds = bounds_of(row)
        pair = row.whole_bounds if row.left_out else None if bounds is None else (bounds.low, bounds.high)
        if pair is None:
            return None
        ends[row.task] = pair[0] * share, pair[1] * share
    return ends


def _ends_of_interval(board: Leaderboard, rows: Sequence[TaskRow], which: str) -> Mapping[str, Ends] | None:
    bounds = None if any(row.left_out for row in rows) else overall_bounds(board.tasks, board.level)
    pair = None if bounds is None else _interval_ends(bounds, which)
    return None if pair is None else {"(overall)": pair}


def _interval_ends(bounds: Bounds, which: str) -> Ends | None:
    """The low or the high end of the interval, at both ends of the bounds."""
    if bounds.low_interval is None or bounds.high_interval is None:
        return None
    at = 0 if which == "low" else 1
    return bounds.low_interval[at], bounds.high_interval[at]


def _certain(value: float | None, reason: str | None = None) -> TermValue:
    return TermValue(value=value, reason=reason) if value is None else TermValue(value=value, ends={"": (value, value)})


def _why_unmeasured(board: Leaderboard, name: str) -> str | None:
    reason = "no outcome was graded" if name == "weak" else None
    if name in ("cost", "total_cost"):
        reason = no_price([board.adapter]) if board.cost is None else board.cost.reason
    if name in ("judge_cost", "total_cost") and board.judge_cost is not None:
        reason = board.judge_cost.reason or reason
    return reason


def _sum_of_known(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sum_of_costs(costs: Sequence[Cost | None]) -> float | None:
    total = total_cost(costs)
    return None if total is None else total.amount
