"""Whether the numbers of a leaderboard file can belong together: a file from somebody else is checked before it is
believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import UsageError
from assay.results.board.board_types import Leaderboard, TaskRow, read_leaderboard_file
from assay.results.board.overall import overall_score
from assay.text.numbers import number

_ROUNDING = 1e-9
_SHARES_OF_RIGHT = "wilson"
"""The interval of right/wrong answers: there the score is the share of the right ones."""


def read_checked_board(path: Path | str) -> Leaderboard:
    """A leaderboard from its file. Raises for the first contradiction: a score outside its interval, a share that is
    not correct ÷ scored, an overall score that is not the mean of its tasks.
    """
    board = read_leaderboard_file(path)
    for problem in _contradictions(board):
        raise UsageError(f"{path}: {problem}; the file was changed by hand, or is broken")
    return board


def _contradictions(board: Leaderboard) -> Iterator[str]:
    for row in board.tasks:
        yield from _of_task(row)
    expected = overall_score(board.tasks)[0]
    given = board.overall_score
    if (given is None) != (expected is None) or (
        given is not None and expected is not None and not _same(given, expected)
    ):
        yield f"`overall_score` is {number(given)}, and the mean of its tasks is {number(expected)}"
    if given is not None and board.overall_interval is not None:
        ends = board.overall_interval
        if not ends.low - _ROUNDING <= given <= ends.high + _ROUNDING:
            yield f"`overall_score` is {number(given)}, outside its interval {number(ends.low)} – {number(ends.high)}"


def _of_task(row: TaskRow) -> Iterator[str]:
    score, interval = row.score, row.interval
    if score is None:
        return
    if interval is not None and not interval.low - _ROUNDING <= score <= interval.high + _ROUNDING:
        ends = f"{number(interval.low)} – {number(interval.high)}"
        yield f"task `{row.task}`: `score` is {number(score)}, outside its interval {ends}"
    share = row.correct / row.scored if row.correct is not None and row.scored else None
    if share is not None and interval is not None and interval.method == _SHARES_OF_RIGHT:
        right = 1.0 - share if row.lower_is_better else share
        if not _same(score, right):
            yield f"task `{row.task}`: `score` is {number(score)}, and {row.correct:,} of {row.scored:,} are correct"
    headline = next((aggregate for aggregate in row.aggregates if aggregate.value is not None), None)
    if headline is not None and headline is row.aggregates[0] and not _same(score, headline.value or 0.0):
        yield f"task `{row.task}`: `score` is {number(score)}, and its first aggregate {number(headline.value)}"


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
