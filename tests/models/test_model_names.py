"""What a user writes after `--model` becomes a model, or a sentence that says why not."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.model import closing

from assay.core.errors import UsageError
from assay.core.seams import offers_of
from assay.core.types import Request
from assay.models.model_names import check_options, known_offers, make_model

MODULE = """
class Adapter:
    name = "adapter"

    def __init__(self, suffix: str = ""):
        self.suffix = suffix

    def generate(self, prompts):
        return [prompt + self.suffix for prompt in prompts]


class Native:
    name = "native"

    async def generate(self, request):
        from assay.core.types import Completion
        return Completion(text=request.text())


def shout(prompt):
    return prompt.upper()
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_models", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    Path("my_models.py").write_text(MODULE)


def ask(spec: str, prompt: str, options: dict[str, Any] | None = None) -> str:
    async def generate() -> str:
        async with closing(make_model(spec, options)) as model:
            return (await model.generate(Request(prompt=prompt))).text

    return asyncio.run(generate())


@pytest.mark.parametrize(
    ("spec", "options", "answer"),
    [
        ("toy", None, "5"),
        ("stub", None, ""),
        ("constant:forty: two", None, "forty: two"),
        ("my_models:shout", None, "COMPUTE: 2 + 3"),
        ("my_models:Adapter", {"suffix": "!"}, "compute: 2 + 3!"),
        ("my_models:Native", {}, "compute: 2 + 3"),
        ('command:sed -u -e \'s/"prompt":/"text":/\'', {}, "compute: 2 + 3"),
        ('command:sed -u -e \'s/"prompt":/"text":/\'', {"persistent": True}, "compute: 2 + 3"),
    ],
)
def test_a_spec_names_a_model(spec: str, options: dict[str, Any] | None, answer: str) -> None:
    assert ask(spec, "compute: 2 + 3", options) == answer


def test_options_reach_the_adapter() -> None:
    model = make_model("openai:gpt-x", {"base_url": "http://localhost:1/v1", "mode": "completions"})
    assert model.name == "openai:gpt-x"
    assert model.settings["mode"] == "completions"  # type: ignore[attr-defined]


def test_models_that_may_answer_differently_have_different_settings() -> None:
    specs: list[tuple[str, dict[str, Any]]] = [
        ("constant:a", {}),
        ("constant:b", {}),
        ("my_models:Adapter", {}),
        ("my_models:Adapter", {"suffix": "!"}),
        ("my_models:Native", {}),
        ("command:cat", {}),
        ("command:cat", {"persistent": True}),
        ("openai:a", {}),
        ("openai:a", {"extra": {"top_k": 1}}),
    ]
    settings = [make_model(spec, options).settings for spec, options in specs]  # type: ignore[attr-defined]
    assert all(one not in settings[:place] for place, one in enumerate(settings))


@pytest.mark.parametrize(
    ("spec", "options", "says"),
    [
        ("tou", {}, "Did you mean `toy`"),
        ("", {}, "unknown model"),
        ("openai", {}, "openai:MODEL"),
        ("openai:", {}, "openai:MODEL"),
        ("openai:x", {"base_urll": "http://x"}, "Did you mean `base_url`"),
        ("command", {}, "command:PROGRAM"),
        ("command:", {}, "command:PROGRAM"),
        ("command:no-such-program-anywhere", {}, "no program `no-such-program-anywhere`"),
        ("command:cat 'x", {}, "quotation"),
        ("command:cat", {"pass_env": "NOT_SET_HERE"}, "NOT_SET_HERE"),
        ("command:cat", {"timeout_seconds": "fast"}, "timeout_seconds"),
        ("toy", {"speed": 1}, "takes no options"),
        ("toy:x", {}, "toy:x"),
        ("my_models:shot", {}, "Did you mean `shout`"),
        ("my_models:shout", {"suffix": "!"}, "not a class"),
        ("my_models:Adapter", {"sufix": "!"}, "sufix"),
        ("no_such_module_at_all:x", {}, "no module"),
        ("opnai:gpt-x", {}, "Did you mean the model `openai:gpt-x`"),
    ],
)
def test_a_wrong_spec_is_answered_with_a_sentence(spec: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_model(spec, options)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "embeds"),
    [("toy", True), ("stub:x", False), ("openai:x", True), ("gemini:x", False), ("groq:x", True), ("own:f", None)],
)
def test_what_a_model_can_do_is_known_without_its_key_and_without_importing_it(
    spec: str, embeds: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    can = known_offers(spec)
    assert (None if can is None else can.embeddings) is embeds


def test_every_model_of_the_catalog_has_the_option_cache() -> None:
    for spec in ("openai:m@http://localhost:8000/v1", "toy", "stub", "command:cat", "vllm:m", "anthropic:m"):
        check_options(spec, {"cache": True})
        assert offers_of(make_model(spec, {"cache": True})).cache is True
        assert offers_of(make_model(spec)).cache is None
    with pytest.raises(UsageError, match="cache must be true or false, got 'yes'"):
        make_model("toy", {"cache": "yes"})
