"""Every evaluation of a search: found again or made, repeated where the evaluator is noisy, retried where it failed.

Failures are never mixed with scores: they are counted by kind, and what a failure was in the end is kept apart.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from assay.core.fingerprint import canonical_json
from assay.core.run import Stop
from assay.core.types import Failure, Usage
from assay.core.usage import Account, usage_of
from assay.costs.budget import SearchBudget
from assay.evaluators.payload import Evaluator, failure_of
from assay.models.pool import Patience
from assay.optimize.journal import SearchEntry, SearchJournal, Texts, candidate_of
from assay.optimize.sets import SetExample
from assay.runs.patient_evaluator import PatientEvaluator

TRIES = 3
"""So often an evaluation is tried that fails, for every candidate alike."""
_BREATH_SECONDS = 0.01


class SearchEnded(BaseException):
    """Nothing new may be begun: a person asked, or money or tokens are used up. What was in flight is journaled.

    An end, not an error, so that the engine does not swallow it.
    """


class ScoreOrFailure(Struct, frozen=True, kw_only=True):
    """What one evaluation gave: a score or a failure, never both."""

    score: float | None
    side_info: dict[str, Any]
    failure: Failure | None = None
    seconds: float = 0.0
    usage: tuple[Usage, ...] = ()
    cost: float | None = None
    """In money; None where no model was asked, or one whose price nobody knows."""
    repeats: tuple[float, ...] = ()
    """The scores that `score` is the mean of, when the evaluation was repeated."""


class _Wanted(NamedTuple):
    """A pair of candidate and example, and the key of each of its repetitions."""

    number: int
    texts: Texts
    example: SetExample
    keys: Sequence[str]


class Evaluations:
    """Asks the evaluator for what is not known yet, so many at a time."""

    def __init__(
        self,
        evaluator: Evaluator,
        journal: SearchJournal,
        *,
        identity: str,
        task_model: str | None,
        concurrency: int,
        stop: Stop,
        money: SearchBudget | None = None,
        repeat: int = 1,
        say: Callable[[str], None] = lambda sentence: None,
        patience: Patience = Patience(),  # noqa: B008 - it does not change
    ) -> None:
        self.calls = 0
        """Evaluations the search has used, test set aside: what an undisturbed run would have asked for."""
        self.cached = 0
        """Evaluations asked for again and answered from what was known."""
        self.reused = 0
        """Evaluations that another search paid for."""
        self.failures: Counter[str] = Counter()
        self.messages: dict[str, str] = {}
        """Of each kind of failure, what the last one said."""
        self.failed_in_a_row = 0
        self.journal = journal
        self.repeat = repeat
        self._evaluator = PatientEvaluator(evaluator, stop, say, patience=patience)
        self._asked = 0
        self._about = canonical_json([identity, task_model])
        self._task_model = task_model
        self._concurrency = concurrency
        self._stop = stop
        self._money = money
        self._known: dict[str, ScoreOrFailure] = {}
        self._failed: dict[str, ScoreOrFailure] = {}
        self._prefixes: dict[int, bytes] = {}
        self._keys: dict[tuple[int, str], list[str]] = {}

    @property
    def made(self) -> int:
        """Evaluator calls made by this process, retries included."""
        return self._evaluator.made

    @property
    def retries(self) -> int:
        return self._evaluator.made - self._asked

    async def evaluate(
        self, pairs: Sequence[tuple[Texts, SetExample]], *, counted: bool = True
    ) -> list[ScoreOrFailure]:
        """The outcome of each pair of candidate and example, in order; what only failed so far is asked for again."""
        wanted = self._wanted(pairs)
        todo = {
            key: (each, repeat) for each in wanted for repeat, key in enumerate(each.keys, 1) if key not in self._known
        }
        made = await self._make(todo)
        self.cached += len(pairs) * self.repeat - len(todo)
        for key, (each, _) in todo.items():
            outcome, reused = made[key]
            if counted:
                self._count(outcome, each.example, reused)
            (self._known if outcome.failure is None else self._failed)[key] = outcome
        return [self._outcome(each.keys) for each in wanted]

    def if_known(self, pairs: Sequence[tuple[Texts, SetExample]]) -> list[ScoreOrFailure] | None:
        """The outcomes where nobody has to be asked for any of them."""
        wanted = self._wanted(pairs)
        if any(key not in self._known for each in wanted for key in each.keys):
            return None
        self.cached += len(pairs) * self.repeat
        return [self._outcome(each.keys) for each in wanted]

    def latest(self, texts: Texts, examples: Sequence[SetExample]) -> list[ScoreOrFailure]:
        """What the evaluations of a candidate that were made gave last."""
        return [self._outcome(each.keys) for each in self._wanted([(texts, example) for example in examples])]

    def _wanted(self, pairs: Sequence[tuple[Texts, SetExample]]) -> list[_Wanted]:
        numbers: dict[int, int] = {}
        wanted = []
        for texts, example in pairs:
            number = numbers.get(id(texts))  # a batch has few candidates, and each of them many times
            if number is None:
                number = numbers[id(texts)] = self.journal.number_of(texts)
            keys = self._keys.get((number, example.digest))
            if keys is None:
                keys = [self._key(number, texts, example, repeat) for repeat in range(1, self.repeat + 1)]
                self._keys[number, example.digest] = keys
            wanted.append(_Wanted(number, texts, example, keys))
        return wanted

    def _outcome(self, keys: Sequence[str]) -> ScoreOrFailure:
        outcomes = [self._known.get(key) or self._failed[key] for key in keys]
        return outcomes[0] if len(outcomes) == 1 else mean_of(outcomes)

    async def _make(self, todo: Mapping[str, tuple[_Wanted, int]]) -> dict[str, tuple[ScoreOrFailure, bool]]:
        """Every outcome, so many at a time; when the search ends in between, only after what was begun is finished."""
        made: dict[str, tuple[ScoreOrFailure, bool]] = {}
        remaining = iter(todo.items())

        async def work() -> None:
            breathed = monotonic()
            for key, (wanted, repeat) in remaining:
                made[key] = await self._one(key, wanted, repeat)
                # an evaluator that never waits would keep signals from being heard
                if monotonic() - breathed > _BREATH_SECONDS:
                    await asyncio.sleep(0)
                    breathed = monotonic()

        await asyncio.gather(*(_until_the_end(work()) for _ in range(min(self._concurrency, len(todo)))))
        if len(made) < len(todo):
            raise SearchEnded
        return made

    def _key(self, number: int, texts: Texts, example: SetExample, repeat: int) -> str:
        """Of evaluator, task model, texts, example and repetition; the set it is in makes no difference."""
        prefix = self._prefixes.get(number)
        if prefix is None:
            about = self._about + canonical_json(texts)
            prefix = self._prefixes[number] = hashlib.blake2b(about, digest_size=16).digest()
        return hashlib.blake2b(prefix + f"{example.digest}/{repeat}".encode(), digest_size=8).hexdigest()

    async def _one(self, key: str, wanted: _Wanted, repeat: int) -> tuple[ScoreOrFailure, bool]:
        entry = self.journal.find("evaluation", key) or await self._made(key, wanted, repeat)
        found = ScoreOrFailure(
            score=entry.score,
            side_info=entry.side_info,
            failure=entry.failure,
            seconds=entry.seconds,
            usage=entry.usage,
            cost=self._money.cost_of(entry.usage) if self._money is not None and entry.usage else None,
        )
        return found, entry.reused

    async def _made(self, key: str, wanted: _Wanted, repeat: int) -> SearchEntry:
        """An evaluation that this search has not made yet, in its journal: of another search, or made now."""
        example = wanted.example
        asked = SearchEntry(
            kind="evaluation", key=key, candidate=wanted.number, part=example.part, index=example.index, repeat=repeat
        )
        borrowed = self.journal.find_elsewhere(asked)
        if borrowed is not None:
            return borrowed
        if self._stop.interrupted or (self._money is not None and self._money.used_up is not None):
            raise SearchEnded
        began = monotonic()
        with Account() as account:
            outcome = await self._ask(wanted.texts, example)
        entry = msgspec.structs.replace(
            asked,
            score=outcome.score,
            side_info=outcome.side_info,
            failure=outcome.failure,
            seconds=round(monotonic() - began, 6),
            usage=usage_of(account),
        )
        self.journal.add(entry)
        return entry

    async def _ask(self, texts: Texts, example: SetExample) -> ScoreOrFailure:
        self._asked += 1
        for tried in range(1, TRIES + 1):
            try:
                evaluation = await self._evaluator(candidate_of(texts), example.record, self._task_model)
            except Exception as error:
                # whatever one example does must not lose the hours spent on the others
                failure, side_info = failure_of(error, self._evaluator.name)
                if failure.kind == "interrupted" or self._stop.asked:  # given up because the search is to end
                    raise SearchEnded from error
                # what is retryable was waited for and tried again by then; a text that cannot be sent stays one
                if failure.retryable or failure.kind == "bad_candidate" or tried == TRIES:
                    return ScoreOrFailure(score=None, side_info=side_info, failure=failure)
            else:
                return ScoreOrFailure(score=evaluation.score, side_info=evaluation.side_info)
        raise AssertionError("unreachable: the last try returns")

    def _count(self, outcome: ScoreOrFailure, example: SetExample, reused: bool) -> None:
        self.reused += reused
        if example.part != "testset" and not reused:
            self.calls += 1
        if outcome.failure is None:
            self.failed_in_a_row = 0
        else:
            self.failures[outcome.failure.kind] += 1
            self.messages[outcome.failure.kind] = outcome.failure.message
            self.failed_in_a_row += 1


def mean_of(outcomes: Sequence[ScoreOrFailure]) -> ScoreOrFailure:
    """Repetitions as one outcome: the mean of those that were scored, and what was seen in the worst of them."""
    scored = [each for each in outcomes if each.score is not None]
    seconds = sum(each.seconds for each in outcomes)
    usage = tuple(usage for each in outcomes for usage in each.usage)
    costs = [each.cost for each in outcomes if each.cost is not None]
    spent: dict[str, Any] = {"seconds": seconds, "usage": usage, "cost": sum(costs) if costs else None}
    if not scored:
        return msgspec.structs.replace(outcomes[0], **spent)
    scores = tuple(each.score for each in scored if each.score is not None)
    worst = min(scored, key=lambda each: each.score or 0.0)
    mean = sum(scores) / len(scores)
    return ScoreOrFailure(score=mean, side_info=worst.side_info, repeats=scores, **spent)


async def _until_the_end(work: Coroutine[Any, Any, None]) -> None:
    with suppress(SearchEnded):
        await work
