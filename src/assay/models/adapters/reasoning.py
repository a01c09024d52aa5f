"""How much a model may think, in the words of OpenAI's `reasoning_effort`, for vendors that count tokens instead."""

from __future__ import annotations

THINKING_TOKENS = {"none": 0, "minimal": 1024, "low": 2048, "medium": 8192, "high": 24_576}
"""Anthropic takes no fewer than 1,024; the largest is what Gemini's smaller models take at most."""


def thinking_budget(effort: str) -> int:
    """Tokens for thinking; a word that is not known here is passed to servers that may know it, and is medium here."""
    return THINKING_TOKENS.get(effort, THINKING_TOKENS["medium"])
