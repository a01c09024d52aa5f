"""What a run would take and cost, before it is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct


class JudgeEstimate(Struct, frozen=True, kw_only=True):
    """The requests to one judge, as far as they can be known before there are answers."""

    model: str
    requests: int
    tokens_in: int
    least_cost: float | None
    """Of the prompts alone; what a judge will say is not known."""


class TaskEstimate(Struct, frozen=True, kw_only=True):
    """One task, before it is run."""

    task: str
    attempts: int
    remaining: int
    """Attempts that an earlier session has not finished."""
    requests: int
    tokens_in: int
    tokens_out: int
    most_tokens_out: int | None
    """When every answer is as long as allowed; None when nothing limits it."""
    cost: float | None
    most_cost: float | None
    currency: str
    exact: bool
    """Whether every sample's prompt was counted."""
    judges: list[JudgeEstimate] = []
    not_rendered: int = 0
    """Samples without a request or a judgement, because a template fails on their row."""
    first_fault: str | None = None


class RunEstimate(Struct, frozen=True, kw_only=True):
    """A run, before it is made."""

    model: str
    label: str
    """What tables call the model, with the prompt of a run file that has several."""
    tasks: list[TaskEstimate]
    notes: list[str]
    unbilled: tuple[str, ...] = ()
    """The models that no vendor bills: those without a price cost no money."""

    def is_billed(self, model: str) -> bool:
        return model not in self.unbilled


class RoundCost(Struct, frozen=True, kw_only=True):
    """What one round takes, an attempt at each sample of a task, of all models together."""

    requests: float
    tokens: float | None
    """None where nothing is known of them."""
    amount: float | None
    currency: str = "USD"
    reason: str | None = None
    """Why the amount is unknown."""
    assumes: str | None = None
    """How tokens were counted, where they are an estimate."""


class PlannedCost(Struct, frozen=True, kw_only=True):
    """What several rounds take."""

    requests: int
    tokens: int | None
    amount: float | None


def rounds(costs: Sequence[RoundCost], times: float) -> PlannedCost:
    """So many rounds of all tasks; unknown as soon as one task's are."""
    tokens, amounts = [cost.tokens for cost in costs], [cost.amount for cost in costs]
    return PlannedCost(
        requests=round(times * sum(cost.requests for cost in costs)),
        tokens=None if None in tokens else round(times * math.fsum(token or 0.0 for token in tokens)),
        amount=None if None in amounts else times * math.fsum(amount or 0.0 for amount in amounts),
    )
