"""What the embedded model and its processes say to each other: JSON lines, each with the number of its request."""

from __future__ import annotations

from msgspec import Struct

from assay.core.types import Completion, Request

DOCUMENT_MARK = "<|endoftext|>"
"""Stands between documents in training, so it stands before a text that has nothing before it."""


class Question(Struct, frozen=True, kw_only=True):
    """One line of input."""

    id: int
    request: Request
    chat: bool
    """Whether a bare prompt is a user's message."""
    max_tokens: int
    """For requests that do not say how long an answer may be."""
    prompt_tokens: list[int] | None = None
    """The prompt as token numbers, in place of the request's own."""
    echo: bool = False
    """Whether `raw` also has the prompt's tokens; then an answer may have no token at all."""
    stream: bool = False
    """Whether text is wanted as it is written."""


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of output: a completion, why there is none, or a piece of the text on the way to it."""

    id: int
    piece: str | None = None
    completion: Completion | None = None
    failure: str | None = None
    kind: str = "bad_request"
