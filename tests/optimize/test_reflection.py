"""What a proposer is asked."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.optimize.answer_block import text_in
from assay.optimize.constraints import Constraints
from assay.optimize.reflection import RejectedText, first_draft_prompt, reflection_prompt
from assay.optimize.settings import SearchSettings, check_template


def test_everything_a_proposer_should_know_is_in_the_prompt() -> None:
    settings = SearchSettings(
        seed="Say {x}",
        objective="THE-GOAL",
        background="THE-BACKGROUND",
        constraints=Constraints(placeholders={"system": ("{x}",)}, max_characters=99),
    )
    rejected = [RejectedText(before="Say {x}", after="Shout {x}", reason="scored 0")]
    texts = {"system": "Say {x}", "tools": "OTHER"}
    prompt = reflection_prompt(settings, texts, "system", ["## score\n0\n\n"], rejected)
    for part in ("THE-GOAL", "THE-BACKGROUND", "{x}", "99", "OTHER", "# Example 1\n## score", "scored 0", "+Shout {x}"):
        assert part in prompt


def test_the_fence_that_is_asked_for_is_longer_than_any_in_the_text() -> None:
    current = "Use:\n````\ncode\n````"
    prompt = reflection_prompt(SearchSettings(seed=None), {"text": current}, "text", [])
    assert "between one pair of ````` fences" in prompt
    shown = prompt.partition("## Current Component")[2].partition("## Evaluation Results")[0]
    assert text_in(shown) == current


def test_the_cases_of_a_first_draft_keep_every_field_and_say_what_was_cut() -> None:
    chat = [{"role": "user", "content": f"message {number} " * 60} for number in range(40)]
    case = {"chat": chat, "passages": ["words of context " * 200] * 6, "label": "THE-LABEL"}
    prompt = first_draft_prompt(SearchSettings(seed=None, objective="GOAL"), "text", [case])
    for part in ('"chat"', '"passages"', "THE-LABEL", "of 40 items left out", "characters in total"):
        assert part in prompt
    assert len(prompt) < 4000


def test_a_template_is_filled_in_one_pass() -> None:
    settings = SearchSettings(seed=None, template="A <curr_param> B <side_info> C <curr_param>")
    prompt = reflection_prompt(settings, {"text": "<side_info>"}, "text", ["R"])
    assert prompt.startswith("A <side_info> B # Example 1\nR C <side_info>")


@pytest.mark.parametrize("template", ["", "<curr_param>", "<side_info>"])
def test_a_template_needs_both_places(template: str) -> None:
    with pytest.raises(UsageError, match="has no <"):
        check_template(template)


def test_a_first_draft_is_asked_for_with_cases() -> None:
    prompt = first_draft_prompt(SearchSettings(seed=None, objective="GOAL"), "text", [{"q": "CASE"}])
    assert "GOAL" in prompt
    assert "CASE" in prompt
