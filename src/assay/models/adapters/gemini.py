"""Google's Gemini API, spoken natively: contents and parts, thoughts, function calls, cached tokens.

What the platform's filters withheld, a blocked prompt or an answer that stopped for safety, is a failure of kind
`refused`; the key goes into a header, never into the address.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from assay.models.adapters.http_model import HttpModel, checked_base_url, endpoint, kind_of, retry_after_seconds
from assay.models.adapters.providers import named_server
from assay.models.adapters.reasoning import thinking_budget
from assay.transport.connection import HttpAnswer

OFFICIAL_BASE_URL = "https://generativelanguage.googleapis.com/v1beta"

VENDOR = "gemini"
FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
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
        timeout_seconds: float | None = 600.0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`extra` is merged into `generationConfig` of every request (`thinkingConfig`, `topK`, …)."""
        if not model:
            raise UsageError("`gemini` needs a model name: `gemini:MODEL`")
        model, base_url = named_server("gemini", model, base_url)
        self._model = model.removeprefix("models/")
        self._base_url = checked_base_url(base_url or OFFICIAL_BASE_URL)
        super().__init__(
            f"gemini:{self._model}",
            api_key_env=api_key_env,
            key_required=self._base_url == OFFICIAL_BASE_URL,
            timeout_seconds=timeout_seconds,
        )
        self._extra = dict(extra or {})
        self._url = gemini_url(self._base_url, self._model)
        if self._key:
            self._headers["x-goog-api-key"] = self._key
            self._refuse_key_in_settings(api_key_env)

    @property
    def settings(self) -> dict[str, Any]:
        return {"adapter": "gemini", "model": self._model, "base_url": self._base_url, "extra": self._extra}

    async def generate(self, request: Request) -> Completion:
        if request.continuation is not None:
            raise self._failed("unsupported", "the Gemini API cannot score a given continuation")
        body = gemini_body(request, self._extra)
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
            raise self._failed("bad_output", "the server's answer holds no candidates", retryable=True)
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
            why = self._clean(str(reason))
            raise self._failed("bad_output", f"the server's answer has no content (reason `{why}`)")
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

    def _kind_of(self, status: int, codes: set[str]) -> tuple[str, bool]:
        if "API_KEY_INVALID" in codes or "UNAUTHENTICATED" in codes or "PERMISSION_DENIED" in codes:
            return "auth", False
        if "RESOURCE_EXHAUSTED" in codes:
            return "rate_limit", True
        return kind_of(status, codes)

    def _retry_after_seconds(self, answer: HttpAnswer) -> float | None:
        """`Retry-After`, or the `retryDelay` that the error's details hold."""
        return retry_after_seconds(answer.headers) or _retry_delay(answer.body)


def gemini_url(base_url: str, model: str) -> str:
    return endpoint(base_url, f"/models/{quote(model, safe='')}:generateContent")


def gemini_body(request: Request, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The request as the API wants it; `extra` goes into `generationConfig`."""
    messages = request.messages or (Message(role="user", content=request.prompt or ""),)
    names = called_names(messages)
    system = [message for message in messages if message.role in ("system", "developer")]
    rest = [message for message in messages if message.role not in ("system", "developer")]
    contents = [
        {
            "role": "model" if group[0].role == "assistant" else "user",
            "parts": [part for message in group for part in _parts(message, names)],
        }
        for group in with_tool_results_together(rest)
    ]
    body: dict[str, Any] = {"contents": contents}
    if system:
        body["systemInstruction"] = {"parts": [part for message in system for part in _parts(message, names)]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [tool.get("function", tool) for tool in request.tools]}]
    config = {**_config(request), **extra, **(request.extra or {})}
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


def _parts(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The parts of a message: text, media, function calls, a function's answer, or parts in the API's own words."""
    if message.role == "tool":
        return [_function_response(message, names)]
    content = message.content if isinstance(message.content, list) else [message.content or ""]
    said = [_part_of(part) for part in content]
    if message.tool_calls:
        said = [part for part in said if part != {"text": ""}]
    return [*said, *(_function_call(call) for call in message.tool_calls or ())]


def _function_response(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    name = message.name or names.get(message.tool_call_id or "") or message.tool_call_id
    return {"functionResponse": {"name": name, "response": {"result": message.content}}}


def _function_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    part = {"functionCall": {"name": function["name"], "args": call_arguments(function.get("arguments"))}}
    signature = vendor_state(call, VENDOR)
    return {**part, "thoughtSignature": signature} if signature else part


def _part_of(part: Any) -> Any:
    found = read_part(part)
    if isinstance(found, str):
        return {"text": found}
    if isinstance(found, Media):
        return _media(found)
    return part


def _media(media: Media) -> dict[str, Any]:
    if media.url:
        return {"fileData": {"fileUri": media.url}}
    return {"inlineData": {"mimeType": media.mime_type, "data": media.data}}


def _most_tokens(request: Request) -> int | None:
    """The API counts what is thought too; the run's limit is meant for what is said."""
    if request.max_tokens is None or request.reasoning_effort is None:
        return request.max_tokens
    return request.max_tokens + thinking_budget(request.reasoning_effort)


def _thinking(effort: str | None) -> dict[str, Any] | None:
    if effort is None:
        return None
    budget = thinking_budget(effort)
    return {"thinkingBudget": budget, "includeThoughts": budget > 0}


def _format(wanted: dict[str, Any] | None) -> dict[str, Any]:
    """OpenAI's `response_format` in the API's words."""
    if wanted is None:
        return {}
    schema = (wanted.get("json_schema") or {}).get("schema")
    return {"responseMimeType": "application/json"} | ({"responseJsonSchema": schema} if schema else {})


def _call(part: _Part, number: int) -> dict[str, Any]:
    """A function call; where the API gives no id, one by its place among all calls of the conversation."""
    call = part.functionCall or _FunctionCall()
    made = {
        "id": call.id or f"call_{number}",
        "type": "function",
        "function": {"name": call.name, "arguments": bytes(call.args).decode() or "{}"},
    }
    return with_vendor_state(made, VENDOR, part.thoughtSignature)


def _logprobs(result: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """The API's two lists in the shape of chat servers: one entry per token, alternatives inside."""
    try:
        return _entries(result or {}) or None
    except (AttributeError, LookupError, TypeError):
        return None  # of another shape, which must not cost the answer


def _entries(result: dict[str, Any]) -> list[dict[str, Any]]:
    tops = result.get("topCandidates") or []
    entries: list[dict[str, Any]] = []
    for place, chosen in enumerate(result.get("chosenCandidates") or []):
        top = tops[place].get("candidates", []) if place < len(tops) else []
        ranked = [{"token": each.get("token"), "logprob": each.get("logProbability")} for each in top]
        entry = {"token": chosen.get("token"), "logprob": chosen.get("logProbability"), "top_logprobs": ranked}
        entries.append(entry)
    return entries


def _retry_delay(body: bytes) -> float | None:
    try:
        details = msgspec.json.decode(body)["error"]["details"]
        said = next(str(each["retryDelay"]) for each in details if "retryDelay" in each)
        return max(0.0, float(said.removesuffix("s")))
    except (msgspec.DecodeError, LookupError, TypeError, ValueError, StopIteration, RecursionError):
        return None
