"""Every evaluation of a search: cached, counted, journaled, and never mixed with its failures.

The cache knows the set an example belongs to: what was measured on the dataset is never taken for the valset.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from msgspec import Struct

from assay.core.fingerprint import fingerprint
from assay.core.types import Failure
from assay.core.usage import Account, usage_of
from assay.evaluators.payload import Evaluator, failure_of
from assay.optimize.journal import Entry, Journal
from assay.optimize.purse import Purse
from assay.scorers.watch import Watch


class OutOfBudget(BaseException):
    """What was to be evaluated would go beyond the budget; what was in flight is finished and journaled.

    An end, not an error, so that the engine does not swallow it.
    """


class SetExample(Struct, frozen=True, kw_only=True):
    """One record of one set; without a dataset there is one example without a record."""

    part: str
    """`single`, `dataset`, `valset` or `testset`."""
    index: int
    record: dict[str, Any] | None


class Outcome(Struct, frozen=True, kw_only=True):
    """What one evaluation gave: a score or a failure, never both."""

    score: float | None
    side_info: dict[str, Any]
    failure: Failure | None = None


class Evaluations:
    """Asks the evaluator for what is not known yet, so many at a time."""

    def __init__(
        self,
        evaluator: Evaluator,
        journal: Journal,
        *,
        identity: str,
        task_model: str | None,
        concurrency: int,
        purse: Purse | None = None,
    ) -> None:
        self.calls = 0
        """Evaluations the search has used, test set aside: what an undisturbed run would have asked for."""
        self.made = 0
        """Evaluator calls made by this process, retries included."""
        self.cached = 0
        """Evaluations asked for again and answered from what was known."""
        self.failures: Counter[str] = Counter()
        self.failed_in_a_row = 0
        self._evaluator = evaluator
        self._journal = journal
        self._identity = identity
        self._task_model = task_model
        self._permits = asyncio.Semaphore(concurrency)
        self._purse = purse
        self._known: dict[str, Outcome] = {}
        self._failed: dict[str, Outcome] = {}

    async def evaluate(self, pairs: Sequence[tuple[str, SetExample]], *, retry: bool = False) -> list[Outcome]:
        """The outcome of each pair of text and example, in order. A failure is tried once more when `retry`."""
        keys = [self._key(text, example) for text, example in pairs]
        todo = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._known}
        work = (self._one(key, *pair, retry) for key, pair in todo.items())
        with Watch(None):
            outcomes = await _all_or_out_of_budget(work)
        found = dict(zip(todo, outcomes, strict=True))
        self.cached += len(keys) - len(todo)
        for key, (_, example) in todo.items():
            self._count(found[key], example)
        self._known |= {key: outcome for key, outcome in found.items() if outcome.failure is None}
        self._failed |= {key: outcome for key, outcome in found.items() if outcome.failure is not None}
        return [found[key] if key in found else self._known[key] for key in keys]

    def latest(self, text: str, example: SetExample) -> Outcome:
        """What an evaluation that was made gave last."""
        key = self._key(text, example)
        return self._known[key] if key in self._known else self._failed[key]

    def _key(self, text: str, example: SetExample) -> str:
        return fingerprint([self._identity, example.part, example.index, example.record, self._task_model, text])

    async def _one(self, key: str, text: str, example: SetExample, retry: bool) -> Outcome:
        entry = self._journal.find("evaluation", key)
        if entry is not None:
            return Outcome(score=entry.score, side_info=entry.side_info)
        async with self._permits:
            if self._purse is not None and self._purse.used_up is not None:
                raise OutOfBudget
            with Account() as account:
                outcome = await self._ask(text, example)
                if outcome.failure is not None and (retry or outcome.failure.retryable):
                    outcome = await self._ask(text, example)
        self._journal.add(
            Entry(
                kind="evaluation",
                key=key,
                score=outcome.score,
                side_info=outcome.side_info,
                failure=outcome.failure,
                usage=usage_of(account),
            )
        )
        return outcome

    async def _ask(self, text: str, example: SetExample) -> Outcome:
        self.made += 1
        try:
            evaluation = await self._evaluator(text, example.record, self._task_model)
        except Exception as error:
            # whatever one example does must not lose the hours spent on the others
            failure, side_info = failure_of(error, self._evaluator.name)
            return Outcome(score=None, side_info=side_info, failure=failure)
        return Outcome(score=evaluation.score, side_info=evaluation.side_info)

    def _count(self, outcome: Outcome, example: SetExample) -> None:
        if example.part != "testset":
            self.calls += 1
        if outcome.failure is None:
            self.failed_in_a_row = 0
        else:
            self.failures[outcome.failure.kind] += 1
            self.failed_in_a_row += 1


async def _all_or_out_of_budget(work: Iterable[Coroutine[Any, Any, Outcome]]) -> list[Outcome]:
    """Every outcome; when the budget ends in between, only after what was begun is finished."""
    finished = await asyncio.gather(*(_held_back(each) for each in work))
    outcomes = [outcome for outcome in finished if outcome is not None]
    if len(outcomes) < len(finished):
        raise OutOfBudget
    return outcomes


async def _held_back(work: Coroutine[Any, Any, Outcome]) -> Outcome | None:
    try:
        return await work
    except OutOfBudget:
        return None
