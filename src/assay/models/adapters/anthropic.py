"""Anthropic's native Messages API: separate system text, content blocks, tools, thinking, cached tokens.

An answer that the platform's classifiers cut off (`stop_reason: refusal`) is a failure of kind `refused`; a refusal
that the model wrote is an answer like any other. The API takes no seed and returns no log-probabilities: a seed is not
sent, and a request for log-probabilities fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.types import Completion, Message, Request
from assay.core.usage import token_count
from assay.models.adapters.chat_messages import (
    call_arguments,
    vendor_state,
    with_tool_results_together,
    with_vendor_state,
)
from assay.models.adapters.content_parts import Media, read_part, text_of_content
from assay.models.adapters.extra_fields import checked_extra, with_extra
from assay.models.adapters.http_model import (
    HttpModel,
    UnsupportedRequestError,
    checked_base_url,
    endpoint,
    kind_of,
)
from assay.models.adapters.options import USUAL_TIMEOUT_SECONDS
from assay.models.adapters.providers import named_server
from assay.models.adapters.reasoning import thinking_budget
from assay.overriding import override

OFFICIAL_BASE_URL = "https://api.anthropic.com"
VENDOR = "anthropic"
API_VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096
"""The API requires a limit; this one is for requests that set none."""

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}


class AnthropicModel(HttpModel):
    """Anthropic's Messages API: `anthropic:MODEL`, with the key from the environment variable ANTHROPIC_API_KEY.

    Thinking, tool calls, cached tokens and stop reasons are kept. `extra` is sent with every request.
    """

    offers = msgspec.structs.replace(
        HttpModel.offers,
        applies=("temperature", "top_p", "max_tokens", "stop", "reasoning_effort", "system", "prefill"),
    )

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "ANTHROPIC_API_KEY",
        max_tokens: int = DEFAULT_MAX_TOKENS,
        timeout_seconds: float | None = USUAL_TIMEOUT_SECONDS,
        extra: Mapping[str, Any] | None = None,
        beta: str | None = None,
    ) -> None:
        """`extra` is sent with every request (`thinking`, `metadata`, …); `beta` is the value of `anthropic-beta`."""
        if not model:
            raise UsageError("`anthropic` needs a model name: `anthropic:MODEL`")
        self._model, base_url = named_server("anthropic", model, base_url)
        self._base_url = checked_base_url(base_url or OFFICIAL_BASE_URL)
        self.at_usual_address = base_url is None
        super().__init__(
            f"anthropic:{self._model}",
            address=self._base_url,
            api_key_env=api_key_env,
            key_required=self._base_url == OFFICIAL_BASE_URL,
            timeout_seconds=timeout_seconds,
        )
        self._max_tokens = max_tokens
        self._extra = checked_extra(extra)
        self._beta = beta
        self._url = anthropic_url(self._base_url)
        self._headers["anthropic-version"] = API_VERSION
        if beta:
            self._headers["anthropic-beta"] = beta
        if self._key:
            self._headers["x-api-key"] = self._key
            self._refuse_key_in_settings(api_key_env)

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {
            "adapter": "anthropic",
            "model": self._model,
            "base_url": self._base_url,
            "max_tokens": self._max_tokens,
            "extra": self._extra,
            "beta": self._beta,
        }

    async def generate(self, request: Request) -> Completion:
        body = self._body(request)
        started = perf_counter()
        answer = await self._post(self._url, body)
        seconds = perf_counter() - started
        reply = self._decoded(answer, _decode_reply)
        if reply.stop_reason == "refusal":
            raise self._failed("refused", "the platform's classifiers cut the answer off (stop reason `refusal`)")
        return self._completion(reply, seconds)

    def _body(self, request: Request) -> dict[str, Any]:
        self._refuse_unsupported(request)
        try:
            return anthropic_body(request, self._extra, self._model, self._max_tokens)
        except UnsupportedRequestError as error:
            raise self._failed("unsupported", str(error)) from error

    def _refuse_unsupported(self, request: Request) -> None:
        if request.continuation is not None:
            raise self._failed("unsupported", "the Messages API cannot score a given continuation")
        if request.logprobs is not None:
            raise self._failed("unsupported", "the Messages API returns no log-probabilities")
        if request.response_format is not None:
            raise self._failed("unsupported", "response_format is OpenAI's; give the API's own field with extra")
        if problem := _problem_with(request):
            raise self._failed("unsupported", problem)

    def _completion(self, reply: _Reply, seconds: float) -> Completion:
        blocks = reply.content
        text = self._redactor.joined([block.text or "" for block in blocks if block.type == "text"])
        calls = _calls(blocks)
        thinking = self._redactor.joined([block.thinking or "" for block in blocks if block.type == "thinking"])
        if not blocks and reply.stop_reason not in FINISH_REASONS:
            reason = self._clean(str(reply.stop_reason))
            raise self._failed("bad_output", f"the answer has no content (stop reason `{reason}`)")
        usage = reply.usage
        raw = {"model": reply.model} if reply.model and reply.model != self._model else None
        return Completion(
            text=text,
            finish_reason=FINISH_REASONS.get(reply.stop_reason or "", reply.stop_reason),
            tokens_in=token_count(usage.all_in()),
            tokens_out=token_count(usage.output_tokens),
            tokens_cached=token_count(usage.cache_read_input_tokens),
            seconds=seconds,
            reasoning=thinking or None,
            tool_calls=calls or None,
            raw=raw,
        )

    @override
    def _kind_of(self, status: int, codes: set[str]) -> tuple[str, bool]:
        if "overloaded_error" in codes or status == 529:
            return "overloaded", True
        if "request_too_large" in codes or status == 413:
            return "too_long", False
        if "billing_error" in codes or status == 402:
            return "auth", False
        return kind_of(status, codes)


def anthropic_url(base_url: str) -> str:
    return endpoint(base_url.removesuffix("/v1"), "/v1/messages")


def anthropic_body(request: Request, extra: Mapping[str, Any], model: str, max_tokens: int) -> dict[str, Any]:
    """The request in the API's format; `max_tokens` is for a request without a limit."""
    system, messages = _split_system(request.messages or (Message(role="user", content=request.prompt or ""),))
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": max_tokens if request.max_tokens is None else request.max_tokens,
        "messages": [_message(group) for group in with_tool_results_together(messages)],
    }
    optional = {
        "system": system,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop_sequences": request.stop or None,
        "tools": [_tool(tool) for tool in request.tools] if request.tools else None,
    }
    body |= {name: value for name, value in optional.items() if value is not None}
    if request.reasoning_effort is not None and (budget := thinking_budget(request.reasoning_effort)):
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
        body["max_tokens"] += budget  # the API counts thinking too; the request's limit is for the answer
    return with_extra(body, extra, request.extra)


class _Block(Struct, frozen=True):
    type: str
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")
    signature: str | None = None
    data: str | None = None


class _Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def all_in(self) -> int | None:
        """All input tokens: `input_tokens` excludes those read from the cache and written to it."""
        if self.input_tokens is None:
            return None
        return self.input_tokens + (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)


class _Reply(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage = _Usage()
    model: str | None = None


_decode_reply = msgspec.json.Decoder(_Reply).decode


def _problem_with(request: Request) -> str | None:
    """Why the API would answer the request with 400, in terms of our flags."""
    prefill = _prefill(request)
    if prefill != prefill.rstrip():
        return "--prefill must not end with whitespace"
    if not thinking_budget(request.reasoning_effort or "none"):
        return None
    if prefill:
        return "--prefill cannot be combined with --reasoning-effort"
    if request.temperature not in (None, 1.0) or (request.top_p is not None and request.top_p < 0.95):
        return "with --reasoning-effort the temperature must be 1 and top_p at least 0.95"
    return None


def _prefill(request: Request) -> str:
    last = request.messages[-1] if request.messages else None
    return text_of_content(last.content) if last and last.role == "assistant" and not last.tool_calls else ""


def _split_system(messages: Sequence[Message]) -> tuple[str | None, list[Message]]:
    system = [text_of_content(message.content) for message in messages if message.role in ("system", "developer")]
    rest = [message for message in messages if message.role not in ("system", "developer")]
    return "\n\n".join(system) or None, rest


def _message(group: Sequence[Message]) -> dict[str, Any]:
    """One message in the API's format: tool results are one user message, a tool call is an assistant's block."""
    message = group[0]
    if message.role == "tool":
        return {"role": "user", "content": [_tool_result(result) for result in group]}
    if not message.tool_calls:
        return {"role": message.role, "content": _content(message.content)}
    thoughts = [block for call in message.tool_calls for block in vendor_state(call, VENDOR) or ()]
    text = text_of_content(message.content)
    texts = [{"type": "text", "text": text}] if text else []
    calls = [
        {
            "type": "tool_use",
            "id": call.get("id"),
            "name": call["function"]["name"],
            "input": call_arguments(call["function"].get("arguments")),
        }
        for call in message.tool_calls
    ]
    return {"role": "assistant", "content": [*thoughts, *texts, *calls]}


def _tool_result(message: Message) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": _content(message.content)}


def _content(content: Any) -> Any:
    return [_block_of(part) for part in content] if isinstance(content, list) else content


def _block_of(part: Any) -> Any:
    content = read_part(part)
    if isinstance(content, str):
        return {"type": "text", "text": content}
    if content is None:
        return part  # already in the API's format
    if content.kind == "audio":
        raise UnsupportedRequestError("the Messages API takes no audio")
    return {"type": "image", "source": _source(content)}


def _source(image: Media) -> dict[str, Any]:
    if image.url:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": image.mime_type, "data": image.data}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A function in OpenAI's format, converted to the API's; anything else unchanged."""
    function = tool.get("function")
    if not isinstance(function, dict):
        return tool
    converted = {"name": function["name"], "input_schema": function.get("parameters") or {"type": "object"}}
    return converted | ({"description": function["description"]} if function.get("description") else {})


def _calls(blocks: Sequence[_Block]) -> list[dict[str, Any]]:
    """The tool calls of an answer; the first carries the thoughts before them, which the API requires unchanged."""
    calls = [_call(block) for block in blocks if block.type == "tool_use"]
    thoughts = [_thought(block) for block in blocks if block.type in ("thinking", "redacted_thinking")]
    return [with_vendor_state(calls[0], VENDOR, thoughts), *calls[1:]] if calls else []


def _thought(block: _Block) -> dict[str, Any]:
    if block.type == "redacted_thinking":
        return {"type": block.type, "data": block.data}
    return {"type": block.type, "thinking": block.thinking or "", "signature": block.signature}


def _call(block: _Block) -> dict[str, Any]:
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": bytes(block.input).decode() or "{}"},
    }
