"""Limits that several workers use up together, lent out in pieces: what is lent never adds up to more than there is.

A worker that has used half of its last piece gets another; what it leaves unused comes back when it is done. What a
lost worker had left counts as used, since that cannot be known.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Struct

from assay.run_config import RunConfig

SMALLEST_PIECE = 0.02
"""Of the limit. With less than this left nothing more is lent: the last answers in flight would overdraw it."""


class Leases:
    """One limit and who holds how much of it. Without a limit there is nothing to lend and nothing runs out."""

    def __init__(self, limit: float | None, used: float = 0.0) -> None:
        self._limit = limit
        self._left = (limit or 0.0) - used
        self._lent: dict[int, float] = {}
        self._piece: dict[int, float] = {}

    @property
    def used_up(self) -> bool:
        return self._limit is not None and self._left < SMALLEST_PIECE * self._limit

    def lend(self, worker: int, used: float, workers: int) -> float | None:
        """All that the worker may have used in the end, as far as it knows until it asks again."""
        if self._limit is None:
            return None
        lent = self._lent.setdefault(worker, 0.0)
        if not self.used_up and lent - used <= self._piece.get(worker, 0.0) / 2:
            piece = min(self._left, max(self._left / (2 * max(workers, 1)), SMALLEST_PIECE * self._limit))
            self._left -= piece
            self._piece[worker] = piece
            self._lent[worker] = lent = lent + piece
        return lent

    def give_back(self, worker: int, used: float) -> None:
        """What the worker holds and has not used; one that used more than it was lent has no more to give."""
        if self._limit is not None and worker in self._lent:
            self._left += self._lent[worker] - used
            self._lent[worker] = used
            self._piece[worker] = 0.0


class WorkerReport(NamedTuple):
    """What a worker has done since it began."""

    made: int = 0
    failed: int = 0
    tokens: float = 0
    money: float = 0.0
    messages: tuple[str, ...] = ()
    """Messages for the user since the last report."""


class Terms(Struct, frozen=True, kw_only=True):
    """What a worker may use from now on."""

    share: float
    """Its share of the run's requests and tokens per minute."""
    budget_tokens: float | None
    """In all, since the worker began; the driver raises it as long as the run's budget lasts."""
    budget_cost: float | None


class Lending:
    """What the driver has to lend: the limits a minute in equal shares, the budget in pieces."""

    def __init__(self, config: RunConfig, tokens_used: float, money_used: float) -> None:
        self._tokens = Leases(config.budget_tokens, tokens_used)
        self._money = Leases(config.budget_cost, money_used)

    def terms(self, worker: int, report: WorkerReport, working: int) -> bytes:
        return msgspec.json.encode(
            Terms(
                share=1 / max(working, 1),
                budget_tokens=self._tokens.lend(worker, report.tokens, working),
                budget_cost=self._money.lend(worker, report.money, working),
            )
        )

    def give_back(self, worker: int, report: WorkerReport) -> None:
        self._tokens.give_back(worker, report.tokens)
        self._money.give_back(worker, report.money)

    def used_up(self) -> str | None:
        """Why nothing new may be begun."""
        for leases, flag in ((self._tokens, "--budget-tokens"), (self._money, "--budget-cost")):
            if leases.used_up:
                return f"the budget of the run ({flag}) is used up"
        return None
