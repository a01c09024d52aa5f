"""promptfoo's providers as models of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.bridges.promptfoo.config import Config, PlacedValue
from assay.bridges.promptfoo.providers import MappedProvider, read_provider
from assay.formats.declarative.yaml_reader import Document


def read(given: Any) -> MappedProvider:
    value = PlacedValue(given, Document(value=given, path=Path("p.yaml"), marks={}))
    found = read_provider(Config(path=Path("p.yaml"), top=value), value)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("given", "model"),
    [
        ("openai:gpt-4.1", "openai:gpt-4.1"),
        ("openai:chat:gpt-4.1", "openai:gpt-4.1"),
        ("openai:responses:gpt-5", "openai:gpt-5"),
        ("anthropic:messages:claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
        ("google:gemini-2.5-flash", "gemini:gemini-2.5-flash"),
        ("vertex:gemini-2.5-pro", "litellm:vertex_ai/gemini-2.5-pro"),
        ("bedrock:us.amazon.nova-lite-v1:0", "litellm:bedrock/us.amazon.nova-lite-v1:0"),
        ("azure:chat:my-deployment", "litellm:azure/my-deployment"),
        ("ollama:chat:llama3.2", "ollama:llama3.2"),
        ("openrouter:meta/llama", "openrouter:meta/llama"),
        ("echo", "echo"),
    ],
)
def test_a_provider_is_a_model(given: str, model: str) -> None:
    assert (read(given).spec or {})["model"] == model


def test_its_settings_are_ours() -> None:
    config = {
        "temperature": 0.3, "max_completion_tokens": 50, "topP": 0.9, "stop": "END", "reasoning": {"effort": "low"},
        "apiBaseUrl": "http://127.0.0.1:1/v1", "apiKey": "{{env.MY_KEY}}", "tools": [{"type": "function"}],
    }  # fmt: skip
    found = read({"id": "openai:gpt-4.1", "label": "mine", "config": config})
    assert found.key == "mine"
    assert found.spec == {
        "model": "openai:gpt-4.1",
        "options": {
            "base_url": "http://127.0.0.1:1/v1",
            "api_key_env": "MY_KEY",
            "extra": {"tools": [{"type": "function"}]},
        },
        "generation": {
            "temperature": 0.3,
            "max_tokens": 50,
            "top_p": 0.9,
            "stop": ["END"],
            "reasoning_effort": "low",
        },
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("elevenlabs:tts:x", "no counterpart"),
        ("openai:image:dall-e-3", "no counterpart of `openai:image`"),
        ("exec:run.sh", "a program is not supported as a provider"),
        ("file://main.go", "only Python and JavaScript are supported as files of providers"),
        ({"id": "openai:x", "config": {"apiKey": "sk-123"}}, "a key does not belong in a file"),
        ({"id": "openai:x", "config": {"unheard_of": 1}}, "`unheard_of`"),
    ],
)
def test_one_without_a_counterpart_is_named_with_the_reason(given: Any, said: str) -> None:
    found = read(given)
    assert found.spec is None
    assert said in (found.problem or "")
    assert "sk-123" not in (found.problem or "")
