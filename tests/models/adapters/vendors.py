"""The vendors' adapters next to the servers that speak like them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.contracts.model import closing
from tests.servers.fake_vendors import Vendor, fake_anthropic, fake_gemini

from assay.core.types import Completion, Message, Request
from assay.models.adapters.anthropic import AnthropicModel
from assay.models.adapters.gemini import GeminiModel

MakeVendor = Callable[[], AbstractAsyncContextManager[Vendor]]


VENDORS: dict[str, tuple[MakeVendor, Callable[..., Any]]] = {
    "anthropic": (fake_anthropic, AnthropicModel),
    "gemini": (fake_gemini, GeminiModel),
}


async def ask_server(vendor: str, request: Request, **options: Any) -> tuple[Completion, Vendor]:
    serve, adapter = VENDORS[vendor]
    async with serve() as server, closing(adapter("m", base_url=server.address, **options)) as model:
        return await model.generate(request), server


WEATHER = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": {"type": "object"}}}


def sent(vendor: str, request: Request, **options: Any) -> dict[str, Any]:
    return asyncio.run(ask_server(vendor, request, **options))[1].bodies[0]


FULL = Request(
    messages=(
        Message(role="system", content="be brief"),
        Message(role="user", content="compute: 1 + 1"),
        Message(
            role="assistant",
            tool_calls=[{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}],
        ),
        Message(role="tool", tool_call_id="c1", name="weather", content="sunny"),
        Message(role="user", content="compute: 1 + 2"),
    ),
    temperature=0.0,
    top_p=0.5,
    max_tokens=9,
    stop=("Q:",),
    tools=[WEATHER],
)


KEY = "sk-ant-test-0987654321"


def with_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every vendor's key, and no proxy between: a fixture for each test."""
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
