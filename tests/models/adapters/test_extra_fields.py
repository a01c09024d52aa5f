"""`extra` adds to what is sent; what assay sets itself is refused there, by name, with its place."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.contracts.model import closing
from tests.end_to_end.commands import assay

from assay.core.errors import FailureError, UsageError
from assay.core.types import Request
from assay.models.adapters.extra_fields import PLACES
from assay.models.model_names import make_model

NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "a-key-of-nobody")


@pytest.mark.parametrize("adapter", ["openai", "groq", "anthropic", "gemini"])
@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_what_assay_sets_itself_is_refused_when_the_model_is_made(adapter: str, name: str, place: str) -> None:
    with pytest.raises(UsageError, match=f"extra: `{name}` is set by assay") as caught:
        make_model(f"{adapter}:m@{NOWHERE}", {"extra": {"top_k": 1, name: "other"}})
    assert place in str(caught.value)


def test_the_same_holds_through_the_library_of_many_providers() -> None:
    pytest.importorskip("litellm")
    with pytest.raises(UsageError, match=r"extra: `temperature` is set by assay .*--temperature"):
        make_model("litellm:openai/m", {"extra": {"api_base": NOWHERE, "temperature": 0.7}})


def test_the_usual_values_of_one_whole_answer_may_be_said() -> None:
    make_model(f"openai:m@{NOWHERE}", {"extra": {"n": 1, "stream": False}})


CONFLICTS: list[tuple[str, Request]] = [
    *((adapter, Request(prompt="hi", extra={"model": "other"})) for adapter in ("openai", "anthropic", "adapted")),
    *((adapter, Request(prompt="hi", extra={"messages": []})) for adapter in ("openai", "anthropic", "adapted")),
    *(
        (adapter, Request(prompt="hi", temperature=0.1, extra={"temperature": 0.7}))
        for adapter in ("openai", "anthropic", "gemini", "adapted")
    ),
    ("openai", Request(prompt="hi", extra={"n": 2})),
    ("openai", Request(prompt="hi", tools=[{"type": "function"}], extra={"tools": []})),
]


@pytest.mark.parametrize(("adapter", "request_"), CONFLICTS)
def test_a_request_that_would_overwrite_its_own_fields_is_a_failure(adapter: str, request_: Request) -> None:
    options: dict[str, Any] = {"base_url": NOWHERE}

    async def ask() -> None:
        async with closing(make_model(f"{adapter}:m", options)) as model:
            await model.generate(request_)

    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    assert caught.value.failure.kind == "unsupported"
    assert f"extra: `{next(iter(request_.extra or {}))}` would overwrite" in caught.value.failure.message


def test_a_run_with_another_model_among_its_options_is_refused_before_anything_is_sent(tmp_path: Any) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "a", "prompt": "1 + 1", "targets": ["2"], "metric": "exact_match"}\n')
    arguments = ("run", "t.jsonl", "--model", f"openai:served@{NOWHERE}", "--model-arg")
    done = assay(*arguments, 'extra={"model": "other"}', cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "extra: `model` is set by assay" in done.stderr
    assert "--model" in done.stderr
