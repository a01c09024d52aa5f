"""The long tail of providers, through the `litellm` library.

It is slower than the native adapters and heavy to import, so prefer those. Its errors are mapped to our kinds by their
status, and its own retries are turned off, because the run retries.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import msgspec

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Failure, Message, Request
from assay.core.usage import token_count
from assay.models.adapters.chat_messages import call_arguments, message_body, vendor_state, with_vendor_state
from assay.models.adapters.client_errors import Away, chain_of, trouble_of
from assay.models.adapters.extra_fields import checked_extra, with_extra
from assay.models.adapters.http_model import UnsupportedRequestError
from assay.models.adapters.options import USUAL_TIMEOUT_SECONDS, longer_than_usual
from assay.models.adapters.providers import is_run_by_users
from assay.text.printable import one_line

VENDOR = "litellm"
RUN_BY_USERS = ("ollama", "ollama_chat", "vllm", "hosted_vllm", "lm_studio", "llamafile", "xinference", "litellm_proxy")
"""The library's names for servers that people run."""
EXTRA = "pip install 'assay-eval[litellm]'"


class LiteLLMModel:
    """The long tail of providers, through the `litellm` library: `litellm:PROVIDER/MODEL`. Needs the extra `litellm`.

    Keys are the library's own environment variables. `extra` is passed to every call.
    """

    offers = ModelOffers(remote=True, cacheable=True)

    def __init__(
        self,
        model: str,
        *,
        timeout_seconds: float | None = USUAL_TIMEOUT_SECONDS,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        if not model:
            raise UsageError("`litellm` needs the library's name of a model: `litellm:PROVIDER/MODEL`")
        if importlib.util.find_spec("litellm") is None:
            raise UsageError(f"`litellm:{model}` needs the package `litellm`: {EXTRA}")
        self.name = f"litellm:{model}"
        self._model = model
        self._timeout = timeout_seconds
        self._extra = checked_extra(extra)
        address = self._extra.get("api_base") or self._extra.get("base_url")
        if model.partition("/")[0] in RUN_BY_USERS or (address and is_run_by_users(str(address))):
            self.offers = msgspec.structs.replace(self.offers, cacheable=False)
        secrets = [name for name in self._extra if name.lower().endswith(("key", "token", "secret", "password"))]
        if secrets:
            raise UsageError(
                f"`{secrets[0]}` does not belong in the options, which are written into run files; "
                "set the provider's environment variable"
            )

    def allow_seconds(self, seconds: float) -> None:
        self._timeout = longer_than_usual(self._timeout, seconds)

    @property
    def settings(self) -> dict[str, Any]:
        return {"adapter": "litellm", "model": self._model, "extra": self._extra}

    async def generate(self, request: Request) -> Completion:
        litellm = _library()
        if request.continuation is not None:
            raise self._failed("unsupported", "litellm cannot score a given continuation", retryable=False)
        arguments = self._arguments(request)
        started = perf_counter()
        try:
            reply = await litellm.acompletion(**arguments)
        except Exception as error:
            raise self._failure_of(error) from error
        return self._completion(reply, perf_counter() - started)

    async def aclose(self) -> None:
        """Stop the library's task that logs, if it is of this event loop; another model's request starts it again."""
        await asyncio.sleep(0)  # the last answer starts it a turn later
        module = sys.modules.get("litellm.litellm_core_utils.logging_worker")
        worker = getattr(module, "GLOBAL_LOGGING_WORKER", None)
        task = getattr(worker, "_worker_task", None)
        if worker is not None and task is not None and task.get_loop() is asyncio.get_running_loop():
            await worker.stop()

    def _arguments(self, request: Request) -> dict[str, Any]:
        if request.messages is not None:
            converts = _converts_calls(self._model)
            messages = [_message(message, converts=converts) for message in request.messages]
        else:
            messages = [{"role": "user", "content": request.prompt or ""}]
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_tokens": request.max_tokens,
            "stop": list(request.stop) if request.stop else None,
            "seed": request.seed,
            "logprobs": True if request.logprobs is not None else None,
            "top_logprobs": request.logprobs or None,
            "response_format": request.response_format,
            "tools": request.tools,
            "reasoning_effort": request.reasoning_effort,
            "timeout": self._timeout,
        }
        settings = {name: value for name, value in optional.items() if value is not None}
        arguments = {"model": self._model, "messages": messages, "num_retries": 0}
        try:
            return with_extra(arguments | settings, self._extra, request.extra)
        except UnsupportedRequestError as error:
            raise self._failed("unsupported", str(error), retryable=False) from error

    def _completion(self, reply: Any, seconds: float) -> Completion:
        choice = reply.choices[0]
        message = choice.message
        if choice.finish_reason == "content_filter":
            raise self._failed("refused", "the provider's content filter withheld the answer", retryable=False)
        usage = getattr(reply, "usage", None)
        details = getattr(usage, "prompt_tokens_details", None)
        written = getattr(usage, "completion_tokens_details", None)
        calls = [call.model_dump() for call in message.tool_calls or ()]
        if calls:
            calls[0] = with_vendor_state(calls[0], VENDOR, getattr(message, "thinking_blocks", None))
        return Completion(
            text=message.content or "",
            finish_reason=choice.finish_reason,
            tokens_in=getattr(usage, "prompt_tokens", None),
            tokens_out=getattr(usage, "completion_tokens", None),
            tokens_cached=getattr(details, "cached_tokens", None),
            tokens_reasoning=token_count(getattr(written, "reasoning_tokens", None)),
            seconds=seconds,
            reasoning=getattr(message, "reasoning_content", None),
            tool_calls=calls or None,
            logprobs=_logprobs(choice),
        )

    def _failure_of(self, error: Exception) -> FailureError:
        name = type(error).__name__
        message = one_line(str(error), 400)
        if package := _missing_package(error):
            message = f"litellm needs the package `{package}` for this request: pip install {package}"
            return self._failed("unsupported", message, retryable=False)
        if name == "Timeout":
            return self._failed("timeout", message, retryable=True)
        if name == "ContextWindowExceededError":
            return self._failed("too_long", message, retryable=False)
        if name == "ContentPolicyViolationError":
            return self._failed("refused", message, retryable=False)
        trouble = trouble_of(error)
        return self._failed(trouble.kind, f"{name}: {message}", retryable=trouble.retryable, away=trouble.away)

    def _failed(self, kind: str, message: str, *, retryable: bool, away: Away | None = None) -> FailureError:
        failure = Failure(stage="model", part=self.name, kind=kind, message=message, retryable=retryable)
        return FailureError(failure, away=away)


def _message(message: Message, *, converts: bool) -> dict[str, Any]:
    """A message for the library: with the thoughts before its calls, and with calls that it can convert."""
    body = message_body(message)
    if not message.tool_calls:
        return body
    if thoughts := vendor_state(message.tool_calls[0], VENDOR):
        body["thinking_blocks"] = thoughts
    if converts:
        body["tool_calls"] = [_with_object(call) for call in body["tool_calls"]]
    return body


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = msgspec.json.encode(call_arguments(function.get("arguments"))).decode()
    return {**call, "function": {**function, "arguments": arguments}}


def _converts_calls(model: str) -> bool:
    """Whether the library parses the arguments of calls, which must be an object then, or passes them on as texts."""
    litellm = _library()
    try:
        provider = litellm.get_llm_provider(model)[1]
    except Exception:  # unknown to it: the request says so
        return False
    return provider not in ("openai", "azure", *litellm.openai_compatible_providers)


def _logprobs(choice: Any) -> list[dict[str, Any]] | None:
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    return [item.model_dump() for item in content] if content else None


def _missing_package(error: BaseException) -> str | None:
    """The package that an import inside the library lacked, which it reports as a problem of the connection."""
    causes = (item for item in chain_of(error) if isinstance(item, ModuleNotFoundError) and item.name)
    return next((str(cause.name).partition(".")[0] for cause in causes), None)


def _library() -> Any:
    """The library, kept from loading the nearest `.env` into our environment on its first import."""
    if "litellm" in sys.modules:
        return sys.modules["litellm"]
    before = dict(os.environ)
    try:
        os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # turns that off, though not in every release
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it downloads a price list first
        import litellm
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
    litellm.suppress_debug_info = True  # it would print to stdout, where data goes
    return litellm
