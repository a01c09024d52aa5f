"""The notes of the results of a ranking, each once."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.board.cost_notes import price_notes
from assay.reports.diff.columns import Side


def notes_of(sides: Sequence[Side]) -> list[str]:
    return [*_notices(sides), *_cost_notes(sides)]


def _notices(sides: Sequence[Side]) -> list[str]:
    """The notes of the results' own leaderboards, each once."""
    return list(dict.fromkeys(notice for side in sides for notice in side.board.notices))


def _cost_notes(sides: Sequence[Side]) -> list[str]:
    """Which prices, and why a cost is unknown: here every model has a cell for its cost."""
    unknown = [side.board.cost for side in sides if side.board.cost is not None and side.board.cost.amount is None]
    return price_notes([side.board for side in sides], unknown)
