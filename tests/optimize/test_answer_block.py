"""The one text in a proposer's answer, and what the engine makes of how we hand it over."""

from __future__ import annotations

import pytest
from gepa.strategies.instruction_proposal import InstructionProposalSignature
from hypothesis import given
from hypothesis import strategies as st

from assay.optimize.answer_block import UnusableAnswerError, text_in

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


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], include_characters="\n")))
def test_the_engine_reads_the_text_that_we_read(text: str) -> None:
    try:
        found = text_in(text)
    except UnusableAnswerError:
        found = text.strip()
    assert InstructionProposalSignature.output_extractor(f"```\n{found}\n```")["new_instruction"] == found.strip()
