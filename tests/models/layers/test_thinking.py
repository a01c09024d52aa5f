"""Thinking that a model writes into its answer is kept apart from it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Completion, Request
from assay.models.layers.thinking import WithoutThinking, without_thinking


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("<think>2 and 2</think>\n\n4", "4", "2 and 2"),
        ("\n<thinking>\nhm\n</thinking>4", "4", "hm"),
        ("[THINK]hm[/THINK]4", "4", "hm"),
        ("<think></think>4", "4", None),
        ("hm, so\n</think>\n4", "4", "hm, so"),  # the template has written the opening tag
        ("<think>cut off before an", "", "cut off before an"),
        ("<think>a</think>b</think>c", "b</think>c", "a"),
        ("I think 4", "I think 4", None),
        ('text.split("</think>")[1]', 'text.split("</think>")[1]', None),
        ("<think>a `</think>` b</think>4", "4", "a `</think>` b"),
        ("so</think>'4'", "'4'", "so"),
        ("Use <think>a</think> tags", "Use <think>a</think> tags", None),
        ("", "", None),
    ],
)
def test_a_block_at_the_beginning_is_reasoning(text: str, answer: str, reasoning: str | None) -> None:
    made = without_thinking(Completion(text=text))
    assert (made.text, made.reasoning) == (answer, reasoning)


def test_reasoning_that_the_server_told_apart_stays() -> None:
    made = without_thinking(Completion(text="<think>b</think>4", reasoning="a"))
    assert (made.text, made.reasoning) == ("4", "a\n\nb")


@given(st.text(alphabet="a<>/think \n[]THINK", max_size=60))
def test_nothing_that_was_written_is_lost_but_tags_and_blanks(text: str) -> None:
    made = without_thinking(Completion(text=text))
    kept = f"{made.reasoning or ''}{made.text}"
    for tag in ("<think>", "</think>", "<thinking>", "</thinking>", "[THINK]", "[/THINK]"):
        text, kept = text.replace(tag, ""), kept.replace(tag, "")
    assert "".join(kept.split()) == "".join(text.split())


class Writes:
    name = "writes"

    async def generate(self, request: Request) -> Completion:
        return Completion(text="<think>a</think>b", logprob=-1.0)


def test_a_text_that_is_scored_is_left_alone() -> None:
    model = WithoutThinking(Writes())
    scored = asyncio.run(model.generate(Request(prompt="p", continuation="<think>a</think>b")))
    written = asyncio.run(model.generate(Request(prompt="p")))
    assert (scored.text, written.text) == ("<think>a</think>b", "b")
