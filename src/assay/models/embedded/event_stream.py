"""Answers as server-sent events: every piece of text as it is written, why it ended, the usage if wanted, the end.

What cannot be answered at all is found out before the first event, so it still gets a status of its own.
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
"""Which of the answers, and what was added to it."""
Asking = Callable[[Callable[[TextPiece], None]], Awaitable[Sequence[Completion]]]
"""Asks for all answers, and passes on every piece as it is written."""
CountUsage = Callable[[Sequence[Completion]], Mapping[str, int] | None]
"""Usage of all answers; None when it was not requested."""


def chat_choice(index: int, text: str, reason: str | None, *, first: bool) -> dict[str, Any]:
    """A piece of a chat completion."""
    delta = {"role": "assistant", "content": text} if first else {"content": text}
    return {"index": index, "delta": delta, "finish_reason": reason, "logprobs": None}


def text_choice(index: int, text: str, reason: str | None, *, first: bool) -> dict[str, Any]:
    """A piece of a text completion."""
    return {"index": index, "text": text, "finish_reason": reason, "logprobs": None}


async def send_pieces(
    request: web.Request,
    asking: Asking,
    about: dict[str, Any],
    choice: Callable[..., dict[str, Any]],
    usage: CountUsage,
) -> web.StreamResponse:
    """Send the answers as they are written; `about` is what every event repeats."""
    pieces: asyncio.Queue[TextPiece | None] = asyncio.Queue()
    writing = asyncio.ensure_future(asking(pieces.put_nowait))
    writing.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        piece = await pieces.get()
        if piece is None:
            await writing  # refused, or all was said at once
        response = await begin(request)
        sent: dict[int, int] = {}
        while piece is not None:
            index, text = piece
            await response.write(event({**about, "choices": [choice(index, text, None, first=index not in sent)]}))
            sent[index] = sent.get(index, 0) + len(text)
            piece = await pieces.get()
        try:
            found = await writing
        except FailureError as error:
            await response.write(event({"error": {"message": error.failure.message, "type": "server_error"}}))
            return response
        for index, each in enumerate(found):
            rest = each.text[sent.get(index, 0) :]
            last = choice(index, rest, each.finish_reason, first=index not in sent)
            await response.write(event({**about, "choices": [last]}))
        await end(response, about, usage(found))
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
