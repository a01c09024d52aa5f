"""Models with an API of their own: templates render requests for a server or the author's Python, and its answers.

`process_input` renders the body from `input` (the chat: `messages`, …), `model_info.model_key` and `kwargs`;
`process_output` renders a chat completion from `body` (the answer's text) and `status_code`. Without templates both
are those of a chat server. A `custom` model has neither chats nor completions: what the task renders is its input, and
its answer is whatever it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.describe import ModelOffers
from assay.core.draws import current_sample
from assay.core.errors import FailureError
from assay.core.fingerprint import fingerprint
from assay.core.seams import BuildContext
from assay.core.types import Completion, Failure, Request
from assay.models.adapters.extra_fields import with_extra
from assay.models.adapters.http_model import HttpModel, UnsupportedRequestError, checked_base_url
from assay.models.adapters.otlp_receiver import SpanReceiver, span_receiver
from assay.models.adapters.providers import NO_KEY
from assay.overriding import override
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Template
from assay.reading.env_file import key_variable, named_variable
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet
from assay.snippets.programs import Programs
from assay.text.wording import HALF_A_CHARACTER


class _Message(Struct, frozen=True):
    content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    refusal: str | None = None


class _Choice(Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None
    references: list[Any] | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    num_prompt_tokens: int | None = None
    num_completion_tokens: int | None = None


class _Output(Struct, frozen=True):
    choices: list[_Choice]
    usage: _Usage | None = None
    metadata: dict[str, Any] | None = None
    guardrails: dict[str, Any] | None = None


class ChatShape:
    """The two templates of a model: from a request to the body, and from the answer to a completion."""

    def __init__(
        self, name: str, process_input: str | None, process_output: str | None, *, custom: bool = False
    ) -> None:
        self._name = name
        self._custom = custom
        self._input = None if process_input is None else Template(process_input, where=f"{name}: process_input")
        self._output = None if process_output is None else Template(process_output, where=f"{name}: process_output")

    def body(self, request: Request, model_key: str) -> str:
        """The body to send."""
        chat = self._json(request) if self._custom else chat_input(request)
        try:
            if self._input is None and self._custom:
                return msgspec.json.encode(chat).decode()
            if self._input is None:
                return msgspec.json.encode({"model": model_key, **chat}).decode()
            body = self._input.render({"input": chat, "model_info": {"model_key": model_key}, "kwargs": {}})
            body.encode()
        except RenderError as error:
            raise _failed(self._name, "bad_request", f"process_input: {error}") from error
        except UnicodeEncodeError as error:
            raise _failed(self._name, "bad_request", HALF_A_CHARACTER) from error
        return body

    def completion(self, body: str, status: int, seconds: float) -> Completion:
        """The completion in an answer."""
        text = body
        if self._output is not None:
            try:
                text = self._output.render({"body": body, "status_code": status})
            except RenderError as error:
                raise _failed(self._name, "bad_output", f"process_output: {error}") from error
        if self._custom:
            return Completion(text=_own_text(text), seconds=seconds)
        try:
            output = msgspec.json.decode(text, type=_Output)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            message = f"the answer is not a chat completion ({error}): {text[:200]!r}"
            raise _failed(self._name, "bad_output", message) from error
        if not output.choices:
            raise _failed(self._name, "bad_output", "the answer has no choices")
        first, usage = output.choices[0], output.usage or _Usage()
        more = {"references": first.references, "metadata": output.metadata, "guardrails": output.guardrails}
        return Completion(
            text=first.message.content or "",
            finish_reason=first.finish_reason,
            tokens_in=usage.prompt_tokens if usage.num_prompt_tokens is None else usage.num_prompt_tokens,
            tokens_out=usage.completion_tokens if usage.num_completion_tokens is None else usage.num_completion_tokens,
            tool_calls=first.message.tool_calls or None,
            refusal=first.message.refusal,
            seconds=seconds,
            raw={name: value for name, value in more.items() if value is not None} or None,
        )

    def _json(self, request: Request) -> Any:
        """What a custom model is given: the JSON of a template, else the chat alone."""
        if request.prompt is None:
            return chat_input(request)
        try:
            return msgspec.json.decode(request.prompt)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return request.prompt


def _own_text(answer: str) -> str:
    """The answer of a custom model: its JSON as it stands, or the text that is all of it."""
    try:
        value = msgspec.json.decode(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return answer
    return value if isinstance(value, str) else answer


_SENT = ("temperature", "top_p", "max_tokens", "stop", "seed")
_APPLIES = (*_SENT, "system", "prefill")


def chat_input(request: Request) -> dict[str, Any]:
    """A request in the format of chat servers."""
    if request.continuation is not None:
        raise FailureError(
            Failure(stage="model", kind="unsupported", message="a model with its own API cannot score continuations")
        )
    fields = msgspec.to_builtins(request)
    messages = fields.get("messages") or [{"role": "user", "content": request.prompt or ""}]
    optional = {name: fields[name] for name in (*_SENT, "response_format", "tools") if name in fields}
    try:
        return with_extra({"messages": messages, **optional}, {}, request.extra)
    except UnsupportedRequestError as error:
        raise FailureError(Failure(stage="model", kind="unsupported", message=str(error))) from error


class AdaptedModel(HttpModel):
    """A server with its own format of requests and answers."""

    offers = msgspec.structs.replace(HttpModel.offers, applies=_APPLIES)

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        process_input: str | None = None,
        process_output: str | None = None,
        api_key_env: str = NO_KEY,
        api_key_header: str = "Authorization",
        timeout_seconds: float | None = None,
        spans: Mapping[str, Any] | None = None,
        custom: bool = False,
    ) -> None:
        """`spans`: where the service sends its spans, as options of `SpanReceiver`; it gets a `traceparent` to name."""
        super().__init__(
            f"adapted:{model}",
            address=base_url,
            api_key_env=api_key_env,
            key_required=api_key_env != NO_KEY,
            timeout_seconds=timeout_seconds,
        )
        checked_base_url(base_url)
        self._model = model
        self._url = base_url
        self._shape = ChatShape(self.name, process_input, process_output, custom=custom)
        self._templates = fingerprint([process_input, process_output, *(["custom"] if custom else [])])
        self.offers = _offers(self.offers, custom=custom)
        if self._key:
            self._headers[api_key_header] = f"Bearer {self._key}" if api_key_header == "Authorization" else self._key
        self._receiver = span_receiver(self.name, spans)
        self._refuse_key_in_settings(api_key_env)

    @property
    @override
    def settings(self) -> dict[str, Any]:
        return {"base_url": self._url, "model": self._model, "templates": self._templates, **_traced(self._receiver)}

    async def generate(self, request: Request) -> Completion:
        body = self._shape.body(request, self._model)
        try:
            sent = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            message = f"process_input must render to JSON: {error}; it rendered {body[:200]!r}"
            raise self._failed("bad_request", message) from error
        if self._receiver is None:
            return await self._answer(sent, None)
        with self._receiver.trace() as trace:
            return await self._receiver.collected(trace, await self._answer(sent, {"traceparent": trace.traceparent}))

    async def _answer(self, sent: dict[str, Any], headers: Mapping[str, str] | None) -> Completion:
        started = perf_counter()
        answer = await self._post(self._url, sent, headers)
        text = answer.body.decode("utf-8", "replace")
        return self._shape.completion(text, answer.status, perf_counter() - started)

    @override
    async def aclose(self) -> None:
        await super().aclose()
        if self._receiver is not None:
            await self._receiver.aclose()


class InferenceModel:
    """The author's `run_inference(body, environment, sample)`, in a process of its own; it may take fewer of these."""

    offers = ModelOffers(applies=_APPLIES)

    def __init__(
        self,
        name: str,
        *,
        run_inference_snippet: str,
        environment: Mapping[str, str] | None = None,
        timeout_seconds: float = TIME_LIMIT_SECONDS,
        process_input: str | None = None,
        process_output: str | None = None,
        spans: Mapping[str, Any] | None = None,
        provider: Mapping[str, Any] | None = None,
        custom: bool = False,
    ) -> None:
        """With `provider`, a function or a class of promptfoo's kind answers instead: its `language` and `file`, the
        `name` of a function in Python, and `options`.

        `spans`: where the code sends its spans, as options of `SpanReceiver`; it gets a `traceparent` to name.
        """
        self.name = f"custom_inference:{name}"
        self._model = name
        self._shape = ChatShape(self.name, process_input, process_output, custom=custom)
        self.offers = _offers(self.offers, custom=custom)
        self._environment = dict(environment or {})
        self._identity = fingerprint(
            [
                run_inference_snippet,
                process_input,
                process_output,
                *([provider] if provider else []),
                *(["custom"] if custom else []),
            ]
        )
        # the caller that builds a model from a file has checked that its code may run
        self._snippet = Snippet(
            run_inference_snippet,
            function="run_inference",
            stage="model",
            part=self.name,
            time_limit_seconds=timeout_seconds,
            context=BuildContext(own_code=True),
        )
        self._receiver = span_receiver(self.name, spans)
        self._provider = provider
        if provider is not None:  # it is called with a prompt
            self.offers = ModelOffers(applies=("system", "prefill"))
        self._programs = Programs(self.name, BuildContext(own_code=True), stage="model")

    @property
    def settings(self) -> dict[str, Any]:
        """The code and its environment; variables are named, and their values left out."""
        named = dict(sorted(self._environment.items()))
        return {"code_sha256": self._identity, "environment": named, **_traced(self._receiver)}

    async def generate(self, request: Request) -> Completion:
        body = self._shape.body(request, self._model)
        environment = {name: self._value(name, value) for name, value in self._environment.items()}
        if self._receiver is None:
            return await self._answer(body, environment)
        with self._receiver.trace() as trace:
            answer = await self._answer(body, {**environment, "traceparent": trace.traceparent})
            return await self._receiver.collected(trace, answer)

    async def _answer(self, body: str, environment: Mapping[str, str]) -> Completion:
        started = perf_counter()
        if self._provider is None:
            sample = current_sample()
            row = dict(sample.row or {}) if sample is not None else None
            answer = await self._snippet.call({"value": body}, {"value": dict(environment)}, {"value": row}, fit=True)
        else:
            answer = await self._provided(self._provider, body, environment)
        text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
        return self._shape.completion(text, 200, perf_counter() - started)

    async def _provided(self, provider: Mapping[str, Any], body: str, environment: Mapping[str, str]) -> dict[str, Any]:
        """The answer of a provider, in the shape of a chat completion."""
        messages = msgspec.json.decode(body)["messages"]
        alone = len(messages) == 1 and isinstance(messages[0]["content"], str)
        prompt = messages[0]["content"] if alone else msgspec.json.encode(messages).decode()
        context: dict[str, Any] = {"vars": {}}
        if parent := environment.get("traceparent"):
            context |= {"traceparent": parent, "evaluationId": parent[3:35], "testCaseId": parent[36:52]}
        if provider["language"] == "python":
            result = await self._programs.run(provider, prompt, provider["options"], context)
        else:
            result = await self._programs.run(_JAVASCRIPT, provider["file"], provider["options"], prompt, context)
        if not isinstance(result, dict) or result.get("error"):
            message = str(result.get("error")) if isinstance(result, dict) else f"it returned {result!r}"
            raise _failed(self.name, "exception", message)
        output, used = result.get("output"), result.get("tokenUsage") or {}
        text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        usage = {"prompt_tokens": used.get("prompt"), "completion_tokens": used.get("completion")}
        choice = {"message": {"content": text}, "finish_reason": result.get("finishReason")}
        return {"choices": [choice], "usage": usage, **{name: result.get(name) for name in ("metadata", "guardrails")}}

    def _value(self, name: str, written: str) -> str:
        """The value of an environment entry; `$NAME` is the value of the variable of that name."""
        variable = named_variable(written)
        if variable is None:
            return written
        value = key_variable(variable)
        if value is None:
            raise _failed(self.name, "auth", f"environment.{name}: the variable `{variable}` is not set")
        return value

    async def aclose(self) -> None:
        await self._snippet.aclose()
        await self._programs.aclose()
        if self._receiver is not None:
            await self._receiver.aclose()


_JAVASCRIPT = {
    "language": "javascript",
    "file": str(Path(__file__).with_name("javascript_provider.mjs")),
    "name": "callProvider",
}


def _offers(offers: ModelOffers, *, custom: bool) -> ModelOffers:
    """A custom model has no place for settings of requests."""
    return msgspec.structs.replace(offers, custom=True, applies=()) if custom else offers


def _traced(receiver: SpanReceiver | None) -> dict[str, Any]:
    return {} if receiver is None else {"spans": receiver.settings}


def _failed(part: str, kind: str, message: str) -> FailureError:
    return FailureError(Failure(stage="model", part=part, kind=kind, message=message))
