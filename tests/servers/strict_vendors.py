"""Loopback servers that refuse a conversation with tools where OpenAI's, Anthropic's and Gemini's real ones refuse it.

Each makes two calls at once with a signed thought before them, then one more, then answers; a request that leaves out a
result, a signature or a name is answered with 400 and the reason.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import web
from tests.servers.fake_vendors import anthropic_message, gemini_reply

SIGNATURE = "signed-by-the-vendor"
UNSIGNED = "skip_thought_signature_validator"
"""What Gemini's guide has clients send with a call that it did not make."""
CITIES = ("Bern", "Zürich", "Genf")
Body = dict[str, Any]


class RefusedError(Exception):
    """What the real server says with its 400."""


@contextlib.asynccontextmanager
async def serving(check: Callable[[Body], int], replies: list[Body]) -> AsyncIterator[tuple[str, list[Body]]]:
    """Address and bodies; `check` raises `RefusedError` or says how many turns with calls there have been."""
    bodies: list[Body] = []

    async def handle(request: web.Request) -> web.Response:
        bodies.append(body := await request.json())
        try:
            return web.json_response(replies[check(body)])
        except RefusedError as error:
            told = {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}
            return web.json_response(told, status=400)

    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", bodies
    finally:
        await runner.cleanup()


# -- Anthropic


def strict_anthropic() -> contextlib.AbstractAsyncContextManager[tuple[str, list[Body]]]:
    def use(number: int) -> Body:
        return {"type": "tool_use", "id": f"toolu_{number}", "name": "weather", "input": {"city": CITIES[number]}}

    thought = {"type": "thinking", "thinking": "Two cities.", "signature": SIGNATURE}
    hidden = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    replies = [
        anthropic_message(content=[thought, hidden, use(0), use(1)], stop_reason="tool_use"),
        anthropic_message(content=[thought, {"type": "text", "text": "One more."}, use(2)], stop_reason="tool_use"),
        anthropic_message(content=[{"type": "text", "text": "Sunny everywhere."}]),
    ]
    return serving(_check_anthropic, replies)


BLOCKS = {"text", "image", "tool_use", "tool_result", "thinking", "redacted_thinking"}


def _check_anthropic(body: Body) -> int:
    turns = 0
    waiting: list[str] = []
    for message in body["messages"]:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        kinds = [block["type"] for block in blocks]
        if unknown := {*kinds} - BLOCKS:
            raise RefusedError(f"messages: Input tag '{unknown.pop()}' found using 'type' does not match")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            raise RefusedError("`tool_use` ids were found without `tool_result` blocks immediately after")
        if "tool_result" in kinds and kinds[0] != "tool_result":
            raise RefusedError("tool_result blocks must come first")
        uses = [block for block in blocks if block["type"] == "tool_use"]
        waiting = [block["id"] for block in uses]
        if uses:
            turns += 1
            if kinds[0] not in ("thinking", "redacted_thinking"):
                raise RefusedError(f"Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`")
            if any(block["signature"] != SIGNATURE for block in blocks if block["type"] == "thinking"):
                raise RefusedError("Invalid `signature` in `thinking` block")
            if not all(isinstance(block["input"], dict) for block in uses):
                raise RefusedError("tool_use.input: Input should be a valid dictionary")
    return turns


# -- Gemini


def strict_gemini() -> contextlib.AbstractAsyncContextManager[tuple[str, list[Body]]]:
    def call(number: int) -> Body:
        given_id = {"id": "fc-2"} if number == 2 else {}  # the API gives some calls an id and others none
        return {"functionCall": {**given_id, "name": "weather", "args": {"city": CITIES[number]}}}

    replies = [
        gemini_reply({**call(0), "thoughtSignature": SIGNATURE}, call(1)),
        gemini_reply({"text": "One more."}, {**call(2), "thoughtSignature": SIGNATURE}),
        gemini_reply({"text": "Sunny everywhere."}),
    ]
    return serving(_check_gemini, replies)


PARTS = {"text", "inlineData", "fileData", "functionCall", "functionResponse", "thought", "thoughtSignature"}


def _check_gemini(body: Body) -> int:
    turns = 0
    waiting: list[tuple[str, str | None]] = []
    for content in body["contents"]:
        parts = content["parts"]
        if unknown := {name for part in parts for name in part} - PARTS:
            raise RefusedError(f'Invalid JSON payload received. Unknown name "{unknown.pop()}"')
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        answered = [(result["name"], result.get("id")) for result in results]
        if len(answered) != len(waiting):
            raise RefusedError(
                "Please ensure that the number of function response parts is equal to the number of function call parts"
            )
        if answered != waiting:
            raise RefusedError(f"functionResponse: {answered} where {waiting} were called")
        calls = [part for part in parts if "functionCall" in part]
        waiting = [(part["functionCall"]["name"], part["functionCall"].get("id")) for part in calls]
        if calls:
            turns += 1
            if not all(isinstance(part["functionCall"]["args"], dict) for part in calls):
                raise RefusedError("Invalid value at 'contents.parts.function_call.args' (google.protobuf.Struct)")
            if calls[0].get("thoughtSignature") not in (SIGNATURE, UNSIGNED):
                raise RefusedError("Function call is missing a thought_signature in functionCall parts")
    return turns


# -- OpenAI


def strict_openai() -> contextlib.AbstractAsyncContextManager[tuple[str, list[Body]]]:
    def call(number: int) -> Body:
        function = {"name": "weather", "arguments": json.dumps({"city": CITIES[number]})}
        return {"id": f"call_{number}", "type": "function", "function": function}

    def reply(content: str | None, *calls: Body) -> Body:
        message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
        return {"choices": [{"message": message, "finish_reason": "tool_calls" if calls else "stop"}]}

    return serving(
        _check_openai, [reply(None, call(0), call(1)), reply("One more.", call(2)), reply("Sunny everywhere.")]
    )


def _check_openai(body: Body) -> int:
    turns = 0
    waiting: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise RefusedError(
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise RefusedError("An assistant message with 'tool_calls' must be followed by tool messages")
        calls = message.get("tool_calls") or []
        if not all(isinstance(call["function"]["arguments"], str) for call in calls):
            raise RefusedError("Invalid type for 'tool_calls.function.arguments': expected a string")
        waiting = {call["id"] for call in calls}
        turns += bool(calls)
    if waiting:
        raise RefusedError("An assistant message with 'tool_calls' must be followed by tool messages")
    return turns
