"""The contract of a model, and of a wrapper: kept by good ones, and every clause broken by a bad one."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.testing.broken import broken_by, clauses, leave_open, words

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError
from assay.core.model_stack import Wrapper
from assay.core.seams import Model
from assay.core.types import Completion, Failure, Message, Request
from assay.testing import Exam, check_model, check_model_wrapper
from assay.testing import model as contract

EXAM = Exam(answer=lambda a, b: str(a + b), breaking=Request(prompt="break"))


class Adds:
    """A good one; the classes below break it in one way each."""

    name: Any = "adds"

    async def generate(self, request: Request) -> Any:
        text = request.text()
        if not text.startswith("compute: "):
            raise FailureError(Failure(stage="model", part=self.name, kind="refused", message="no"))
        await asyncio.sleep(0)
        return Completion(text=str(sum(map(int, text.removeprefix("compute: ").split(" + ")))))


class GivesText(Adds):
    async def generate(self, request: Request) -> Any:
        return (await super().generate(request)).text


class Wrong(Adds):
    async def generate(self, request: Request) -> Any:
        return Completion(text="5000")


class BeforeItBegan(Adds):
    async def generate(self, request: Request) -> Any:
        return msgspec.structs.replace(await super().generate(request), seconds=-1.0)


class GivesAnObject(Adds):
    async def generate(self, request: Request) -> Any:
        return msgspec.structs.replace(await super().generate(request), raw={"answer": object()})


class PromptsOnly(Adds):
    async def generate(self, request: Request) -> Any:
        return await super().generate(request) if request.prompt else Completion(text="?")


class Edits(Adds):
    async def generate(self, request: Request) -> Any:
        if request.stop is not None:
            msgspec.structs.force_setattr(request, "messages", (Message(role="user", content="compute: 2 + 1"),))
        return await super().generate(request)


class Mixes(Adds):
    async def generate(self, request: Request) -> Any:
        self._request = request
        await asyncio.sleep(0)
        return await super().generate(self._request)


class LosesOne(Adds):
    async def generate_batch(self, requests: Sequence[Request]) -> Sequence[Completion | FailureError]:
        return [await self.generate(request) for request in requests][:-1]


class Depends(Adds):
    offers = ModelOffers(likelihoods="yes")
    number = itertools.count(1)

    async def generate(self, request: Request) -> Any:
        if request.continuation is not None:
            return Completion(text="", logprob=-1.0 / next(self.number))
        return await super().generate(request)


class Drifts(Adds):
    offers = ModelOffers(embeddings=True)
    number = itertools.count(1)

    async def generate(self, request: Request) -> Any:
        if request.embed:
            return Completion(text="", embedding=(1.0, float(next(self.number))))
        return await super().generate(request)


class Stumbles(Adds):
    async def generate(self, request: Request) -> Any:
        request.text().encode()
        return await super().generate(request)


class ShamesAnother(Adds):
    async def generate(self, request: Request) -> Any:
        try:
            return await super().generate(request)
        except FailureError as error:
            raise FailureError(msgspec.structs.replace(error.failure, part="the network")) from error


class Consoles(Adds):
    async def generate(self, request: Request) -> Any:
        return Completion(text="sorry") if "break" in request.text() else await super().generate(request)


class OneBadDay(Adds):
    """Is never the same after it was cancelled."""

    _broken = False

    async def generate(self, request: Request) -> Any:
        try:
            return Completion(text="?") if self._broken else await super().generate(request)
        except asyncio.CancelledError:
            self._broken = True
            raise


class GoesOn(Adds):
    """Answers although it was cancelled."""

    async def generate(self, request: Request) -> Any:
        try:
            return await super().generate(request)
        except asyncio.CancelledError:
            return Completion(text="2")


class Nameless(Adds):
    name = ""


class Unwritable(Adds):
    settings = {"client": object()}  # noqa: RUF012 - never changed


class Changes(Adds):
    asked = 0

    @property
    def settings(self) -> dict[str, Any]:
        return {"asked": self.asked}

    async def generate(self, request: Request) -> Any:
        self.asked += 1
        return await super().generate(request)


class LeavesAFile(Adds):
    async def generate(self, request: Request) -> Any:
        leave_open()
        return await super().generate(request)


BROKEN = [
    (GivesText, contract.answers_a_prompt),
    (Wrong, contract.answers_a_prompt),
    (BeforeItBegan, contract.answers_a_prompt),
    (GivesAnObject, contract.gives_completions_that_are_plain_data),
    (PromptsOnly, contract.answers_a_single_message_like_the_same_prompt),
    (Edits, contract.leaves_the_request_as_it_is),
    (Mixes, contract.answers_many_at_once_each_with_its_own),
    (LosesOne, contract.answers_a_batch_as_it_answers_one_by_one),
    (Depends, contract.scores_a_continuation_the_same_alone_and_in_company),
    (Drifts, contract.embeds_a_text_the_same_alone_and_in_company),
    (Stumbles, contract.answers_or_fails_whatever_it_is_asked),
    (ShamesAnother, contract.answers_or_fails_whatever_it_is_asked),
    (Consoles, contract.fails_with_a_failure_error_and_answers_afterwards),
    (OneBadDay, contract.can_be_cancelled_and_answers_afterwards),
    (GoesOn, contract.can_be_cancelled_and_answers_afterwards),
    (Nameless, contract.has_a_name_and_settings_that_are_plain_data),
    (Unwritable, contract.has_a_name_and_settings_that_are_plain_data),
    (Changes, contract.has_a_name_and_settings_that_are_plain_data),
    (LeavesAFile, contract.closes_what_it_opened),
]


@pytest.mark.parametrize(("make", "clause"), BROKEN)
def test_a_bad_model_breaks_its_clause(make: Any, clause: Any) -> None:
    assert broken_by(lambda: check_model(make, EXAM)).clause == words(clause)


def test_every_clause_can_break() -> None:
    assert clauses([clause for _, clause in BROKEN]) == clauses(contract.CLAUSES)


class KnowsCapitals(Adds):
    """Answers one domain only, and refuses everything else."""

    async def generate(self, request: Request) -> Any:
        if request.text().startswith("The capital of"):
            return Completion(text="Paris")
        raise FailureError(Failure(stage="model", part=self.name, kind="refused", message="only capitals"))

    async def generate_batch(self, requests: Sequence[Request]) -> Sequence[Completion | FailureError]:
        outcomes = await asyncio.gather(*(self.generate(request) for request in requests), return_exceptions=True)
        return [each for each in outcomes if isinstance(each, Completion | FailureError)]


class ShamesAnotherForSums(KnowsCapitals):
    async def generate(self, request: Request) -> Any:
        raise FailureError(Failure(stage="model", part="the network", kind="refused", message="no"))


def test_a_model_of_one_domain_is_not_broken_because_it_cannot_add() -> None:
    check_model(KnowsCapitals)
    check_model(KnowsCapitals, Exam(question=lambda a, b: f"The capital of {a} and {b}", answer=lambda a, b: "Paris"))


def test_a_model_must_answer_the_question_that_it_is_said_to_answer() -> None:
    for exam in (EXAM, Exam(question=lambda a, b: f"{a} plus {b}")):
        found = broken_by(functools.partial(check_model, KnowsCapitals, exam))
        assert found.clause == words(contract.answers_a_prompt)


def test_the_failure_of_a_model_without_an_exam_is_still_its_own() -> None:
    found = broken_by(lambda: check_model(ShamesAnotherForSums))
    assert found.clause == words(contract.answers_a_prompt)


@pytest.mark.parametrize("make", [Adds, lambda: lambda prompt: prompt.upper(), lambda: lambda prompts: prompts])
def test_a_good_model_keeps_the_contract(make: Any) -> None:
    check_model(make, EXAM if make is Adds else Exam())


class Remembers(Wrapper):
    """Declares what it knew when it was written."""

    offers = ModelOffers()  # type: ignore[assignment]


class Renames(Wrapper):
    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.name = f"renamed {model.name}"


class WithoutSettings(Wrapper):
    settings: Any = {}  # noqa: RUF012 - never changed


class Rewrites(Wrapper):
    async def generate(self, request: Request) -> Completion:
        return await super().generate(Request(prompt=request.text()))


class Answers(Wrapper):
    async def generate(self, request: Request) -> Completion:
        return Completion(text="42")


class Hides(Wrapper):
    async def generate(self, request: Request) -> Completion:
        try:
            return await super().generate(request)
        except FailureError:
            return Completion(text="")


class OnlyTheContract:
    """A wrapper of its own kind, which passes on less than `Wrapper`."""

    def __init__(self, model: Any) -> None:
        self.model, self.name, self.settings = model, model.name, model.settings
        self.offers, self.aclose = model.offers, model.aclose

    async def generate(self, request: Request) -> Completion:
        completion: Completion = await self.model.generate(request)
        return completion


class LeavesItOpen(Wrapper):
    async def aclose(self) -> None:
        pass


BROKEN_WRAPPERS = [
    (OnlyTheContract, contract.lets_the_run_reach_what_the_model_inside_offers),
    (Remembers, contract.forwards_every_offer),
    (Renames, contract.forwards_name_and_settings),
    (WithoutSettings, contract.forwards_name_and_settings),
    (Rewrites, contract.asks_the_model_inside_and_gives_its_answer),
    (Answers, contract.asks_the_model_inside_and_gives_its_answer),
    (Hides, contract.passes_a_failure_on),
    (LeavesItOpen, contract.closes_the_model_inside),
]


@pytest.mark.parametrize(("wrap", "clause"), BROKEN_WRAPPERS)
def test_a_bad_wrapper_breaks_its_clause(wrap: Any, clause: Any) -> None:
    assert broken_by(lambda: check_model_wrapper(wrap)).clause == words(clause)


def test_every_clause_of_a_wrapper_can_break() -> None:
    assert clauses([clause for _, clause in BROKEN_WRAPPERS]) == clauses(contract.WRAPPER_CLAUSES)


def test_a_good_wrapper_keeps_the_contract() -> None:
    check_model_wrapper(Wrapper)
