"""Loopback servers that speak as Anthropic and Gemini do, answers and documented errors alike.

What to do is written in the prompt, as for the fake OpenAI server: `behave: NAME` on its first line, `break` alone,
and `compute: 2 + 3` for everything else.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import web
from tests.servers.fake_openai import compute

Behaviour = tuple[int, dict[str, Any], dict[str, str]]
"""Status, body, headers."""


class Vendor:
    """What the server was sent, for tests to look at."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.seen: Counter[str] = Counter()
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.asynccontextmanager
async def vendor(
    prompt_of: Callable[[dict[str, Any]], str],
    answer: Callable[[str], dict[str, Any]],
    behaviours: dict[str, Behaviour],
) -> AsyncIterator[Vendor]:
    """A server that answers with `answer`, and for `behave: NAME` with what the table says."""
    state = Vendor()

    async def handle(request: web.Request) -> web.Response:
        body = await request.json()
        state.bodies.append(body)
        state.headers.append(dict(request.headers))
        state.paths.append(request.path_qs)
        prompt = prompt_of(body)
        state.seen[prompt] += 1
        first = prompt.partition("\n")[0]
        if first.startswith("behave: "):
            status, told, headers = behaviours[first.removeprefix("behave: ")]
            return web.json_response(told, status=status, headers=headers)
        if first == "break":
            return web.json_response({"error": {"message": "broken on request"}}, status=500)
        return web.json_response(answer(compute(prompt)))

    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    state.port = runner.addresses[0][1]
    try:
        yield state
    finally:
        await runner.cleanup()


# -- Anthropic


def anthropic_message(**changes: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 2},
        **changes,
    }


def _anthropic_error(kind: str, message: str = "told so") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


ANTHROPIC: dict[str, Behaviour] = {
    "invalid": (400, _anthropic_error("invalid_request_error"), {}),
    "auth": (401, _anthropic_error("authentication_error", "invalid x-api-key"), {}),
    "billing": (402, _anthropic_error("billing_error"), {}),
    "permission": (403, _anthropic_error("permission_error"), {}),
    "not_found": (404, _anthropic_error("not_found_error"), {}),
    "too_large": (413, _anthropic_error("request_too_large"), {}),
    "rate_limit": (429, _anthropic_error("rate_limit_error"), {"retry-after": "3"}),
    "api_error": (500, _anthropic_error("api_error"), {}),
    "timeout": (504, _anthropic_error("timeout_error"), {}),
    "overloaded": (529, _anthropic_error("overloaded_error"), {}),
    "length": (200, anthropic_message(stop_reason="max_tokens"), {}),
    "stop_sequence": (200, anthropic_message(stop_reason="stop_sequence", stop_sequence="Q:"), {}),
    "refusal": (200, anthropic_message(stop_reason="refusal", content=[]), {}),
    "empty_turn": (200, anthropic_message(content=[]), {}),
    "thinking": (
        200,
        anthropic_message(
            content=[
                {"type": "thinking", "thinking": "hmm", "signature": "x"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "42"},
            ]
        ),
        {},
    ),
    "tools": (
        200,
        anthropic_message(
            content=[
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Bern"}},
            ],
            stop_reason="tool_use",
        ),
        {},
    ),
    "cached": (
        200,
        anthropic_message(
            usage={
                "input_tokens": 5,
                "output_tokens": 2,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 10,
            }
        ),
        {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2099-01-01T00:00:00Z"},
    ),
    "shapeless": (200, {"hello": "world"}, {}),
}


def _anthropic_prompt(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def fake_anthropic() -> contextlib.AbstractAsyncContextManager[Vendor]:
    def answer(text: str) -> dict[str, Any]:
        return anthropic_message(content=[{"type": "text", "text": text}])

    return vendor(_anthropic_prompt, answer, ANTHROPIC)


# -- Gemini


def gemini_reply(*parts: dict[str, Any], finish: str = "STOP", **changes: Any) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0}],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9},
        "modelVersion": "m-001",
        **changes,
    }


def _gemini_error(code: int, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": "told so", "status": status, "details": list(details)}}


GEMINI: dict[str, Behaviour] = {
    "invalid": (400, _gemini_error(400, "INVALID_ARGUMENT"), {}),
    "auth": (400, _gemini_error(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), {}),
    "permission": (403, _gemini_error(403, "PERMISSION_DENIED"), {}),
    "not_found": (404, _gemini_error(404, "NOT_FOUND"), {}),
    "rate_limit": (
        429,
        _gemini_error(
            429, "RESOURCE_EXHAUSTED", {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
        ),
        {},
    ),
    "internal": (500, _gemini_error(500, "INTERNAL"), {}),
    "unavailable": (503, _gemini_error(503, "UNAVAILABLE"), {}),
    "deadline": (504, _gemini_error(504, "DEADLINE_EXCEEDED"), {}),
    "length": (200, gemini_reply({"text": "hi"}, finish="MAX_TOKENS"), {}),
    "thought_itself_out": (200, {"candidates": [{"finishReason": "MAX_TOKENS"}]}, {}),
    "safety": (200, {"candidates": [{"finishReason": "SAFETY"}]}, {}),
    "blocked": (200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, {}),
    "malformed_call": (200, {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, {}),
    "nothing": (200, {"candidates": []}, {}),
    "thinking": (200, gemini_reply({"text": "hmm", "thought": True}, {"text": "42"}), {}),
    "tools": (200, gemini_reply({"functionCall": {"name": "weather", "args": {"city": "Bern"}}}), {}),
    "cached": (
        200,
        gemini_reply(
            {"text": "hi"},
            usageMetadata={
                "promptTokenCount": 115,
                "candidatesTokenCount": 2,
                "thoughtsTokenCount": 5,
                "cachedContentTokenCount": 100,
            },
        ),
        {},
    ),
    "shapeless": (200, {"candidates": "none"}, {}),
}


def _gemini_prompt(body: dict[str, Any]) -> str:
    return str(body["contents"][-1]["parts"][-1].get("text", ""))


def fake_gemini() -> contextlib.AbstractAsyncContextManager[Vendor]:
    return vendor(_gemini_prompt, lambda text: gemini_reply({"text": text}), GEMINI)
