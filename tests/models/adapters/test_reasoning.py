"""How long a model may think, in the words of each vendor."""

from __future__ import annotations

import pytest
from tests.models.adapters.vendors import sent, with_keys

from assay.core.types import Request
from assay.models.adapters.reasoning import THINKING_TOKENS, thinking_budget

environment = pytest.fixture(autouse=True)(with_keys)


def asked(effort: str) -> Request:
    return Request(prompt="compute: 1 + 1", reasoning_effort=effort, max_tokens=100)


def test_more_effort_is_more_tokens_and_an_unknown_word_is_medium() -> None:
    assert sorted(THINKING_TOKENS.values()) == list(THINKING_TOKENS.values())
    assert thinking_budget("xhigh") == thinking_budget("medium")


def test_anthropic_is_given_tokens_to_think_in_addition_to_those_of_the_answer() -> None:
    body = sent("anthropic", asked("low"))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert body["max_tokens"] == 100 + 2048
    assert "thinking" not in sent("anthropic", asked("none"))


def test_gemini_is_given_a_budget_and_shows_its_thoughts() -> None:
    assert sent("gemini", asked("low"))["generationConfig"]["thinkingConfig"] == {
        "thinkingBudget": 2048,
        "includeThoughts": True,
    }
    assert sent("gemini", asked("low"))["generationConfig"]["maxOutputTokens"] == 100 + 2048
    none = sent("gemini", asked("none"))["generationConfig"]["thinkingConfig"]
    assert none == {"thinkingBudget": 0, "includeThoughts": False}
