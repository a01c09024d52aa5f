"""The protocol between the embedded model and its processes: JSON lines, each with the number of its request."""

from __future__ import annotations

from msgspec import Struct

from assay.core.types import Completion, Request

DOCUMENT_MARK = "<|endoftext|>"
"""Separates documents in training, so it is put before a text without a prompt."""


class Question(Struct, frozen=True, kw_only=True):
    """One line of input."""

    id: int
    request: Request
    chat: bool
    """Whether a bare prompt is a user's message."""
    max_tokens: int
    """For requests that do not limit the length of the answer."""
    prompt_tokens: list[int] | None = None
    """The prompt as token numbers, in place of the request's own."""
    echo: bool = False
    """Whether `raw` also has the prompt's tokens; an answer may then have no tokens at all."""
    stream: bool = False
    """Whether to send the text as it is generated."""


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of output: a completion, why there is none, or a piece of a streamed text."""

    id: int
    piece: str | None = None
    completion: Completion | None = None
    failure: str | None = None
    kind: str = "bad_request"
