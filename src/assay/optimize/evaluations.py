"""Every evaluation of a search: found again or made, repeated where the evaluator is noisy, retried where it failed.

Failures are never mixed with scores: they are counted by kind, and what a failure was in the end is kept apart.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
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
from assay.evaluators.tries import TRIES, worth_another_try
from assay.models.pool import PATIENCE_SECONDS
from assay.optimize.journal import SearchEntry, SearchJournal, Texts, candidate_of
from assay.optimize.sets import SetExample
from assay.runs.patient_evaluator import PatientEvaluator

_BREATH_SECONDS = 0.01


class SearchEnded(BaseException):
    """Nothing new may be begun: a person asked, or money or tokens are used up. What was in flight is journaled.

    An end, not an error, so that the engine does not swallow it.
    """


class ScoreOrFailure(Struct, frozen=True, kw_only=True, gc=False):
    """What one evaluation gave: a score or a failure, never both."""

    score: float | None
    side_info: dict[str, Any]
    failure: Failure | None = None
    seconds: float = 0.0
    usage: tuple[Usage, ...] = ()
    cost: float | None = None
    """Cost; None where no model was called, or one without a known price."""
    repeats: tuple[float, ...] = ()
    """The scores that `score` is the mean of, when the evaluation was repeated."""


class _Candidate:
    """A candidate as its evaluations need it, computed once."""

    def __init__(self, number: int, texts: Texts, about: bytes) -> None:
        self.number = number
        self.sent = candidate_of(texts)
        self.prefix = hashlib.blake2b(about + canonical_json(texts), digest_size=16).digest()
        self.keys: dict[str, Sequence[str]] = {}
        """The key of each repetition, by the digest of the example."""
        self.has_scored = False


class _Wanted(Struct, frozen=True, gc=False):
    """An evaluation that is not known yet."""

    candidate: _Candidate
    example: SetExample
    repeat: int


TextsOnExamples = tuple[Texts, Sequence[SetExample]]
"""A candidate and the examples that it is evaluated on."""


class EvaluationBatch(NamedTuple):
    """Evaluations that are wanted at once, in order."""

    keys: list[Sequence[str]]
    """Of each candidate and example, one for every repetition."""
    unknown: dict[str, _Wanted]


class Evaluations:
    """Calls the evaluator for what is not known yet, a limited number at a time."""

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
        patience_seconds: float = PATIENCE_SECONDS,
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
        self.failed_texts: dict[int, str] = {}
        """Candidates that fail while the evaluator still scores others, by number, with what the last failure said."""
        self.journal = journal
        self.repeat = repeat
        self._unwrapped = evaluator
        self._evaluator = PatientEvaluator(evaluator, stop, say, patience_seconds=patience_seconds)
        self._asked = 0
        self._asked_again = 0
        self._about = canonical_json([identity, task_model])
        self._task_model = task_model
        self._concurrency = concurrency
        self._stop = stop
        self._money = money
        self._known: dict[str, ScoreOrFailure] = {}
        self._failed: dict[str, ScoreOrFailure] = {}
        self._candidates: dict[int, _Candidate] = {}
        self._last_scored: dict[str, _Candidate] = {}
        """By the digest of the example, the candidate that scored on it last."""

    @property
    def made(self) -> int:
        """Evaluator calls made by this process, retries included."""
        return self._evaluator.made

    @property
    def retries(self) -> int:
        return self._evaluator.made - self._asked + self._asked_again

    async def evaluate(self, items: Sequence[TextsOnExamples], *, counted: bool = True) -> list[ScoreOrFailure]:
        """The outcome of each candidate on each of its examples; what only failed so far is asked for again."""
        batch = self.batch(items)
        await self.make(batch, counted=counted)
        return self.outcomes(batch)

    def batch(self, items: Sequence[TextsOnExamples]) -> EvaluationBatch:
        """What is wanted, and what of it is not known yet."""
        keys: list[Sequence[str]] = []
        unknown: dict[str, _Wanted] = {}
        for texts, examples in items:
            candidate = self._candidate(texts)
            for example in examples:
                of_example = self._keys(candidate, example)
                keys.append(of_example)
                for repeat, key in enumerate(of_example, 1):
                    if key not in self._known:
                        unknown[key] = _Wanted(candidate, example, repeat)
        return EvaluationBatch(keys, unknown)

    async def make(self, batch: EvaluationBatch, *, counted: bool = True) -> None:
        """Make the evaluations of a batch that are not known."""
        suspects = self._suspects(batch.unknown)
        made = await self._make(batch.unknown, suspects)
        for candidate, keys in suspects.items():
            await self._settle(candidate, {key: batch.unknown[key] for key in keys}, made)
        for key, wanted in batch.unknown.items():
            entry = made[key]
            if counted:
                self._count(entry, wanted.example)
            if entry.failure is None:
                wanted.candidate.has_scored = True
                self._last_scored[wanted.example.digest] = wanted.candidate
            is_settled = entry.failure is None or entry.of_the_text
            (self._known if is_settled else self._failed)[key] = self._outcome_of(entry)

    def _suspects(self, unknown: Mapping[str, _Wanted]) -> dict[_Candidate, list[str]]:
        """Candidates that have not scored yet, on examples that others have scored on, with what is wanted of them."""
        suspects: dict[_Candidate, list[str]] = {}
        for key, wanted in unknown.items():
            if not wanted.candidate.has_scored:
                suspects.setdefault(wanted.candidate, []).append(key)
        return {
            candidate: keys
            for candidate, keys in suspects.items()
            if any(unknown[key].example.digest in self._last_scored for key in keys)
        }

    async def _settle(self, candidate: _Candidate, wanted: Mapping[str, _Wanted], made: dict[str, SearchEntry]) -> None:
        """Who is at fault for the failures of a candidate's first evaluations.

        The candidate, when all of them failed while another text still scores on one of the examples. Otherwise what
        failed is retried, as is the evaluation of any other candidate.
        """
        broken = [key for key in wanted if made[key].failure is not None]
        if not broken:
            return
        is_known = all(made[key].of_the_text for key in broken)
        if len(broken) == len(wanted) and (is_known or await self._others_still_score(wanted.values())):
            self.calls += 1  # of the probe, whether it was made now or before the search was resumed
            made |= {key: self._blame(candidate, made[key]) for key in broken}
            return
        for key in broken:
            failure = made[key].failure
            if failure is not None and not made[key].of_the_text and worth_another_try(self._unwrapped, failure):
                self._asked_again += 1
                made[key] = await self._made(key, wanted[key], TRIES - self._first_tries(len(wanted)))

    async def _others_still_score(self, wanted: Iterable[_Wanted]) -> bool:
        example = next(evaluation.example for evaluation in wanted if evaluation.example.digest in self._last_scored)
        other = self._last_scored[example.digest]
        with Account() as account:
            _, _, failure = await self._ask(other.sent, example, 1)
        usage = usage_of(account) if account else ()
        self.journal.add(SearchEntry(kind="probe", key="", candidate=other.number, failure=failure, usage=usage))
        if failure is None:
            self.failed_in_a_row = 0
        return failure is None

    def _blame(self, candidate: _Candidate, entry: SearchEntry) -> SearchEntry:
        self.failed_texts[candidate.number] = entry.failure.message if entry.failure is not None else ""
        if not entry.of_the_text:
            entry = msgspec.structs.replace(entry, of_the_text=True, usage=())  # what it used is recorded already
            self.journal.add(entry)
        return entry

    @staticmethod
    def _first_tries(count: int) -> int:
        """How often each of so many evaluations is tried before the fault is looked for.

        One alone cannot tell a text that always fails from chance; several that all fail can.
        """
        return 1 if count > 1 else 2

    def outcomes(self, batch: EvaluationBatch) -> list[ScoreOrFailure]:
        """Of a batch that was made, in its order."""
        self.cached += len(batch.keys) * self.repeat - len(batch.unknown)
        return list(map(self._outcome, batch.keys))

    def latest(self, texts: Texts, examples: Sequence[SetExample]) -> list[ScoreOrFailure]:
        """What the evaluations of a candidate that were made gave last."""
        candidate = self._candidate(texts)
        return [self._outcome(self._keys(candidate, example)) for example in examples]

    def _candidate(self, texts: Texts) -> _Candidate:
        number = self.journal.number_of(texts)
        candidate = self._candidates.get(number)
        if candidate is None:
            candidate = self._candidates[number] = _Candidate(number, texts, self._about)
        return candidate

    def _keys(self, candidate: _Candidate, example: SetExample) -> Sequence[str]:
        """Of evaluator, task model, texts, example and repetition, whatever set it is in."""
        keys = candidate.keys.get(example.digest)
        if keys is None:
            prefix, digest = candidate.prefix, example.digest
            keys = candidate.keys[digest] = [
                hashlib.blake2b(prefix + f"{digest}/{repeat}".encode(), digest_size=8).hexdigest()
                for repeat in range(1, self.repeat + 1)
            ]
        return keys

    def _outcome(self, keys: Sequence[str]) -> ScoreOrFailure:
        if len(keys) == 1:
            return self._known.get(keys[0]) or self._failed[keys[0]]
        return mean_of([self._known.get(key) or self._failed[key] for key in keys])

    async def _make(
        self, todo: Mapping[str, _Wanted], suspects: Mapping[_Candidate, Sequence[str]]
    ) -> dict[str, SearchEntry]:
        """Every answer, so many at a time; when the search ends in between, only after what was begun is finished."""
        made: dict[str, SearchEntry] = {}
        remaining = iter(todo.items())
        settled = self.journal.settled

        async def work() -> None:
            breathed = monotonic()
            for key, wanted in remaining:
                known = settled.get(key)
                if known is None:
                    of_suspect = suspects.get(wanted.candidate)
                    tries = TRIES if of_suspect is None else self._first_tries(len(of_suspect))
                    known = await self._made(key, wanted, tries)
                made[key] = known
                # an evaluator that never waits would keep signals from being handled
                if monotonic() - breathed > _BREATH_SECONDS:
                    await asyncio.sleep(0)
                    breathed = monotonic()

        await _together(work, min(self._concurrency, len(todo)))
        if len(made) < len(todo):
            raise SearchEnded
        return made

    def _outcome_of(self, entry: SearchEntry) -> ScoreOrFailure:
        return ScoreOrFailure(
            score=entry.score,
            side_info=entry.side_info,
            failure=entry.failure,
            seconds=entry.seconds,
            usage=entry.usage,
            cost=self._money.cost_of(entry.usage) if self._money is not None and entry.usage else None,
        )

    async def _made(self, key: str, wanted: _Wanted, tries: int) -> SearchEntry:
        """An evaluation that this search has not made yet, in its journal: of another search, or made now."""
        number, example = wanted.candidate.number, wanted.example
        if self.journal.borrows:
            borrowed = self.journal.find_elsewhere(
                "evaluation", key, candidate=number, part=example.part, index=example.index
            )
            if borrowed is not None:
                return borrowed
        if self._stop.interrupted or (self._money is not None and self._money.used_up is not None):
            raise SearchEnded
        began = monotonic()
        with Account() as account:
            score, side_info, failure = await self._ask(wanted.candidate.sent, example, tries)
        entry = SearchEntry(
            kind="evaluation",
            key=key,
            candidate=number,
            part=example.part,
            index=example.index,
            repeat=wanted.repeat,
            score=score,
            side_info=side_info,
            failure=failure,
            seconds=round(monotonic() - began, 6),
            usage=usage_of(account) if account else (),
        )
        self.journal.add(entry)
        return entry

    async def _ask(
        self, sent: str, example: SetExample, tries: int
    ) -> tuple[float | None, dict[str, Any], Failure | None]:
        self._asked += 1
        for tried in range(1, tries + 1):
            try:
                evaluation = await self._evaluator(sent, example.record, self._task_model)
            except Exception as error:
                # whatever one example does must not lose the hours spent on the others
                failure, side_info = failure_of(error, self._evaluator.name)
                if failure.kind == "interrupted" or self._stop.requested:  # abandoned because the search is to end
                    raise SearchEnded from error
                if tried == tries or not worth_another_try(self._unwrapped, failure):
                    return None, side_info, failure
            else:
                return evaluation.score, evaluation.side_info, None
        raise AssertionError("unreachable: the last try returns")

    def _count(self, entry: SearchEntry, example: SetExample) -> None:
        self.reused += entry.reused
        if example.part != "testset" and not entry.reused:
            self.calls += 1
        if entry.failure is None:
            self.failed_in_a_row = 0
        elif not entry.of_the_text:
            self.failures[entry.failure.kind] += 1
            self.messages[entry.failure.kind] = entry.failure.message
            self.failed_in_a_row += 1


def mean_of(outcomes: Sequence[ScoreOrFailure]) -> ScoreOrFailure:
    """Repetitions as one outcome: the mean of those that were scored, and what was seen in the worst of them."""
    scored = [outcome for outcome in outcomes if outcome.score is not None]
    seconds = sum(outcome.seconds for outcome in outcomes)
    usage = tuple(usage for outcome in outcomes for usage in outcome.usage)
    costs = [outcome.cost for outcome in outcomes if outcome.cost is not None]
    spent: dict[str, Any] = {"seconds": seconds, "usage": usage, "cost": sum(costs) if costs else None}
    if not scored:
        return msgspec.structs.replace(outcomes[0], **spent)
    scores = tuple(item.score for item in scored if item.score is not None)
    worst = min(scored, key=lambda each: each.score or 0.0)
    mean = sum(scores) / len(scores)
    return ScoreOrFailure(score=mean, side_info=worst.side_info, repeats=scores, **spent)


async def _together(work: Callable[[], Coroutine[Any, Any, None]], count: int) -> None:
    """So many workers at once; the others join when the first one waits, which an evaluator in process never does."""
    others: list[asyncio.Future[None]] = []

    def join() -> None:
        others.extend(asyncio.ensure_future(_until_the_end(work)) for _ in range(count - 1))

    joining = asyncio.get_running_loop().call_soon(join)
    try:
        await _until_the_end(work)
        joining.cancel()
        if others:
            await asyncio.gather(*others)
    except BaseException:
        joining.cancel()
        for other in others:
            other.cancel()
        raise


async def _until_the_end(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with suppress(SearchEnded):
        await work()
