"""OpenAI's `reasoning_effort` as a number of tokens, for vendors that take a budget instead."""

from __future__ import annotations

THINKING_TOKENS = {"none": 0, "minimal": 1024, "low": 2048, "medium": 8192, "high": 24_576}
"""1,024 is Anthropic's minimum; the largest is the maximum of Gemini's smaller models."""


def thinking_budget(effort: str) -> int:
    """Tokens for thinking. An effort that is unknown here counts as medium."""
    return THINKING_TOKENS.get(effort, THINKING_TOKENS["medium"])
