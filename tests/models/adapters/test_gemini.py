"""Gemini's API gets everything in its own words."""

from __future__ import annotations

import pytest
from tests.models.adapters.vendors import FULL, WEATHER, sent, with_keys

environment = pytest.fixture(autouse=True)(with_keys)


def test_everything_reaches_gemini_in_its_own_words() -> None:
    assert sent("gemini", FULL, extra={"topK": 3}) == {
        "contents": [
            {"role": "user", "parts": [{"text": "compute: 1 + 1"}]},
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "weather", "args": {"city": "Bern"}},
                        "thoughtSignature": "skip_thought_signature_validator",
                    }
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"result": "sunny"}}}]},
            {"role": "user", "parts": [{"text": "compute: 1 + 2"}]},
        ],
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [{"functionDeclarations": [WEATHER["function"]]}],
        "generationConfig": {
            "temperature": 0.0,
            "topP": 0.5,
            "maxOutputTokens": 9,
            "stopSequences": ["Q:"],
            "topK": 3,
        },
    }
