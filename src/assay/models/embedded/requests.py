"""The requests of the embedded model's server: the bodies of the OpenAI protocol, with the fields it supports."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from assay.core.types import Message


class ServedRequest(Struct, kw_only=True):
    """The fields that both endpoints accept."""

    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    n: int = 1
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, Any] | None = None


class ChatRequest(ServedRequest, kw_only=True):
    """The body of `/v1/chat/completions`. Other fields are ignored."""

    messages: list[Message]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    tools: list[Any] | None = None
    response_format: dict[str, Any] | None = None


class TextRequest(ServedRequest, kw_only=True):
    """The body of `/v1/completions`."""

    prompt: str | list[Any]
    """A text, texts, token numbers, or lists of them."""
    max_tokens: int | None = None
    logprobs: int | None = None
    echo: bool = False
    suffix: str | None = None
    best_of: int | None = None


class EmbeddingRequest(Struct, kw_only=True):
    """The body of `/v1/embeddings`."""

    input: str | list[Any]
    """A text, texts, token numbers, or lists of them."""
    model: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


class ApiError(Exception):
    """Why a request cannot be answered: becomes the protocol's error response."""

    def __init__(self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code
