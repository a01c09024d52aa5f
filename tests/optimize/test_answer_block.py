"""The one text in a proposer's answer, character by character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.optimize.answer_block import UnusableAnswerError, fence_for, text_in

READ = [
    ("```\nBe kind.\n```", "Be kind."),
    ("```text\nBe kind.\n```", "Be kind."),
    ("Here it is:\n```markdown\nBe kind.\n\nAlways.\n```\nGood luck!", "Be kind.\n\nAlways."),
    ("```\nWrite code:\n```python\nprint(1)\n```\nand stop.\n```", "Write code:\n```python\nprint(1)\n```\nand stop."),
    ("~~~\nBe kind.\n~~~", "Be kind."),
    ("```\nUse `ticks` and ``more``.\n```", "Use `ticks` and ``more``."),
]
UNUSABLE = [
    ("", "no text"),
    ("Be kind.", "no text"),
    ("```\nBe ki", "no end"),
    ("```\nfirst\n```\nor\n```\nsecond\n```", "2 texts"),
]


@pytest.mark.parametrize(("answer", "text"), READ)
def test_the_text_between_the_fences_is_read(answer: str, text: str) -> None:
    assert text_in(answer) == text


@pytest.mark.parametrize(("answer", "reason"), UNUSABLE)
def test_what_is_not_exactly_one_text_is_unusable(answer: str, reason: str) -> None:
    with pytest.raises(UnusableAnswerError, match=reason):
        text_in(answer)


SEED = 'Answer in exactly this form:\n\n```\n{"label": "x"}\n```\n\nNo other text.'
ROUND_TRIPS = [
    SEED,
    "```python\nprint(1)\n```",
    "````\n```\ninner\n```\n````",
    "~~~\nx\n~~~",
    " leading and trailing blanks \n\n",
    "a\u2028b\x85c\x0cd\x0be\r\nf",
]


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_a_text_between_a_fence_made_for_it_is_read_character_by_character(text: str) -> None:
    fence = fence_for(text)
    assert text_in(f"Sure:\n{fence}\n{text}\n{fence}\nDone.") == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])).filter(lambda text: not text.endswith("\r")))
def test_every_text_comes_back_from_a_fence_made_for_it(text: str) -> None:
    fence = fence_for(text)
    assert text_in(f"{fence}\n{text}\n{fence}") == text


@pytest.mark.parametrize(
    "answer",
    [f"```\n{SEED}\n```", f"~~~\n{SEED}\n~~~", f"````\n{SEED}\n````", f"```markdown\n{SEED}\n```"],
    ids=["the same fence", "tildes", "longer", "with a language"],
)
def test_a_text_with_a_block_in_it_can_be_answered_in_many_ways(answer: str) -> None:
    assert text_in(answer, SEED) == SEED


def test_a_block_of_another_character_inside_is_a_part_of_the_text() -> None:
    assert text_in("~~~\na\n```\nb\n```\n~~~") == "a\n```\nb\n```"


def test_a_draft_in_the_thoughts_is_not_a_text() -> None:
    assert text_in("<think>\n```\ndraft\n```\n</think>\n```\nfinal\n```") == "final"


THINKING = "Think between <think> and </think>, then answer."


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (f"```\n{THINKING}\n```", THINKING),
        (f"<think>\n```\ndraft\n```\n</think>\n```\n{THINKING}\n```", THINKING),
        (f"a draft:\n```\n{THINKING} Or not?\n```\n</think>\n```\n{THINKING}\n```", THINKING),
        (f"````\n{THINKING}\n```\n{{}}\n```\n````", f"{THINKING}\n```\n{{}}\n```"),
        (f"```\n{THINKING}\n```json\n{{}}\n```\n```", f"{THINKING}\n```json\n{{}}\n```"),
        ("<think>\n```\na draft without an end</think>\n```\nfinal\n```", "final"),
    ],
    ids=["alone", "after thoughts", "in thoughts too", "with a block", "with a language", "thoughts that break off"],
)
def test_a_text_may_speak_of_the_end_of_thoughts(answer: str, text: str) -> None:
    assert text_in(answer) == text


def test_a_text_in_the_thoughts_alone_is_not_a_text() -> None:
    with pytest.raises(UnusableAnswerError, match="no text"):
        text_in("<think>\n```\ndraft\n```\n</think>\nI would rather not.")


def test_an_answer_that_only_repeats_fences_is_unusable() -> None:
    with pytest.raises(UnusableAnswerError, match="more than 5,000 fences"):
        text_in("```\n" * 6_000)
    assert fence_for("```\n" * 6_000) == "````"
