"""What the exit status says of a run: one rule for the commands `run`, `merge` and `rescore`, and for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.text.wording import few

if TYPE_CHECKING:
    from assay.results.board.board_types import Leaderboard, TaskRow

DONE, GATE_NOT_MET, BAD_INPUT, WITH_FAILURES, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 3, 130, 141


def exit_status_of(board: Leaderboard) -> int:
    """0 only when every attempt was made and none failed, and every task has what it measures."""
    whole = bool(board.tasks) and all(row.complete and row.scored and _has_result(row) for row in board.tasks)
    return DONE if whole else WITH_FAILURES


def _has_result(row: TaskRow) -> bool:
    """Whether a task has its score; one that only lists the shares of labels has those."""
    if row.score is not None:
        return True
    return not row.has_score and any(aggregate.value is not None for aggregate in row.aggregates)


def why_without_score(board: Leaderboard) -> str | None:
    """A sentence on the tasks without a result: those that could not be run here, and those without a score."""
    refused = [row for row in board.tasks if row.refused is not None]
    nothing: dict[tuple[str, ...], list[TaskRow]] = {}
    for row in board.tasks:
        if row.refused is None and not row.scored and not row.remaining:
            nothing.setdefault(tuple(_counts([row])), []).append(row)
    scored = any(row.scored for row in board.tasks)
    if len(board.tasks) > 1 and not scored and all(0 < row.total == row.failed + row.timeouts for row in board.tasks):
        return "no result: every attempt failed"
    reasons = [f"{_names(rows)} no scored attempt ({_why(rows)})" for rows in nothing.values()]
    reasons += [f"{row.task} could not be run on this machine (see the reason above)" for row in refused]
    return f"no result: {'; '.join(reasons)}" if reasons else None


def _names(rows: list[TaskRow]) -> str:
    return f"{rows[0].task} has" if len(rows) == 1 else f"{few([row.task for row in rows])} have"


def _why(rows: list[TaskRow]) -> str:
    total = sum(row.total for row in rows)
    return ", ".join(f"{count:,} of {total:,} {word}" for word, count in _counts(rows).items()) or "without samples"


def _counts(rows: list[TaskRow]) -> dict[str, int]:
    """How many attempts have no score, by reason; reasons without any are left out."""
    counts = {
        "failed": sum(row.failed + row.timeouts for row in rows),
        "excluded by the task's own rules": sum(row.excluded for row in rows),
        "without a value for its score": sum(row.unscored for row in rows),
    }
    return {word: count for word, count in counts.items() if count}
