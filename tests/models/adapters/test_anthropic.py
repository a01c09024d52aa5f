"""Anthropic's API gets everything in its own words."""

from __future__ import annotations

from tests.models.adapters.vendors import FULL, sent


def test_everything_reaches_anthropic_in_its_own_words() -> None:
    assert sent("anthropic", FULL, extra={"metadata": {"user_id": "u"}}) == {
        "model": "m",
        "max_tokens": 9,
        "system": "be brief",
        "messages": [
            {"role": "user", "content": "compute: 1 + 1"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
            {"role": "user", "content": "compute: 1 + 2"},
        ],
        "temperature": 0.0,
        "top_p": 0.5,
        "stop_sequences": ["Q:"],
        "tools": [{"name": "weather", "description": "d", "input_schema": {"type": "object"}}],
        "metadata": {"user_id": "u"},
    }
