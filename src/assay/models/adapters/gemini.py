"""Google's native Gemini API: contents and parts, thoughts, function calls, cached tokens.

A prompt that the platform's filters blocked, or an answer that they withheld, is a failure of kind `refused`. The key
is sent in a header, never in the address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from assay.core.errors import UsageError
from assay.core.types import Completion, Message, Request
from assay.core.usage import token_count
from assay.models.adapters.chat_messages import (
    call_arguments,
    called_names,
    vendor_state,
    with_tool_results_together,
    with_vendor_state,
)
from assay.models.adapters.content_parts import Media, read_part
from assay.models.adapters.extra_fields import checked_extra, with_extra
from assay.models.adapters.http_model import (
    HttpModel,
    UnsupportedRequestError,
    checked_base_url,
    endpoint,
    kind_of,
    retry_after_seconds,
)
from assay.models.adapters.options import USUAL_TIMEOUT_SECONDS
from assay.models.adapters.providers import named_server
from assay.models.adapters.reasoning import thinking_budget
from assay.overriding import override
from assay.transport.connection import HttpAnswer

OFFICIAL_BASE_URL = "https://generativelanguage.googleapis.com/v1beta"

VENDOR = "gemini"
FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
UNSIGNED = "skip_thought_signature_validator"
"""What the API's guide (thought signatures) has clients send with a call that another model made."""
WITHOUT_SIGNATURES = ("gemini-1.", "gemini-2.", "gemma")
"""Models that accept calls without a signature; later ones answer 400."""
WITHHELD = {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"}


class GeminiModel(HttpModel):
    """Google's Gemini API: `gemini:MODEL`, with the key from the environment variable GEMINI_API_KEY.

    Thoughts, function calls, cached tokens and finish reasons are kept. `extra` goes into `generationConfig`.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "GEMINI_API_KEY",
        timeout_seconds: float | None = USUAL_TIMEOUT_SECONDS,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`extra` is merged into `generationConfig` of every request (`thinkingConfig`, `topK`, …)."""
        if not model:
            raise UsageError("`gemini` needs a model name: `gemini:MODEL`")
        model, base_url = named_server("gemini", model, base_url)
        self._model = model.removeprefix("models/")
        self._base_url = checked_base_url(base_url or OFFICIAL_BASE_URL)
        self.at_usual_address = base_url is None
        super().__init__(
            f"gemini:{self._model}",
            address=self._base_url,
            api_key_env=api_key_env,
            key_required=self._base_url == OFFICIAL_BASE_URL,
            timeout_seconds=timeout_seconds,
        )
        self._extra = checked_extra(extra)
        self._url = gemini_url(self._base_url, self._model)
        if self._key:
            self._headers["x-goog-api-key"] = self._key
            self._refuse_key_in_settings(api_key_env)

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"adapter": "gemini", "model": self._model, "base_url": self._base_url, "extra": self._extra}

    async def generate(self, request: Request) -> Completion:
        if request.continuation is not None:
            raise self._failed("unsupported", "the Gemini API cannot score a given continuation")
        try:
            body = gemini_body(request, self._extra, self._model)
        except UnsupportedRequestError as error:
            raise self._failed("unsupported", str(error)) from error
        started = perf_counter()
        answer = await self._post(self._url, body)
        seconds = perf_counter() - started
        earlier_calls = len(called_names(request.messages or ()))
        return self._completion(self._decoded(answer, _decode_reply), seconds, earlier_calls)

    def _completion(self, reply: _Reply, seconds: float, earlier_calls: int) -> Completion:
        blocked = (reply.promptFeedback or {}).get("blockReason")
        if blocked:
            raise self._failed("refused", f"the prompt was blocked ({self._clean(str(blocked))})")
        if not reply.candidates:
            raise self._failed("bad_output", "the server's answer has no candidates", retryable=True)
        candidate = reply.candidates[0]
        reason = candidate.finishReason
        if reason in WITHHELD:
            raise self._failed("refused", f"the server's filter withheld the answer ({reason})")
        if reason == "MALFORMED_FUNCTION_CALL":
            raise self._failed("bad_output", "the model wrote a function call that cannot be read", retryable=True)
        parts = candidate.content.parts
        calling = [part for part in parts if part.functionCall is not None]
        calls = [_call(part, place) for place, part in enumerate(calling, earlier_calls)]
        if not parts and reason not in FINISH_REASONS:
            shown = self._clean(str(reason))
            raise self._failed("bad_output", f"the server's answer has no content (reason `{shown}`)")
        usage = reply.usageMetadata
        return Completion(
            text=self._redactor.joined([part.text or "" for part in parts if not part.thought]),
            finish_reason="tool_calls" if calls else FINISH_REASONS.get(reason or "", reason),
            tokens_in=token_count(usage.promptTokenCount),
            tokens_out=token_count(usage.all_out()),
            tokens_cached=token_count(usage.cachedContentTokenCount),
            tokens_reasoning=token_count(usage.thoughtsTokenCount),
            seconds=seconds,
            reasoning=self._redactor.joined([part.text or "" for part in parts if part.thought]) or None,
            tool_calls=calls or None,
            logprobs=self._without_key(_logprobs(candidate.logprobsResult)),
            raw={"model": reply.modelVersion} if reply.modelVersion and reply.modelVersion != self._model else None,
        )

    @override
    def _kind_of(self, status: int, codes: set[str]) -> tuple[str, bool]:
        if "API_KEY_INVALID" in codes or "UNAUTHENTICATED" in codes or "PERMISSION_DENIED" in codes:
            return "auth", False
        if "RESOURCE_EXHAUSTED" in codes:
            return "rate_limit", True
        return kind_of(status, codes)

    @override
    def _retry_after_seconds(self, answer: HttpAnswer) -> float | None:
        """`Retry-After`, or the `retryDelay` in the error's details."""
        return retry_after_seconds(answer.headers) or _retry_delay(answer.body)


def gemini_url(base_url: str, model: str) -> str:
    return endpoint(base_url, f"/models/{quote(model, safe='')}:generateContent")


def gemini_body(request: Request, extra: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The request in the API's format; `extra` goes into `generationConfig`."""
    messages = request.messages or (Message(role="user", content=request.prompt or ""),)
    earlier = _EarlierCalls(messages, unsigned=None if model.startswith(WITHOUT_SIGNATURES) else UNSIGNED)
    system = [message for message in messages if message.role in ("system", "developer")]
    rest = [message for message in messages if message.role not in ("system", "developer")]
    contents = [
        {
            "role": "model" if group[0].role == "assistant" else "user",
            "parts": [part for message in group for part in _parts(message, earlier)],
        }
        for group in with_tool_results_together(rest)
    ]
    body: dict[str, Any] = {"contents": contents}
    if system:
        body["systemInstruction"] = {"parts": [part for message in system for part in _parts(message, earlier)]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [tool.get("function", tool) for tool in request.tools]}]
    config = with_extra(_config(request), extra, request.extra)
    if config:
        body["generationConfig"] = config
    return body


def _config(request: Request) -> dict[str, Any]:
    config = {
        "temperature": request.temperature,
        "topP": request.top_p,
        "maxOutputTokens": _most_tokens(request),
        "stopSequences": list(request.stop) if request.stop else None,
        "seed": request.seed,
        "responseLogprobs": True if request.logprobs is not None else None,
        "logprobs": request.logprobs or None,
        "thinkingConfig": _thinking(request.reasoning_effort),
        **_format(request.response_format),
    }
    return {name: value for name, value in config.items() if value is not None}


class _Part(Struct, frozen=True):
    text: str | None = None
    thought: bool = False
    functionCall: _FunctionCall | None = None  # noqa: N815 - the API's name
    thoughtSignature: str | None = None  # noqa: N815 - the API's name


class _FunctionCall(Struct, frozen=True):
    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _Content(Struct, frozen=True):
    parts: list[_Part] = []


class _Candidate(Struct, frozen=True):
    content: _Content = field(default_factory=_Content)
    finishReason: str | None = None  # noqa: N815 - the API's name
    logprobsResult: dict[str, Any] | None = None  # noqa: N815 - the API's name


class _Usage(Struct, frozen=True):
    promptTokenCount: int | None = None  # noqa: N815 - the API's name
    candidatesTokenCount: int | None = None  # noqa: N815 - the API's name
    thoughtsTokenCount: int | None = None  # noqa: N815 - the API's name
    cachedContentTokenCount: int | None = None  # noqa: N815 - the API's name

    def all_out(self) -> int | None:
        if self.candidatesTokenCount is None and self.thoughtsTokenCount is None:
            return None
        return (self.candidatesTokenCount or 0) + (self.thoughtsTokenCount or 0)


class _Reply(Struct, frozen=True):
    candidates: list[_Candidate] = []
    promptFeedback: dict[str, Any] | None = None  # noqa: N815 - the API's name
    usageMetadata: _Usage = _Usage()  # noqa: N815 - the API's name
    modelVersion: str | None = None  # noqa: N815 - the API's name


_decode_reply = msgspec.json.Decoder(_Reply).decode


class _EarlierCalls:
    """The calls that a conversation holds: the function of each, and the id that the API gave it, if any."""

    def __init__(self, messages: Sequence[Message], unsigned: str | None) -> None:
        self.names = called_names(messages)
        self.unsigned = unsigned
        calls = [call for message in messages for call in message.tool_calls or ()]
        self.ids = {str(call.get("id")): _id_field(call) for call in calls}


def _parts(message: Message, earlier: _EarlierCalls) -> list[dict[str, Any]]:
    """The parts of a message: text, media, function calls, a function's result, or parts in the API's own format."""
    if message.role == "tool":
        return [_function_response(message, earlier)]
    content = message.content if isinstance(message.content, list) else [message.content or ""]
    parts = [_part_of(part) for part in content]
    if not message.tool_calls:
        return parts
    calls = [_function_call(call) for call in message.tool_calls]
    if earlier.unsigned and not any("thoughtSignature" in call for call in calls):
        calls[0]["thoughtSignature"] = earlier.unsigned  # the API checks the first of calls made at once
    return [*(part for part in parts if part != {"text": ""}), *calls]


def _function_response(message: Message, earlier: _EarlierCalls) -> dict[str, Any]:
    call_id = message.tool_call_id or ""
    name = message.name or earlier.names.get(call_id) or message.tool_call_id
    response = {"name": name, "response": {"result": message.content}}
    return {"functionResponse": {**earlier.ids.get(call_id, {}), **response}}


def _function_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    part: dict[str, Any] = {"name": function["name"], "args": call_arguments(function.get("arguments"))}
    signature = (vendor_state(call, VENDOR) or {}).get("thoughtSignature")
    return {"functionCall": {**_id_field(call), **part}} | ({"thoughtSignature": signature} if signature else {})


def _id_field(call: Mapping[str, Any]) -> dict[str, str]:
    """The id where the API gave the call one, which it then expects with the result."""
    given_id = (vendor_state(call, VENDOR) or {}).get("id")
    return {"id": given_id} if given_id else {}


def _part_of(part: Any) -> Any:
    content = read_part(part)
    if isinstance(content, str):
        return {"text": content}
    return part if content is None else _media(content)


def _media(media: Media) -> dict[str, Any]:
    if media.url:
        return {"fileData": {"fileUri": media.url}}
    return {"inlineData": {"mimeType": media.mime_type, "data": media.data}}


def _most_tokens(request: Request) -> int | None:
    """The API counts thinking too; the run's limit is for the answer."""
    if request.max_tokens is None or request.reasoning_effort is None:
        return request.max_tokens
    return request.max_tokens + thinking_budget(request.reasoning_effort)


def _thinking(effort: str | None) -> dict[str, Any] | None:
    if effort is None:
        return None
    budget = thinking_budget(effort)
    return {"thinkingBudget": budget, "includeThoughts": budget > 0}


def _format(response_format: dict[str, Any] | None) -> dict[str, Any]:
    """OpenAI's `response_format`, converted to the API's fields."""
    if response_format is None:
        return {}
    schema = (response_format.get("json_schema") or {}).get("schema")
    return {"responseMimeType": "application/json"} | ({"responseJsonSchema": schema} if schema else {})


def _call(part: _Part, number: int) -> dict[str, Any]:
    """A function call; where the API gives no id, it is numbered among all calls of the conversation."""
    call = part.functionCall or _FunctionCall()
    converted = {
        "id": call.id or f"call_{number}",
        "type": "function",
        "function": {"name": call.name, "arguments": bytes(call.args).decode() or "{}"},
    }
    state = {"thoughtSignature": part.thoughtSignature, "id": call.id}
    return with_vendor_state(converted, VENDOR, {name: value for name, value in state.items() if value})


def _logprobs(result: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """The API's two lists in the format of chat servers: one entry per token, with its alternatives."""
    try:
        return _entries(result or {}) or None
    except (AttributeError, LookupError, TypeError):
        return None  # an unexpected format must not cost the answer


def _entries(result: dict[str, Any]) -> list[dict[str, Any]]:
    tops = result.get("topCandidates") or []
    entries: list[dict[str, Any]] = []
    for place, chosen in enumerate(result.get("chosenCandidates") or []):
        top = tops[place].get("candidates", []) if place < len(tops) else []
        ranked = [{"token": item.get("token"), "logprob": item.get("logProbability")} for item in top]
        entry = {"token": chosen.get("token"), "logprob": chosen.get("logProbability"), "top_logprobs": ranked}
        entries.append(entry)
    return entries


def _retry_delay(body: bytes) -> float | None:
    try:
        details = msgspec.json.decode(body)["error"]["details"]
        delay = next(str(detail["retryDelay"]) for detail in details if "retryDelay" in detail)
        return max(0.0, float(delay.removesuffix("s")))
    except (msgspec.DecodeError, LookupError, TypeError, ValueError, StopIteration, RecursionError):
        return None
