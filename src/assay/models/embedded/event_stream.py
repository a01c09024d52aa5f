"""Answers as server-sent events: each piece of text as it is generated, the finish reason, the usage if requested.

A request that cannot be answered fails before the first event, so it still gets its own status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from aiohttp import web

from assay.core.errors import FailureError
from assay.core.types import Completion

TextPiece = tuple[int, str]
"""The index of an answer, and the text added to it."""
Generate = Callable[[Callable[[TextPiece], None]], Awaitable[Sequence[Completion]]]
"""Generates all answers, and passes on every piece as it is generated."""
CountUsage = Callable[[Sequence[Completion]], Mapping[str, int] | None]
"""The usage of all answers; None when it was not requested."""


def chat_choice(index: int, text: str, reason: str | None, *, first: bool) -> dict[str, Any]:
    """A piece of a chat completion."""
    delta = {"role": "assistant", "content": text} if first else {"content": text}
    return {"index": index, "delta": delta, "finish_reason": reason, "logprobs": None}


def text_choice(index: int, text: str, reason: str | None, *, first: bool) -> dict[str, Any]:
    """A piece of a text completion."""
    return {"index": index, "text": text, "finish_reason": reason, "logprobs": None}


async def send_pieces(
    request: web.Request,
    generate: Generate,
    about: dict[str, Any],
    choice: Callable[..., dict[str, Any]],
    usage: CountUsage,
) -> web.StreamResponse:
    """Send the answers as they are generated; `about` has the fields that every event repeats."""
    pieces: asyncio.Queue[TextPiece | None] = asyncio.Queue()
    writing = asyncio.ensure_future(generate(pieces.put_nowait))
    writing.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        piece = await pieces.get()
        if piece is None:
            await writing  # it failed, or is complete without a piece
        response = await begin(request)
        sent: dict[int, int] = {}
        while piece is not None:
            index, text = piece
            await response.write(event({**about, "choices": [choice(index, text, None, first=index not in sent)]}))
            sent[index] = sent.get(index, 0) + len(text)
            piece = await pieces.get()
        try:
            completions = await writing
        except FailureError as error:
            await response.write(event({"error": {"message": error.failure.message, "type": "server_error"}}))
            return response
        for index, completion in enumerate(completions):
            rest = completion.text[sent.get(index, 0) :]
            last = choice(index, rest, completion.finish_reason, first=index not in sent)
            await response.write(event({**about, "choices": [last]}))
        await end(response, about, usage(completions))
        return response
    finally:
        writing.cancel()  # the client may have disconnected


async def begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    return response


async def end(response: web.StreamResponse, about: dict[str, Any], usage: Mapping[str, int] | None) -> None:
    if usage is not None:
        await response.write(event({**about, "choices": [], "usage": usage}))
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()


def event(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
