"""Any server that speaks the OpenAI protocol: chat completions, text completions and embeddings, over plain HTTP.

The server's answer is read strictly: one that cannot be used is a failure, never an empty text. A refusal that the
model wrote is an answer; an answer that the platform's filter withheld is a failure of kind `refused`. A model that
spent its whole budget thinking did answer: with an empty text and finish reason `length`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Served
from assay.core.types import Completion, Message, Request
from assay.core.usage import token_count
from assay.models.adapters.chat_messages import message_body
from assay.models.adapters.extra_fields import checked_extra, with_extra
from assay.models.adapters.http_model import HttpModel, UnsupportedRequestError, checked_base_url, endpoint
from assay.models.adapters.options import USUAL_TIMEOUT_SECONDS, one_of
from assay.models.adapters.providers import NO_KEY, named_server
from assay.models.likelihood.echo import EchoError, EchoScore, continuation_score, tokens_of, window_score
from assay.models.likelihood.rolling import window_size, windows
from assay.overriding import override
from assay.transport.connection import HttpAnswer

OFFICIAL_BASE_URL = "https://api.openai.com/v1"
Mode = Literal["chat", "completions", "embeddings"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]


class OpenAIModel(HttpModel):
    """One model on one server that speaks the OpenAI protocol."""

    adapter = "openai"
    """The prefix before the colon; the presets of other servers have their own."""
    usual_address = OFFICIAL_BASE_URL
    """The server of a model whose server is not named; only for OpenAI's, the environment may name another."""
    offers = msgspec.structs.replace(HttpModel.offers, embeddings=True)

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        api_key_header: str = "Authorization",
        mode: Mode = "chat",
        max_tokens_field: MaxTokensField | None = None,
        timeout_seconds: float | None = USUAL_TIMEOUT_SECONDS,
        extra: Mapping[str, Any] | None = None,
        keep_raw: bool = False,
        document_mark: str | None = None,
        check_likelihoods: bool = True,
        key_required: bool | None = None,
    ) -> None:
        """`extra` is sent with every request; `keep_raw` keeps the server's whole answer in `Completion.raw`.

        `document_mark`, such as `<|endoftext|>`, is put before a text without a prompt when its likelihood is scored.
        `check_likelihoods=false` skips the check that likelihoods agree with those of generated tokens.
        """
        if not model:
            raise UsageError(f"`{self.adapter}` needs a model name: `{self.adapter}:MODEL`")
        model, base_url = named_server(self.adapter, model, base_url)
        self._model = model
        base_url = base_url or (os.environ.get("OPENAI_BASE_URL") if self.usual_address == OFFICIAL_BASE_URL else None)
        self._base_url = checked_base_url(base_url or self.usual_address)
        self._official = self._base_url == OFFICIAL_BASE_URL
        self.at_usual_address = not base_url
        own_key = api_key_env not in ("OPENAI_API_KEY", NO_KEY)  # naming a variable means that a key is to be sent
        super().__init__(
            f"{self.adapter}:{model}",
            address=self._base_url,
            api_key_env=api_key_env,
            key_required=self._official or own_key if key_required is None else key_required,
            timeout_seconds=timeout_seconds,
        )
        self._mode = one_of("mode", mode, ("chat", "completions", "embeddings"))
        scores = self._mode == "completions"
        self.offers = msgspec.structs.replace(
            self.offers,
            likelihoods=("unproven" if check_likelihoods else "yes") if scores else "no",
            chat=mode == "chat",
            applies=() if mode == "embeddings" else self.offers.applies,
        )
        self._document_mark = document_mark
        self._max_tokens_field = one_of(
            "max_tokens_field",
            max_tokens_field or self._usual_max_tokens_field(),
            ("max_tokens", "max_completion_tokens"),
        )
        self._extra = checked_extra(extra)
        self._keep_raw = keep_raw
        self._url = openai_url(self._base_url, self._mode)
        if self._key:
            bearer = api_key_header.lower() == "authorization"
            self._headers[api_key_header] = f"Bearer {self._key}" if bearer else self._key
            self._refuse_key_in_settings(api_key_env)

    @override
    def __repr__(self) -> str:
        return f"OpenAIModel({self._model!r}, base_url={self._base_url!r}, mode={self._mode!r})"

    @property
    @override
    def settings(self) -> dict[str, Any]:
        optional: dict[str, Any] = {} if self._document_mark is None else {"document_mark": self._document_mark}
        if self._keep_raw:  # an answer kept without its extra fields is another answer
            optional["keep_raw"] = True
        return {
            "adapter": self.adapter,
            "model": self._model,
            "base_url": self._base_url,
            "mode": self._mode,
            "max_tokens_field": self._max_tokens_field,
            "extra": self._extra,
            **optional,
        }

    async def generate(self, request: Request) -> Completion:
        """Send one request. Whatever goes wrong raises a `FailureError`; `Retrying` retries."""
        if request.continuation is not None:
            return await self._score(request, request.continuation)
        if request.embed or self._mode == "embeddings":
            return await self._embed(request)
        started = perf_counter()
        answer = await self._post(self._url, self._body(request))
        seconds = perf_counter() - started
        reply = self._reply(answer)
        raw = self._raw(reply, answer)
        if self._mode == "chat":
            return self._chat_completion(reply, seconds, raw)
        return self._text_completion(reply, seconds, raw)

    async def served(self) -> Served | None:
        """What the server says that it serves under this name."""
        from assay.models.adapters.server_identity import identify  # asked once in a run

        return await identify(self._fact, adapter=self.adapter, model=self._model, base_url=self._base_url)

    @override
    def _advice(self, status: int) -> str:
        if status != 404 or urlsplit(self._base_url).path.strip("/"):
            return ""
        return f"; base URLs of most servers end in /v1: {self._base_url.rstrip('/')}/v1"

    async def _embed(self, request: Request) -> Completion:
        """The embedding of the prompt, from another endpoint of the same server, whatever the mode."""
        started = perf_counter()
        body = {**self._extra, "model": self._model, "input": request.text()}
        answer = await self._post(endpoint(self._base_url, "/embeddings"), body)
        reply = self._decoded(answer, _decode_embeddings)
        self._refuse_error(reply.error, answer)
        if len(reply.data) != 1 or not reply.data[0].embedding:
            raise self._failed("bad_output", f"the server's answer has no embedding: {self._clean(answer.body)}")
        vector = reply.data[0].embedding
        return Completion(
            text="" if request.embed else msgspec.json.encode(vector).decode(),
            embedding=vector if request.embed else None,
            tokens_in=token_count((reply.usage or _NO_USAGE).prompt_tokens),
            seconds=perf_counter() - started,
        )

    # -- the likelihood of a given text ------------------------------------------------------------------------

    async def _score(self, request: Request, continuation: str) -> Completion:
        """The log-likelihood of the continuation; in windows where the task allows that and the text is too long."""
        if self._mode == "chat":
            raise self._failed("unsupported", "a chat endpoint cannot score a given continuation; use mode=completions")
        prompt = request.text() or self._document_mark or ""
        size, stride = request.rolling or (0, 0)
        if size:
            return await self._score_windows(request, prompt, continuation, size, stride)
        try:
            return await self._score_whole(request, prompt, continuation)
        except FailureError as error:
            if request.rolling is None or error.failure.kind != "too_long":
                raise
            return await self._score_windows(request, prompt, continuation, size, stride)

    async def _score_whole(self, request: Request, prompt: str, continuation: str) -> Completion:
        started = perf_counter()
        reply, answer = await self._echoed(request, prompt + continuation)
        usage = reply.usage or _NO_USAGE
        written = 1 if usage.completion_tokens is None else usage.completion_tokens
        try:
            scored = continuation_score(reply.choices[0].logprobs, prompt, continuation, written=written)
        except EchoError as error:
            raise self._failed("unsupported" if error.missing else "bad_output", str(error)) from error
        return Completion(
            text=continuation,
            logprob=scored.logprob,
            is_greedy=scored.is_greedy,
            tokens_in=token_count(usage.prompt_tokens),
            seconds=perf_counter() - started,
            raw={**(self._raw(reply, answer) or {}), "continuation_tokens": scored.tokens},
        )

    async def _score_windows(
        self, request: Request, prompt: str, continuation: str, size: int, stride: int
    ) -> Completion:
        """Window by window, as the server's own token numbers (`/tokenize`, as in vLLM)."""
        started = perf_counter()
        whole, most = await self._tokens(prompt + continuation)
        before = len((await self._tokens(prompt))[0]) if prompt else 0
        if not before or not whole[before:]:
            raise self._failed("bad_output", "the text has no tokens to score after its first")
        size = window_size(size, most - 1)  # one token is always generated
        scores: list[EchoScore] = []
        read = 0
        for shown, scored in windows(whole[:before], whole[before:], size=size, stride=stride):
            reply, _ = await self._echoed(request, [*shown, *scored])
            try:
                scores.append(window_score(reply.choices[0].logprobs, len(shown), len(scored)))
            except EchoError as error:
                raise self._failed("unsupported" if error.missing else "bad_output", str(error)) from error
            read += len(shown) + len(scored)
        greedy = [score.is_greedy for score in scores]
        return Completion(
            text=continuation,
            logprob=sum(score.logprob for score in scores),
            is_greedy=None if None in greedy else all(greedy),
            tokens_in=read,
            seconds=perf_counter() - started,
            raw={"continuation_tokens": len(whole) - before, "windows": len(scores)},
        )

    async def _tokens(self, text: str) -> tuple[list[int], int]:
        """The server's token numbers of a text, and the length of its context."""
        url = endpoint(self._base_url.removesuffix("/v1"), "/tokenize")
        try:
            answer = await self._post(url, {"model": self._model, "prompt": text})
            reply = self._decoded(answer, _decode_tokens)
        except FailureError as error:
            if error.failure.retryable:
                raise
            message = "a text longer than the server's context is scored in windows, which needs `/tokenize` (vLLM)"
            raise self._failed("unsupported", f"{message}: {error.failure.message}") from error
        return reply.tokens, reply.max_model_len

    async def _echoed(self, request: Request, prompt: str | list[int]) -> tuple[_Reply, HttpAnswer]:
        # one token is generated because some servers refuse none; it comes after the text we score
        body = {**self._body(request), "prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": 1}
        answer = await self._post(self._url, body)
        return self._reply(answer), answer

    # -- what is sent ------------------------------------------------------------------------------------------

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return openai_body(request, self._extra, self._model, self._mode, self._max_tokens_field)
        except UnsupportedRequestError as error:
            raise self._failed("unsupported", str(error)) from error

    # -- what came back ----------------------------------------------------------------------------------------

    def _reply(self, answer: HttpAnswer) -> _Reply:
        reply = self._decoded(answer, _decode_reply)
        self._refuse_error(reply.error, answer)
        if not reply.choices:
            message = f"the server's answer has no choices: {self._clean(answer.body)}"
            raise self._failed("bad_output", message, retryable=True)
        if reply.choices[0].finish_reason == "content_filter":
            raise self._failed("refused", "the server's content filter withheld the answer")
        return reply

    def _refuse_error(self, error: Any, answer: HttpAnswer) -> None:
        """Some gateways report an upstream's failure inside a 200."""
        if error is not None:
            code = error.get("code") if isinstance(error, dict) else None
            raise self._status_failure(code if isinstance(code, int) and 400 <= code < 600 else 500, answer)

    def _chat_completion(self, reply: _Reply, seconds: float, raw: dict[str, Any] | None) -> Completion:
        choice = reply.choices[0]
        message = choice.message
        if message is None:
            raise self._failed("bad_output", "the server's answer has a choice without a message")
        text, reasoning = self._text_of(message)
        if text is None:
            text = self._text_without_content(choice, message)
        usage = reply.usage or _NO_USAGE
        return Completion(
            text=text,
            finish_reason=choice.finish_reason,
            tokens_in=token_count(usage.prompt_tokens),
            tokens_out=token_count(usage.completion_tokens),
            tokens_cached=usage.cached(),
            tokens_reasoning=usage.thought(),
            seconds=seconds,
            reasoning=reasoning,
            refusal=message.refusal or None,
            tool_calls=message.tool_calls or None,
            logprobs=self._without_key(_chat_logprobs(choice.logprobs)),
            raw=raw,
        )

    def _text_of(self, message: _Answer) -> tuple[str | None, str | None]:
        """The answer and the thinking before it; content parts are joined."""
        reasoning = message.reasoning_content or message.reasoning or None
        content = message.content
        if isinstance(content, list):
            texts = [p["text"] for p in content if p.get("type") == "text" and isinstance(p.get("text"), str)]
            return (self._redactor.joined(texts) if texts else None), reasoning
        return content, reasoning

    def _text_without_content(self, choice: _Choice, message: _Answer) -> str:
        if message.refusal:
            return message.refusal
        if message.tool_calls or choice.finish_reason == "length":
            return ""
        reason = f"finish reason `{self._clean(str(choice.finish_reason))}`"
        raise self._failed("bad_output", f"the server's answer has no content ({reason})")

    def _text_completion(self, reply: _Reply, seconds: float, raw: dict[str, Any] | None) -> Completion:
        choice = reply.choices[0]
        if choice.text is None:
            reason = self._clean(str(choice.finish_reason))
            raise self._failed("bad_output", f"the server's answer has no text (reason `{reason}`)")
        usage = reply.usage or _NO_USAGE
        return Completion(
            text=choice.text,
            finish_reason=choice.finish_reason,
            tokens_in=token_count(usage.prompt_tokens),
            tokens_out=token_count(usage.completion_tokens),
            tokens_cached=usage.cached(),
            seconds=seconds,
            logprobs=self._without_key(_text_logprobs(choice.logprobs)),
            raw=raw,
        )

    def _raw(self, reply: _Reply, answer: HttpAnswer) -> dict[str, Any] | None:
        if self._keep_raw:
            whole = self._redactor.value(msgspec.json.decode(answer.body))
            return whole if isinstance(whole, dict) else None
        raw: dict[str, Any] = {}
        if reply.model and reply.model != self._model:
            raw["model"] = reply.model
        if reply.system_fingerprint:
            raw["system_fingerprint"] = reply.system_fingerprint
        return raw or None

    # -- set-up ------------------------------------------------------------------------------------------------

    def _usual_max_tokens_field(self) -> MaxTokensField:
        # the official chat endpoint rejects `max_tokens` for its newer models; most other servers know only that
        return "max_completion_tokens" if self._official and self._mode == "chat" else "max_tokens"


def openai_url(base_url: str, mode: str) -> str:
    return endpoint(base_url, "/chat/completions" if mode == "chat" else "/completions")


def openai_body(
    request: Request, extra: Mapping[str, Any], model: str, mode: str, max_tokens_field: str
) -> dict[str, Any]:
    """The request in the protocol's format, for either endpoint."""
    body: dict[str, Any] = {"model": model, **(_chat_fields(request) if mode == "chat" else _text_fields(request))}
    if request.max_tokens is not None and request.continuation is None:
        body[max_tokens_field] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p
    if request.stop:
        body["stop"] = request.stop
    if request.seed is not None:
        body["seed"] = request.seed
    if request.reasoning_effort is not None:
        body["reasoning_effort"] = request.reasoning_effort
    if request.response_format is not None:
        body["response_format"] = request.response_format
    return with_extra(body, extra, request.extra)


def _chat_fields(request: Request) -> dict[str, Any]:
    messages = request.messages
    if messages is None:
        messages = (Message(role="user", content=request.prompt or ""),)
    fields: dict[str, Any] = {"messages": [message_body(message) for message in messages]}
    if request.logprobs is not None:
        fields["logprobs"] = True
        if request.logprobs:
            fields["top_logprobs"] = request.logprobs
    if request.tools:
        fields["tools"] = request.tools
    return fields


def _text_fields(request: Request) -> dict[str, Any]:
    if request.tools:
        raise UnsupportedRequestError("a text endpoint takes no tools; use mode=chat")
    if any(not isinstance(message.content, str) for message in request.messages or ()):
        raise UnsupportedRequestError("a text endpoint takes only text; the request has other content")
    return {"prompt": request.text()} | ({} if request.logprobs is None else {"logprobs": request.logprobs})


make = OpenAIModel
"""The factory of `openai:MODEL` in the catalog."""


class _Usage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: dict[str, Any] | None = None
    completion_tokens_details: dict[str, Any] | None = None

    def thought(self) -> int | None:
        return token_count((self.completion_tokens_details or {}).get("reasoning_tokens"))

    def cached(self) -> int | None:
        return token_count((self.prompt_tokens_details or {}).get("cached_tokens"))


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


class _Embedding(Struct, frozen=True):
    embedding: tuple[float, ...]


class _Embeddings(Struct, frozen=True):
    data: list[_Embedding] = []
    usage: _Usage | None = None
    error: Any = None


class _Tokens(Struct, frozen=True):
    tokens: list[int]
    max_model_len: int


_NO_USAGE = _Usage()
_decode_reply = msgspec.json.Decoder(_Reply).decode
_decode_embeddings = msgspec.json.Decoder(_Embeddings).decode
_decode_tokens = msgspec.json.Decoder(_Tokens).decode


def _chat_logprobs(logprobs: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    content = (logprobs or {}).get("content")
    return content if isinstance(content, list) else None


def _text_logprobs(logprobs: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """The text endpoint's parallel lists in the chat endpoint's format, which some servers send anyway."""
    if not logprobs or not isinstance(logprobs.get("tokens"), list):
        return _chat_logprobs(logprobs)
    listed = logprobs.get("top_logprobs")
    alternatives = listed if isinstance(listed, list) else []
    entries: list[dict[str, Any]] = []
    for position, (token, logprob, _) in enumerate(tokens_of(logprobs)):
        top = alternatives[position] if position < len(alternatives) else None
        top = top if isinstance(top, dict) else {}
        ranked = [{"token": name, "logprob": value} for name, value in top.items()]
        entries.append({"token": token, "logprob": logprob, "top_logprobs": ranked})
    return entries
