"""Attempts without a score, in the words of gates: they failed, are not yet made, or were left out by the user."""

from __future__ import annotations

from typing import NamedTuple

from assay.results.board.board_types import TaskRow

RETRY = "rerun the same `assay run` command to retry them"
RUN_ALL = "run all samples, or judge those that were run alone: --gate-left-out ignore"


class Unknown(NamedTuple):
    """Whether some attempts without a score have not failed."""

    remains: bool = False
    left_out: bool = False

    @staticmethod
    def of(row: TaskRow) -> Unknown:
        return Unknown(row.remaining > 0, row.left_out > 0)

    def or_of(self, other: Unknown) -> Unknown:
        return Unknown(self.remains or other.remains, self.left_out or other.left_out)

    @property
    def happened(self) -> str:
        return _listed("failed", "are not yet made" * self.remains, "were left out" * self.left_out)

    @property
    def kind(self) -> str:
        return _listed("failed", "remaining" * self.remains, "left-out" * self.left_out)

    @property
    def remedy(self) -> str:
        return RUN_ALL if self.left_out else RETRY


def _listed(*words: str) -> str:
    *others, last = filter(None, words)
    return f"{', '.join(others)} or {last}" if others else last
