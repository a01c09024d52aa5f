"""What the embedded model and its processes say to each other: one JSON line each way per request."""

from __future__ import annotations

from msgspec import Struct

from assay.core.types import Completion, Request

LINE_BYTES = 64 * 1024 * 1024
"""Longer than any reply; the reader of a pipe wants to know."""


class Question(Struct, frozen=True, kw_only=True):
    """One line of input."""

    id: int
    request: Request
    chat: bool
    """Whether a bare prompt is a user's message."""
    max_tokens: int
    """For requests that do not say how long an answer may be."""


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of output: a completion, or why there is none."""

    id: int
    completion: Completion | None = None
    failure: str | None = None
    kind: str = "bad_request"
