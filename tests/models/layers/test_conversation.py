"""A run's system message and prefill stand around every request."""

from __future__ import annotations

import asyncio

import pytest

from assay.core.types import Completion, Message, Request
from assay.models.layers.conversation import WithFrame, framed

USER = Message(role="user", content="2 + 2?")


@pytest.mark.parametrize(
    ("asked", "system", "prefill", "messages"),
    [
        (Request(prompt="2 + 2?"), "Be brief.", None, [("system", "Be brief."), ("user", "2 + 2?")]),
        (Request(prompt="2 + 2?"), None, "It is", [("user", "2 + 2?"), ("assistant", "It is")]),
        (
            Request(messages=(Message(role="system", content="Sums."), USER)),
            "Be brief.",
            "It is",
            [("system", "Be brief.\n\nSums."), ("user", "2 + 2?"), ("assistant", "It is")],
        ),
        (Request(messages=(USER,)), "Be brief.", None, [("system", "Be brief."), ("user", "2 + 2?")]),
    ],
)
def test_turns_get_a_system_message_and_the_beginning_of_the_answer(
    asked: Request, system: str | None, prefill: str | None, messages: list[tuple[str, str]]
) -> None:
    made = framed(asked, system, prefill)
    assert made.prompt is None
    assert [(each.role, each.content) for each in made.messages or ()] == messages


def test_a_text_that_is_scored_gets_them_as_text() -> None:
    made = framed(Request(prompt="Q: 2 + 2?\nA:", continuation=" 4"), "Be brief.", " It is")
    assert (made.prompt, made.messages) == ("Be brief.\n\nQ: 2 + 2?\nA: It is", None)


def test_a_text_that_is_sent_as_it_is_gets_them_as_text() -> None:
    made = framed(Request(prompt="Q: 2 + 2?\nA:", plain=True), None, " It is")
    assert (made.prompt, made.messages) == ("Q: 2 + 2?\nA: It is", None)


def test_what_the_run_says_of_long_prompts_comes_before_what_the_task_says() -> None:
    class Echo:
        name = "echo"

        async def generate(self, request: Request) -> Completion:
            return Completion(text=str(request.too_long))

    model = WithFrame(Echo(), system=None, prefill=None, too_long="fail")
    assert asyncio.run(model.generate(Request(prompt="a", too_long="cut-left"))).text == "fail"
