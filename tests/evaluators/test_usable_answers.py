"""An answer that cannot be used is asked for again, with the reason, as often as allowed, and never guessed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.core.scripted import Scripted

from assay.core.describe import ModelOffers
from assay.core.draws import Draws
from assay.core.types import Completion, Message, Request, Sample
from assay.core.usage import Account
from assay.costs.budget import CountedAsJudge
from assay.evaluators.usable_answers import UnusableError, json_object, read_answer
from assay.models.completion_cache import CompletionCache
from assay.models.layers.cached import Cached


def number(completion: Completion) -> int:
    try:
        return int(completion.text)
    except ValueError:
        raise UnusableError("not a number") from None


def test_the_follow_up_holds_the_answer_and_the_reason_and_is_a_fresh_draw() -> None:
    model = Scripted(["well", "hm", "7"])
    with Account() as account:
        answers, value = asyncio.run(read_answer(model, Request(prompt="how many?"), number, retries=2))
    assert (value, [each.text for each in answers]) == (7, ["well", "hm", "7"])
    assert account.repeats == 2
    asked = [(message.role, message.content) for message in model.asked[2].messages or ()]
    again = "Your answer could not be used: not a number. Answer again, in the form that was asked for."
    assert asked == [
        *(("user", "how many?"), ("assistant", "well"), ("user", again)),
        *(("assistant", "hm"), ("user", again)),
    ]
    assert [request.fresh for request in model.asked] == [False, True, True]


def test_a_conversation_is_continued_and_its_settings_stay() -> None:
    model = Scripted(["", "7"])
    system = Message(role="system", content="a number")
    asyncio.run(read_answer(model, Request(messages=(system,), temperature=0.0, max_tokens=5), number, retries=1))
    again = model.asked[1]
    assert again.messages is not None
    assert (again.messages[0], again.temperature, again.max_tokens) == (system, 0.0, 5)
    assert again.messages[1].content == "(nothing)"


def test_a_model_that_takes_only_text_gets_text() -> None:
    class OnlyText(Scripted):
        offers = ModelOffers(chat=False)

    model = OnlyText(["well", "7"])
    asyncio.run(read_answer(model, Request(prompt="how many?"), number, retries=1))
    assert model.asked[1].messages is None
    assert model.asked[1].prompt is not None
    assert model.asked[1].prompt.startswith("how many?\n\nwell\n\nYour answer could not be used: not a number.")


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_an_answer_that_stays_unusable_is_an_error_with_the_last_answer(retries: int) -> None:
    model = Scripted([f"no {at}" for at in range(5)])
    with pytest.raises(UnusableError) as caught:
        asyncio.run(read_answer(model, Request(prompt="q"), number, retries=retries))
    assert len(model.asked) == retries + 1
    assert caught.value.answer is not None
    assert caught.value.answer.text == f"no {retries}"


def test_a_refusal_was_understood_and_is_not_asked_about_again() -> None:
    class Refuses(Scripted):
        async def generate(self, request: Request) -> Completion:
            self.asked.append(request)
            return Completion(text="", refusal="I would rather not")

    model = Refuses()
    with pytest.raises(UnusableError):
        asyncio.run(read_answer(model, Request(prompt="q"), number, retries=2))
    assert len(model.asked) == 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_cached_answer_that_cannot_be_read_is_asked_for_again(tmp_path: Path, temperature: float) -> None:
    async def each_run(answers: list[str]) -> list[object]:
        """What comes of each run, and how often the model was called so far."""
        inner = Scripted([*answers])
        found: list[object] = []
        for _ in range(4):
            cache = CompletionCache(tmp_path / "cache.sqlite", b"secret")
            try:
                with Draws("t", Sample(id="s"), 1):
                    model = CountedAsJudge(Cached(inner, cache, "m"))
                    _, read = await read_answer(model, Request(prompt="q", temperature=temperature), number)
                found.append((read, len(inner.asked)))
            except UnusableError:
                found.append(("unreadable", len(inner.asked)))
            cache.close()
        assert {request.fresh for request in inner.asked} == {False}
        return found

    found = asyncio.run(each_run(["hmm", "hm", "7"]))
    assert found == [("unreadable", 1), ("unreadable", 2), (7, 3), (7, 3)]


@pytest.mark.parametrize(
    "text",
    [
        'Verdict: ```json\n{"score": 1}```\nDone.',
        '```\n{"reason": "it has ``` and } inside", "score": 1}\n```',
        '```json\n{"score": 1}\n```\nor\n```json\n{"score": 1}\n```',
        'It says `{"a": 0}` and {nothing} else: {"score": 1}',
        '{"score": 1} unless {"score',
    ],
)
def test_the_object_with_a_needed_field_is_found(text: str) -> None:
    found = json_object(text, ("score",))
    assert found is not None
    assert found["score"] == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"draft": {"score": 1}, "score": 0',
        '{"draft": {"score": 1}, "score": 0,}',
        '{score: {"score": 1}}',
        "```json\n{",
    ],
)
def test_a_part_of_a_broken_object_does_not_pass_for_the_whole(text: str) -> None:
    assert json_object(text, ("score",)) is None
