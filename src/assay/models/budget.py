"""A budget: how many tokens, or how much money, a run may use in all. When it is used up, nothing new is begun.

What is in flight is finished and kept, so a run can overshoot by that much; the next one to be begun is held back as
soon as what was spent, and what the answers in flight are likely to add, would reach the limit.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.core.model_stack import Wrapper
from assay.core.run import Stop
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.core.usage import about_tokens, note

Price = Callable[[int, int, int], float]
"""(tokens in, tokens out, tokens in that the server had cached) -> money."""


class Budget:
    """What may be spent, what was spent, and the sentence that ends the run."""

    def __init__(
        self,
        stop: Stop,
        *,
        max_tokens: float | None = None,
        max_cost: float | None = None,
        currency: str = "USD",
    ) -> None:
        self.stop = stop
        """What to end when the budget is used up; a worker has another one for each of its shards."""
        self._max_tokens = max_tokens
        self._max_cost = max_cost
        self._currency = currency
        self.tokens = 0
        self.cost = 0.0
        self._in_flight = 0
        self._answers: dict[str, int] = {}
        self._answers_before = 0

    def already(self, tokens: int, cost: float, answers: int) -> None:
        """What earlier sessions of the same run used, and for how many answers of the model that was asked most.

        What is left is used up when it is not enough for one answer more.
        """
        self.tokens, self.cost, self._answers_before = tokens, cost, answers
        self._check(likely_answers=1)

    def allow(self, max_tokens: float | None, max_cost: float | None) -> None:
        """Another height from now on: a worker is lent a run's budget in pieces."""
        self._max_tokens, self._max_cost = max_tokens, max_cost

    def begin(self) -> None:
        self._in_flight += 1
        self._check(likely_answers=self._in_flight)

    def end(self, model: str, request: Request, completion: Completion | None, price: Price | None) -> None:
        self._in_flight -= 1
        if completion is not None and not completion.cached:
            tokens_in, tokens_out = counted(request, completion)
            self.tokens += tokens_in + tokens_out
            if price is not None:
                self.cost += price(tokens_in, tokens_out, completion.tokens_cached or 0)
            self._answers[model] = self._answers.get(model, 0) + 1
        self._check(likely_answers=self._in_flight)

    def _check(self, *, likely_answers: int) -> None:
        if self.stop.asked:
            return
        limits: tuple[tuple[float, float | None, str], ...] = (
            (self.tokens, self._max_tokens, "--max-tokens"),
            (self.cost, self._max_cost, "--max-cost"),
        )
        # what an attempt costs in all, its judges included, is known per answer of the model that is asked most
        attempts = self._answers_before + max(self._answers.values(), default=0)
        for spent, limit, flag in limits:
            likely = likely_answers * spent / attempts if attempts else 0.0
            if limit is not None and spent + likely >= limit:
                shown = f"{limit:,g} tokens" if flag == "--max-tokens" else f"{limit:,g} {self._currency}"
                self.stop.end(f"the budget of {shown} ({flag}) is used up")
                return


class Budgeted(Wrapper):
    """Counts every answer against a budget, at the model's own price; answers from the cache are free."""

    def __init__(self, model: Model, budget: Budget, price: Price | None = None) -> None:
        super().__init__(model)
        self._budget = budget
        self._price = price

    async def generate(self, request: Request) -> Completion:
        self._budget.begin()
        completion: Completion | None = None
        try:
            completion = await self.model.generate(request)
        finally:
            self._budget.end(self.name, request, completion, self._price)
        return completion


class Judging(Wrapper):
    """A model besides the evaluated one: what it says goes on the attempt's account, and on the budget if there is one.

    Judges are built with their tasks, before a run knows its budget.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._asked = model

    def spend_from(self, budget: Budget, price: Price | None) -> None:
        self._asked = Budgeted(self.model, budget, price)

    async def generate(self, request: Request) -> Completion:
        completion = await self._asked.generate(request)
        note(self.name, request, completion, judge=True)
        return completion


def counted(request: Request, completion: Completion) -> tuple[int, int]:
    """Tokens in and out as the model counted them, else by the rough rule."""
    tokens_in, tokens_out = completion.tokens_in, completion.tokens_out
    if tokens_in is None and tokens_out is None:
        return about_tokens(request.text()), about_tokens(completion.text)
    return tokens_in or 0, tokens_out or 0
