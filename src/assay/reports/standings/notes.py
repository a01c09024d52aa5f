"""The notes of the results of a ranking, each once."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.board.cost_notes import price_notes
from assay.reports.diff.columns import Side


def notes_of(sides: Sequence[Side]) -> list[str]:
    """The notices of the results' leaderboards, which prices they use, and why a cost is unknown."""
    boards = [side.board for side in sides]
    notices = dict.fromkeys(notice for board in boards for notice in board.notices)
    # every model has a cell for its cost here
    unknown = [board.cost for board in boards if board.cost is not None and board.cost.amount is None]
    return [*notices, *price_notes(boards, unknown)]
