"""What the exit code says of a run: one rule for `run`, `merge` and `rescore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.cli.main import DONE, WITH_FAILURES

if TYPE_CHECKING:
    from assay.reports.board import Leaderboard, TaskRow


def exit_code_of(board: Leaderboard) -> int:
    """0 only when every attempt was made and none failed, and every task has at least one that was scored."""
    whole = bool(board.tasks) and all(row.complete and row.scored for row in board.tasks)
    return DONE if whole else WITH_FAILURES


def why_without_score(board: Leaderboard) -> str | None:
    """A sentence on the tasks that came to nothing: those that could not be run here, and those without a score."""
    told = [sentence for row in board.tasks if (sentence := _came_to_nothing(row)) is not None]
    return f"measured nothing: {'; '.join(told)}" if told else None


def _came_to_nothing(row: TaskRow) -> str | None:
    if row.refused is not None:
        return f"{row.task} could not be run on this machine (the reason stands above)"
    if row.scored or row.owed:
        return None
    return f"{row.task} has no scored attempt ({_counts(row)})"


def _counts(row: TaskRow) -> str:
    counts = {
        "failed": row.failed + row.timeouts,
        "excluded by the task's own rules": row.excluded,
        "without a value for its score": row.unscored,
    }
    told = [f"{count:,} of {row.total:,} {word}" for word, count in counts.items() if count]
    return ", ".join(told) or "it has no samples"
