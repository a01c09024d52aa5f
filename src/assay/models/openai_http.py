"""Any server that speaks the OpenAI protocol: chat completions and text completions, over plain HTTP.

The server's answer is read strictly: what is not a usable answer is a failure with a kind, never an empty text.
Two things that look alike are kept apart: a refusal the model wrote is an answer, an answer the platform's filter
withheld is a failure of kind `refused`. A model that spent its whole budget thinking did answer: with an empty text
and finish reason `length`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import perf_counter
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Failure, Request
from assay.models.chat_messages import message_body
from assay.models.http_client import HttpAnswer, HttpClient
from assay.models.options import checked_timeout, one_of

OFFICIAL_BASE_URL = "https://api.openai.com/v1"
Mode = Literal["chat", "completions"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]


class OpenAIModel:
    """One model on one server. The key is named by its environment variable and kept in a request header only."""

    cacheable = True
    """Its settings and a request say all that decides the answer, and asking again costs money."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        api_key_header: str = "Authorization",
        mode: Mode = "chat",
        max_tokens_field: MaxTokensField | None = None,
        timeout_seconds: float | None = 600.0,
        extra: Mapping[str, Any] | None = None,
        keep_raw: bool = False,
    ) -> None:
        """`extra` is sent with every request; `keep_raw` keeps the server's whole answer in `Completion.raw`."""
        if not model:
            raise UsageError("`openai` needs a model name: `openai:MODEL`, for example `openai:gpt-4o-mini`")
        self.name = f"openai:{model}"
        self._model = model
        self._base_url = _checked_base_url(base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_BASE_URL)
        self._mode = one_of("mode", mode, ("chat", "completions"))
        self.scores_continuations = self._mode == "completions"
        self._official = self._base_url == OFFICIAL_BASE_URL
        self._max_tokens_field = one_of(
            "max_tokens_field",
            max_tokens_field or self._usual_max_tokens_field(),
            ("max_tokens", "max_completion_tokens"),
        )
        if not isinstance(extra, Mapping | None):
            raise UsageError(f"extra must be a mapping of parameter names to values, not {extra!r}")
        self._timeout_seconds = checked_timeout(timeout_seconds)
        self._extra = dict(extra or {})
        self._keep_raw = keep_raw
        self._url = _endpoint(self._base_url, "/chat/completions" if mode == "chat" else "/completions")
        self._key = self._key_from_environment(api_key_env)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            bearer = api_key_header.lower() == "authorization"
            self._headers[api_key_header] = f"Bearer {self._key}" if bearer else self._key
            self._refuse_key_in_settings(api_key_env)
        self._client = HttpClient(part=self.name)

    def __repr__(self) -> str:
        return f"OpenAIModel({self._model!r}, base_url={self._base_url!r}, mode={self._mode!r})"

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the answers, as plain data without secrets: part of every cache key and run fingerprint."""
        return {
            "adapter": "openai",
            "model": self._model,
            "base_url": self._base_url,
            "mode": self._mode,
            "max_tokens_field": self._max_tokens_field,
            "extra": self._extra,
        }

    async def generate(self, request: Request) -> Completion:
        """Ask once. Every way this can go wrong is a `FailureError`; asking again is `Retrying`'s work."""
        body = _encode(self._body(request))
        started = perf_counter()
        answer = await self._client.post_json(self._url, body, self._headers, self._timeout_seconds)
        seconds = perf_counter() - started
        if answer.status != 200:
            raise self._status_failure(answer.status, answer)
        reply = self._reply(answer)
        raw = self._raw(reply, answer)
        if self._mode == "chat":
            return self._chat_completion(reply, seconds, raw)
        if request.continuation is not None:
            return self._continuation_score(reply, request, seconds, raw)
        return self._text_completion(reply, seconds, raw)

    async def aclose(self) -> None:
        await self._client.aclose()

    # -- what is sent ------------------------------------------------------------------------------------------

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model}
        if self._mode == "chat":
            self._add_chat(body, request)
        else:
            self._add_text(body, request)
        if request.max_tokens is not None and request.continuation is None:
            body[self._max_tokens_field] = request.max_tokens
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.stop:
            body["stop"] = request.stop
        if request.seed is not None:
            body["seed"] = request.seed
        if request.response_format is not None:
            body["response_format"] = request.response_format
        body.update(self._extra)
        if request.extra:
            body.update(request.extra)
        return body

    def _add_chat(self, body: dict[str, Any], request: Request) -> None:
        if request.continuation is not None:
            raise self._failed("unsupported", "a chat endpoint cannot score a given continuation; use mode=completions")
        if request.messages is not None:
            body["messages"] = [message_body(message) for message in request.messages]
        else:
            body["messages"] = [{"role": "user", "content": request.prompt or ""}]
        if request.logprobs is not None:
            body["logprobs"] = True
            if request.logprobs:
                body["top_logprobs"] = request.logprobs
        if request.tools:
            body["tools"] = request.tools

    def _add_text(self, body: dict[str, Any], request: Request) -> None:
        if request.tools:
            raise self._failed("unsupported", "a text endpoint takes no tools; use mode=chat")
        if any(not isinstance(message.content, str) for message in request.messages or ()):
            raise self._failed("unsupported", "a text endpoint takes only text; the request has other content")
        body["prompt"] = request.text()
        if request.continuation is not None:
            # one token is asked for because some servers refuse none; whatever it is lies behind the text we score
            body.update(prompt=body["prompt"] + request.continuation, echo=True, logprobs=1, max_tokens=1)
        elif request.logprobs is not None:
            body["logprobs"] = request.logprobs

    # -- what came back ----------------------------------------------------------------------------------------

    def _reply(self, answer: HttpAnswer) -> _Reply:
        content_type = answer.headers.get("Content-Type", "")
        if content_type and "json" not in content_type.lower():
            message = f"the server answered with `{content_type}` instead of JSON: {self._clean(answer.body)}"
            raise self._failed("bad_output", message, retryable=True)
        try:
            reply = _decode_reply(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"the server's answer cannot be read ({error}): {self._clean(answer.body)}"
            # a well-formed answer of another shape will have that shape again, a torn one may not
            retryable = not isinstance(error, msgspec.ValidationError)
            raise self._failed("bad_output", message, retryable=retryable) from error
        if reply.error is not None:
            # some gateways report an upstream's failure inside a 200
            code = reply.error.get("code") if isinstance(reply.error, dict) else None
            raise self._status_failure(code if isinstance(code, int) and code >= 400 else 500, answer)
        if not reply.choices:
            message = f"the server's answer holds no choices: {self._clean(answer.body)}"
            raise self._failed("bad_output", message, retryable=True)
        if reply.choices[0].finish_reason == "content_filter":
            raise self._failed("refused", "the server's content filter withheld the answer")
        return reply

    def _chat_completion(self, reply: _Reply, seconds: float, raw: dict[str, Any] | None) -> Completion:
        choice = reply.choices[0]
        message = choice.message
        if message is None:
            raise self._failed("bad_output", "the server's answer holds a choice without a message")
        text, reasoning = _text_of(message)
        if text is None:
            text = self._text_without_content(choice, message)
        usage = reply.usage or _NO_USAGE
        return Completion(
            text=text,
            finish_reason=choice.finish_reason,
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            tokens_cached=usage.cached(),
            seconds=seconds,
            reasoning=reasoning,
            refusal=message.refusal or None,
            tool_calls=message.tool_calls or None,
            logprobs=_chat_logprobs(choice.logprobs),
            raw=raw,
        )

    def _text_without_content(self, choice: _Choice, message: _Answer) -> str:
        if message.refusal:
            return message.refusal
        if message.tool_calls or choice.finish_reason == "length":
            return ""
        reason = f"finish reason `{choice.finish_reason}`"
        raise self._failed("bad_output", f"the server's answer has no content ({reason})")

    def _text_completion(self, reply: _Reply, seconds: float, raw: dict[str, Any] | None) -> Completion:
        choice = reply.choices[0]
        if choice.text is None:
            raise self._failed("bad_output", f"the server's answer has no text (reason `{choice.finish_reason}`)")
        usage = reply.usage or _NO_USAGE
        return Completion(
            text=choice.text,
            finish_reason=choice.finish_reason,
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            tokens_cached=usage.cached(),
            seconds=seconds,
            logprobs=_text_logprobs(choice.logprobs),
            raw=raw,
        )

    def _continuation_score(
        self, reply: _Reply, request: Request, seconds: float, raw: dict[str, Any] | None
    ) -> Completion:
        """The log-likelihood of the continuation: every token that reaches into it, none that begins behind it."""
        continuation = request.continuation or ""
        begin = len(request.text())
        end = begin + len(continuation)
        total, counted = 0.0, 0
        for token, logprob, offset in _offset_logprobs(reply.choices[0].logprobs):
            if offset + len(token) <= begin or offset >= end:
                continue
            if logprob is None:
                raise self._failed("bad_output", "the server gave no log-probability for a token of the continuation")
            total += logprob
            counted += 1
        if not counted:
            message = "the server did not send the log-probabilities of the prompt (`echo` with `logprobs`)"
            raise self._failed("unsupported", message)
        usage = reply.usage or _NO_USAGE
        raw = {**(raw or {}), "continuation_tokens": counted}
        return Completion(text=continuation, logprob=total, tokens_in=usage.prompt_tokens, seconds=seconds, raw=raw)

    def _raw(self, reply: _Reply, answer: HttpAnswer) -> dict[str, Any] | None:
        if self._keep_raw:
            whole = msgspec.json.decode(answer.body)
            return whole if isinstance(whole, dict) else None
        raw: dict[str, Any] = {}
        if reply.model and reply.model != self._model:
            raw["model"] = reply.model
        if reply.system_fingerprint:
            raw["system_fingerprint"] = reply.system_fingerprint
        return raw or None

    # -- what went wrong ---------------------------------------------------------------------------------------

    def _status_failure(self, status: int, answer: HttpAnswer) -> FailureError:
        said, codes = _error_text(answer.body)
        kind, retryable = _kind_of(status, codes)
        if answer.headers.get("x-should-retry") == "false":
            retryable = False
        message = f"{urlsplit(self._url).hostname} answered {status}"
        if said:
            message += f": {self._clean(said)}"
        if 300 <= status < 400:
            target = urlsplit(answer.headers.get("Location", ""))
            message += f"; redirects are not followed, set base_url (it points to {target.hostname or 'nowhere'})"
        if kind == "auth" and not self._key:
            message += "; no key was sent"
        wait = _retry_after_seconds(answer.headers) if retryable else None
        return self._failed(kind, message, retryable=retryable, retry_after_seconds=wait)

    def _failed(
        self, kind: str, message: str, *, retryable: bool = False, retry_after_seconds: float | None = None
    ) -> FailureError:
        failure = Failure(stage="model", part=self.name, kind=kind, message=message, retryable=retryable)
        return FailureError(failure, retry_after_seconds)

    def _clean(self, said: str | bytes) -> str:
        """What a server said, fit for a message: one line, short, without control characters and without the key."""
        text = said[:4000].decode("utf-8", "replace") if isinstance(said, bytes) else said[:4000]
        if self._key:
            text = text.replace(self._key, "[key]")
        text = " ".join(_UNPRINTABLE.sub(" ", text).split())
        return text if len(text) <= 400 else text[:400] + "…"

    # -- set-up ------------------------------------------------------------------------------------------------

    def _usual_max_tokens_field(self) -> MaxTokensField:
        # the official chat endpoint refuses `max_tokens` for its newer models; most other servers know only that
        return "max_completion_tokens" if self._official and self._mode == "chat" else "max_tokens"

    def _key_from_environment(self, variable: str) -> str | None:
        key = os.environ.get(variable, "").strip()
        if not key and self._official:
            raise UsageError(
                f"`{self.name}` needs a key: set the environment variable {variable}, "
                "or name another with api_key_env, or another server with base_url"
            )
        if not key.isascii() or not key.isprintable():
            raise UsageError(f"the key in the environment variable {variable} has characters no key can have")
        return key or None

    def _refuse_key_in_settings(self, variable: str) -> None:
        if self._key and self._key in msgspec.json.encode(self.settings).decode():
            raise UsageError(
                f"the options of `{self.name}` hold the key itself; options are written into run files, "
                f"so a key is only ever named: api_key_env={variable}"
            )


make = OpenAIModel
"""What the catalog calls for `openai:MODEL`."""


class _Usage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: dict[str, Any] | None = None

    def cached(self) -> int | None:
        count = (self.prompt_tokens_details or {}).get("cached_tokens")
        return count if isinstance(count, int) else None


class _Answer(Struct, frozen=True):
    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Choice(Struct, frozen=True):
    message: _Answer | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None


class _Reply(Struct, frozen=True):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    error: Any = None


_NO_USAGE = _Usage()
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_encode = msgspec.json.Encoder().encode
_decode_reply = msgspec.json.Decoder(_Reply).decode


def _text_of(message: _Answer) -> tuple[str | None, str | None]:
    """The answer and the thinking before it; content parts are joined."""
    reasoning = message.reasoning_content or message.reasoning or None
    content = message.content
    if isinstance(content, list):
        texts = [part["text"] for part in content if part.get("type") == "text" and isinstance(part.get("text"), str)]
        return ("".join(texts) if texts else None), reasoning
    return content, reasoning


def _chat_logprobs(logprobs: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    content = (logprobs or {}).get("content")
    return content if isinstance(content, list) else None


def _text_logprobs(logprobs: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """The text endpoint's parallel lists, in the chat endpoint's shape: one entry per token."""
    if not logprobs or not isinstance(logprobs.get("tokens"), list):
        return None
    alternatives = logprobs.get("top_logprobs") or []
    entries: list[dict[str, Any]] = []
    for position, (token, logprob, _) in enumerate(_offset_logprobs(logprobs)):
        top = alternatives[position] if position < len(alternatives) else None
        ranked = [{"token": name, "logprob": value} for name, value in (top or {}).items()]
        entries.append({"token": token, "logprob": logprob, "top_logprobs": ranked})
    return entries


def _offset_logprobs(logprobs: dict[str, Any] | None) -> list[tuple[str, float | None, int]]:
    """(token, log-probability, where it begins in the text) for each token; empty when the lists do not match."""
    lists = [(logprobs or {}).get(name) or [] for name in ("tokens", "token_logprobs", "text_offset")]
    tokens, values, offsets = lists
    if not offsets:
        offsets = [0] * len(tokens)
    if not len(tokens) == len(values) == len(offsets):
        return []
    return list(zip(tokens, values, offsets, strict=True))


def _error_text(body: bytes) -> tuple[str, set[str]]:
    """What the server said was wrong, and the code words it used, whatever shape it chose for them."""
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body[:4000].decode("utf-8", "replace"), set()
    if not isinstance(told, dict):
        return str(told), set()
    error = told.get("error", told)
    if not isinstance(error, dict):
        return str(error), set()
    codes = {value for value in (error.get("code"), error.get("type")) if isinstance(value, str)}
    inner = error.get("innererror")
    if isinstance(inner, dict) and isinstance(inner.get("code"), str):
        codes.add(inner["code"])
    for field in ("message", "detail", "error"):
        if error.get(field):
            return str(error[field]), codes
    return body[:4000].decode("utf-8", "replace"), codes


_OUT_OF_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_FILTERED = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}


def _kind_of(status: int, codes: set[str]) -> tuple[str, bool]:
    """(kind of failure, whether asking again may help) for a status that is not 200."""
    if codes & _FILTERED:
        return "refused", False
    if "context_length_exceeded" in codes:
        return "too_long", False
    if status == 429:
        return "rate_limit", not codes & _OUT_OF_MONEY
    if status in (401, 403):
        return "auth", False
    if status in (408, 409, 425) or status >= 500:
        return "server_error", True
    return "bad_request", False


def _retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How long the server asks us to wait, in whichever of its dialects; None when it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("Retry-After")
    if said is not None:
        seconds = _number(said)
        return seconds if seconds is not None else _seconds_until(said, now or datetime.now(UTC))
    resets = [
        _duration_seconds(headers.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max((seconds for seconds in resets if seconds is not None), default=None)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


def _duration_seconds(text: str) -> float | None:
    """`6m0s`, `1.5s`, `20ms` in seconds."""
    found = _DURATION.fullmatch(text)
    if not text or not found:
        return None
    hours, minutes, seconds, milliseconds = (float(group or 0) for group in found.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


_SECRET_NAMES = {"key", "api_key", "apikey", "api-key", "token", "access_token", "secret", "sig", "signature"}


def _checked_base_url(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"base_url is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("base_url must begin with http:// or https:// and name a host, like http://localhost:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise UsageError("base_url holds a user name or password; name the key's environment variable instead")
    secret = [name for name, _ in parse_qsl(parts.query) if name.lower() in _SECRET_NAMES]
    if secret:
        raise UsageError(f"base_url holds a secret (`{secret[0]}`); name the key's environment variable instead")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, ""))


def _endpoint(base_url: str, path: str) -> str:
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path + path, parts.query, ""))
