"""The toy model answers by how a prompt begins, and never evaluates what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.model import ARITHMETIC, Exam, check_model, closing

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model, ModelAdapter
from assay.core.types import Message, Request
from assay.models.adapters.toy import ToyAdapter, ToyModel, answer, make

ANSWERS = [
    ("compute: 2 + 2", "4"),
    ("  Compute: 2+2  ", "4"),
    ("compute: (3 + 4) * 5 - 6", "29"),
    ("compute: 7 / 2", "3.5"),
    ("compute: 8 / 2", "4"),
    ("compute: -7 // 2", "-4"),
    ("compute: 17 % 5", "2"),
    ("compute: 2 ** 10", "1024"),
    ("compute: --3", "3"),
    ("summarize: Rain fell. Nobody minded.", "Rain fell."),
    ("summarize: The toll is 3.50 a day! Pay it.", "The toll is 3.50 a day!"),
    ("summarize: no end in sight", "no end in sight"),
    ("python: write a function f that doubles its input", "def f(x):\n    return x * 2\n"),
    ("python: f should increment a number", "def f(x):\n    return x + 1\n"),
    ("python: f, squaring its argument", "def f(x):\n    return x * x\n"),
    ("python: sort a list", "sort a list"),
    ("choose: A bird that cannot fly? C) penguin | A) swift | B) stork", "C"),
    ("choose: a vitamin? D. vitamin A | B. salt", "D"),
    ("choose: it is B | or C", "B"),
    ("choose: nothing to pick", "nothing to pick"),
    ("write: a line about harbours", "a line about harbours"),
    ("hello there", "hello there"),
    ("remark: hello", "remark: hello"),
    ("", ""),
]


@pytest.mark.parametrize(("prompt", "expected"), ANSWERS)
def test_a_prompt_is_answered_by_how_it_begins(prompt: str, expected: str) -> None:
    assert answer(prompt) == expected


REFUSED = [
    "9 ** 9 ** 9",
    "2 ** 99999999",
    "1 / 0",
    "(-8) ** 0.5",
    "10.0 ** 64 ** 8",
    "__import__('os').getcwd()",
    "'a' * 1000000000",
    "1 +",
    "(" * 300 + "1" + ")" * 300,
    "-" * 499 + "1" + "0",
    "1 " * 5000,
    "...",
    "9" * 450 + "*" + "9" * 40 + "** 60",
]


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_not_small_arithmetic_is_said_back(expression: str) -> None:
    assert answer(f"compute: {expression}") == expression.strip()


@given(st.text(alphabet="0123456789.+-*/%() ", max_size=60))
def test_no_arithmetic_raises(expression: str) -> None:
    assert isinstance(answer(f"compute: {expression}"), str)


@given(st.text())
def test_every_text_has_an_answer_and_always_the_same(prompt: str) -> None:
    assert answer(prompt) == answer(prompt)


def test_both_shapes_say_the_same() -> None:
    prompts = [prompt for prompt, _ in ANSWERS]
    model = ToyModel()
    native = [asyncio.run(model.generate(Request(prompt=prompt))).text for prompt in prompts]
    assert ToyAdapter().generate(prompts) == native == [expected for _, expected in ANSWERS]


def test_both_shapes_fit_their_seams() -> None:
    assert isinstance(ToyAdapter(), ModelAdapter)
    assert isinstance(make(), Model)
    assert ToyAdapter().name == make().name == "toy"


def test_the_toy_takes_no_argument() -> None:
    with pytest.raises(UsageError, match="`toy` takes no argument"):
        make("large")


def test_in_a_conversation_the_last_user_turn_is_answered() -> None:
    messages = (
        Message(role="system", content="Be brief."),
        Message(role="user", content="compute: 1 + 1"),
        Message(role="assistant", content="2"),
        Message(role="user", content="compute: 2 + 3"),
    )
    assert asyncio.run(ToyModel().generate(Request(messages=messages))).text == "5"


def test_scoring_a_continuation_is_a_failure_not_a_number() -> None:
    with pytest.raises(FailureError) as caught:
        asyncio.run(ToyModel().generate(Request(prompt="a", continuation="b")))
    assert caught.value.failure.kind == "unsupported"


def test_it_keeps_the_contract_of_a_model() -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with closing(make()) as model:
            yield model

    check_model(make_one, Exam(answer=ARITHMETIC.answer, breaking=Request(prompt="a", continuation="b")))
