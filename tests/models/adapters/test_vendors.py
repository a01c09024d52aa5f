"""The native adapters for Anthropic and Gemini: what is sent, what is kept, and the name of every documented error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.contracts.model import check_model, closing
from tests.models.adapters.vendors import KEY, VENDORS, ask_server, with_keys
from tests.servers.fake_vendors import fake_anthropic

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model, offers_of
from assay.core.types import Completion, Request
from assay.models.adapters.anthropic import AnthropicModel
from assay.models.model_names import make_model
from assay.models.pool import ModelPool
from assay.run_config import RunConfig

environment = pytest.fixture(autouse=True)(with_keys)


def ask(vendor: str, request: Request | str, **options: Any) -> Completion:
    request = Request(prompt=request) if isinstance(request, str) else request
    return asyncio.run(ask_server(vendor, request, **options))[0]


def failure_error(vendor: str, request: Request | str) -> FailureError:
    with pytest.raises(FailureError) as caught:
        ask(vendor, request)
    return caught.value


@pytest.mark.parametrize("vendor", VENDORS)
def test_it_keeps_the_contract_of_a_model(vendor: str) -> None:
    serve, adapter = VENDORS[vendor]

    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with serve() as server, closing(adapter("m", base_url=server.address)) as model:
            yield model

    check_model(make_one)


@pytest.mark.parametrize(
    ("vendor", "header", "path"),
    [("anthropic", "x-api-key", "/v1/messages"), ("gemini", "x-goog-api-key", "/models/m:generateContent")],
)
def test_the_key_goes_into_its_header_and_nowhere_else(vendor: str, header: str, path: str) -> None:
    _, server = asyncio.run(ask_server(vendor, Request(prompt="hi")))
    assert server.headers[0][header] == KEY
    assert server.paths == [path]
    assert KEY not in str(server.bodies)


@pytest.mark.parametrize(
    ("vendor", "behaviour", "kind", "retryable", "wait"),
    [
        ("anthropic", "invalid", "bad_request", False, None),
        ("anthropic", "auth", "auth", False, None),
        ("anthropic", "billing", "auth", False, None),
        ("anthropic", "permission", "auth", False, None),
        ("anthropic", "not_found", "bad_request", False, None),
        ("anthropic", "too_large", "too_long", False, None),
        ("anthropic", "rate_limit", "rate_limit", True, 3.0),
        ("anthropic", "api_error", "server_error", True, None),
        ("anthropic", "timeout", "server_error", True, None),
        ("anthropic", "overloaded", "overloaded", True, None),
        ("anthropic", "refusal", "refused", False, None),
        ("anthropic", "shapeless", "bad_output", False, None),
        ("gemini", "invalid", "bad_request", False, None),
        ("gemini", "auth", "auth", False, None),
        ("gemini", "permission", "auth", False, None),
        ("gemini", "not_found", "bad_request", False, None),
        ("gemini", "rate_limit", "rate_limit", True, 34.0),
        ("gemini", "internal", "server_error", True, None),
        ("gemini", "unavailable", "server_error", True, None),
        ("gemini", "deadline", "server_error", True, None),
        ("gemini", "safety", "refused", False, None),
        ("gemini", "blocked", "refused", False, None),
        ("gemini", "malformed_call", "bad_output", True, None),
        ("gemini", "nothing", "bad_output", True, None),
        ("gemini", "shapeless", "bad_output", False, None),
    ],
)
def test_every_documented_error_has_its_kind(
    vendor: str, behaviour: str, kind: str, retryable: bool, wait: float | None
) -> None:
    error = failure_error(vendor, f"behave: {behaviour}")
    assert (error.failure.kind, error.failure.retryable, error.retry_after_seconds) == (kind, retryable, wait)
    assert KEY not in error.failure.message


@pytest.mark.parametrize("vendor", VENDORS)
def test_reasoning_tool_calls_lengths_and_cached_tokens_are_kept(vendor: str) -> None:
    thinking, tools, length, cached = (
        ask(vendor, f"behave: {what}") for what in ("thinking", "tools", "length", "cached")
    )
    assert (thinking.text, thinking.reasoning) == ("42", "hmm")
    assert tools.finish_reason == "tool_calls"
    assert tools.tool_calls is not None
    assert tools.tool_calls[0]["function"] == {"name": "weather", "arguments": '{"city": "Bern"}'}
    assert (length.text, length.finish_reason) == ("hi", "length")
    assert (cached.tokens_in, cached.tokens_cached) == (115, 100)


def test_an_empty_answer_is_an_answer() -> None:
    assert ask("anthropic", "behave: empty_turn").text == ""
    assert ask("gemini", "behave: thought_itself_out").finish_reason == "length"


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_an_api_cannot_do_is_said(vendor: str) -> None:
    assert failure_error(vendor, Request(prompt="a", continuation="b")).failure.kind == "unsupported"
    assert offers_of(make_model(f"{vendor}:m")).likelihoods == "no"


def test_what_the_server_says_about_its_limits_is_noted() -> None:
    async def limits() -> Any:
        async with fake_anthropic() as server, closing(AnthropicModel("m", base_url=server.address)) as model:
            await model.generate(Request(prompt="behave: cached"))
            return model.limits

    found = asyncio.run(limits())
    assert found.remaining == 0
    assert found.reset_seconds > 1e6


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_missing_key_or_model_is_a_sentence(vendor: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(f"{vendor.upper()}_API_KEY")
    with pytest.raises(UsageError, match=f"{vendor.upper()}_API_KEY"):
        ModelPool(RunConfig()).wrap(make_model(f"{vendor}:m"))
    with pytest.raises(UsageError, match=f"{vendor}:MODEL"):
        make_model(f"{vendor}:")


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_key_may_stand_in_an_env_file_and_is_kept_out_of_options(
    vendor: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(f"{vendor.upper()}_API_KEY")
    (tmp_path / ".env").write_text(f"{vendor.upper()}_API_KEY='{KEY}'\n")
    _, server = asyncio.run(ask_server(vendor, Request(prompt="hi")))
    assert KEY in server.headers[0].values()
    monkeypatch.setenv(f"{vendor.upper()}_API_KEY", "m")  # what people write for a server that wants no key
    assert make_model(f"{vendor}:m").name == f"{vendor}:m"
    monkeypatch.delenv(f"{vendor.upper()}_API_KEY")
    with pytest.raises(UsageError, match="contain the key itself"):
        make_model(f"{vendor}:m", {"extra": {"note": KEY}})


@pytest.mark.parametrize("vendor", ["anthropic", "gemini"])
def test_an_address_behind_the_name_is_called_instead_of_the_vendor(vendor: str) -> None:
    model = make_model(f"{vendor}:m@http://127.0.0.1:9/v1")
    assert (model.name, model.settings["base_url"]) == (f"{vendor}:m", "http://127.0.0.1:9/v1")  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="names one server and base_url another"):
        make_model(f"{vendor}:m@http://127.0.0.1:9/v1", {"base_url": "http://127.0.0.1:8"})
