"""Your own Python as a model: a function, an object or a class, native or as small as `generate(prompts)`.

What a callable takes is decided by its first parameter, in this order:

1. `batched = True` or `False` as an attribute of the object or function: a list of texts, or one text.
2. The annotation: `Request` (the native seam), `str` (one text), a list, tuple or sequence of `str` (many texts).
3. The name: `request`, `prompt` or `prompts`.
4. What its kind usually takes: a function one text, an `async def generate` a request, a plain `generate` many texts.

Code that is not `async` runs in threads, so it never blocks the event loop: one text at a time in as many threads as
there are requests (up to 64), lists one call at a time, because what takes lists usually has one model.
"""

from __future__ import annotations

import asyncio
import collections.abc
import contextvars
import functools
import hashlib
import inspect
import queue
import threading
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import msgspec

from assay.catalog import import_own
from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.seams import HasSettings, Identified, Model, NeedsKey, Served, TakesBatches, close_part, offers_of
from assay.core.types import Completion, Failure, Request
from assay.models.adapters.native_model import NativeBatchModel, NativeModel, checked_completion, failure_of_client
from assay.models.rate_limits import HasRateLimits, RateLimits
from assay.overriding import override
from assay.own_functions import can_be_imported, is_async, name_of, own_sha256
from assay.text.printable import one_line
from assay.text.wording import in_python

Takes = Literal["request", "prompt", "prompts"]
MAX_THREADS = 64


def as_model(
    thing: Any, name: str | None = None, options: Mapping[str, Any] | None = None, *, written_as: str | None = None
) -> Model:
    """A `Model` that calls `thing`: the head of this file says what it may be; `options` are those of a class.

    A model of assay's own is returned unchanged. Without a `name` and one of its own, the model is named as it was
    written in a task file or a flag, or else after its code.
    """
    options = options or {}
    if inspect.isclass(thing):
        thing = _instance(thing, options)
    if _is_native(thing) and name in (None, thing.name):
        return _native(thing, options)
    return _wrapped(thing, name or _own_name(thing) or written_as, options)


def load_model(target: str, options: Mapping[str, Any]) -> Model:
    """The model `module:name`, with settings that change when its code or its options do."""
    thing = import_own(target)
    if options and not inspect.isclass(thing):
        raise UsageError(f"`{target}` is not a class, so it takes no options ({', '.join(options)})")
    return as_model(thing, options=options, written_as=target)


def _native(thing: Model, options: Mapping[str, Any]) -> Model:
    if type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]:
        return thing  # one of assay's
    identity = None if isinstance(thing, HasSettings) else _identity(thing, thing.name, options)
    return (NativeBatchModel if isinstance(thing, TakesBatches) else NativeModel)(thing, identity)


def _wrapped(thing: Any, name: str | None, options: Mapping[str, Any]) -> Model:
    generate = _generate_of(thing) or (thing if callable(thing) else None)
    if generate is None:
        raise UsageError(
            f"{in_python(thing)} is not a model: it is neither a function of a prompt nor does it have a method "
            "`generate`"
        )
    takes = _takes(thing, generate)
    shape = ListModel if takes == "prompts" else TextModel if takes == "prompt" else RequestModel
    return shape(name or _name(thing), thing, generate, options)


class _Wrapped:
    """What the three shapes share: a name, an identity, threads for code that is not async, and failures."""

    most_threads = MAX_THREADS
    takes_settings = False
    """Whether it is called with requests, which have settings, rather than with texts."""

    def __init__(self, name: str, thing: Any, generate: Callable[[Any], Any], options: Mapping[str, Any]) -> None:
        self.name = name
        self._thing = thing
        self._generate = generate
        self._identity = _identity(thing, name, options)
        self._threads = None if is_async(generate) else _Threads(name, self.most_threads)

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def offers(self) -> ModelOffers:
        declared = offers_of(self._thing)
        if self.takes_settings or declared.applies is not None:
            return declared
        return msgspec.structs.replace(declared, applies=("system", "prefill"))  # a text has room for these alone

    @property
    def settings(self) -> dict[str, Any]:
        """The object's own `settings` where it has them, and a hash of its source: edited code is another model."""
        own = self._thing.settings if isinstance(self._thing, HasSettings) else None
        return self._identity | {"settings": own} if isinstance(own, dict) else self._identity

    @property
    def limits(self) -> RateLimits | None:
        return self._thing.limits if isinstance(self._thing, HasRateLimits) else None

    async def served(self) -> Served | None:
        """What the object says that it serves, if it says so; its code is part of its settings."""
        return await self._thing.served() if isinstance(self._thing, Identified) else None

    def require_key(self) -> None:
        if isinstance(self._thing, NeedsKey):
            self._thing.require_key()

    async def aclose(self) -> None:
        if self._threads is not None:
            self._threads.close()
        await close_part(self._thing)

    async def _call(self, argument: Any) -> Any:
        try:
            if self._threads is None:
                return await self._generate(argument)
            answer = await self._threads.run(self._generate, argument)
            return await answer if inspect.isawaitable(answer) else answer
        except FailureError:
            raise
        except Exception as error:
            raise failure_of_client(error, self.name) from error

    def _text_of(self, request: Request) -> str:
        """The request as one text; raises a failure for what a text cannot express."""
        if request.continuation is not None:
            raise self._failed("unsupported", "it answers texts and cannot score a given continuation")
        if request.tools:
            raise self._failed("unsupported", "it answers texts and takes no tools")
        if any(not isinstance(message.content, str) for message in request.messages or ()):
            raise self._failed("unsupported", "it answers texts; the request has other content")
        return request.text()

    def _completion(self, output: Any, seconds: float) -> Completion:
        if isinstance(output, Completion):
            return checked_completion(output, self.name)
        if not isinstance(output, str):
            raise self._failed("bad_output", f"it returned {in_python(output)}, expected a text")
        return Completion(text=output, seconds=seconds)

    def _failed(self, kind: str, message: str, *, retryable: bool = False) -> FailureError:
        shown = one_line(message, 600)
        return FailureError(Failure(stage="model", part=self.name, kind=kind, message=shown, retryable=retryable))


class RequestModel(_Wrapped):
    """Something that takes a `Request`, but has no name or is not async."""

    takes_settings = True

    async def generate(self, request: Request) -> Completion:
        started = perf_counter()
        output = await self._call(request)
        return self._completion(output, perf_counter() - started)


class TextModel(_Wrapped):
    """Something that answers one text with one text."""

    async def generate(self, request: Request) -> Completion:
        prompt = self._text_of(request)
        started = perf_counter()
        output = await self._call(prompt)
        return self._completion(output, perf_counter() - started)


class ListModel(_Wrapped):
    """Something that answers a list of texts with a list of texts, in order."""

    batched = True
    most_threads = 1

    async def generate(self, request: Request) -> Completion:
        (answer,) = await self.generate_batch([request])
        if isinstance(answer, FailureError):
            raise answer
        return answer

    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion | FailureError]:
        """One call for all. A bad answer fails only itself; a bad call fails all."""
        prompts = [self._text_of(request) for request in requests]
        started = perf_counter()
        outputs = await self._call(prompts)
        share = (perf_counter() - started) / max(1, len(requests))
        return [self._answer(output, share) for output in self._as_list(outputs, len(requests))]

    def _as_list(self, outputs: Any, expected: int) -> list[Any]:
        if isinstance(outputs, str | bytes | dict) or not isinstance(outputs, Iterable):
            raise self._failed("bad_output", f"it returned {in_python(outputs)}, expected a list of texts")
        listed = list(outputs)
        if len(listed) != expected:
            raise self._failed("bad_output", f"it returned {len(listed)} outputs for {expected} prompts")
        return listed

    def _answer(self, output: Any, seconds: float) -> Completion | FailureError:
        try:
            return self._completion(output, seconds)
        except FailureError as error:
            return error


class _Threads:
    """A few daemon threads that share one queue.

    Not a `ThreadPoolExecutor`: the interpreter waits for its threads at exit, so one call that never returns would
    keep the whole program from ending.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._count = 0
        self._unfinished = 0
        self._counting = threading.Lock()

    async def run(self, function: Callable[[Any], Any], argument: Any) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def job() -> None:
            if answer.cancelled():
                return
            try:
                result, error = context.run(function, argument), None
            except BaseException as raised:
                # also SystemExit and KeyboardInterrupt: in a thread they end only the call
                result, error = None, raised
            try:
                loop.call_soon_threadsafe(_settle, answer, result, error)
            except RuntimeError:
                pass  # the loop has ended; nothing is waiting any more

        self._add_thread_if_needed()
        self._jobs.put(job)
        return await answer

    def _add_thread_if_needed(self) -> None:
        # an abandoned call still occupies its thread, so threads are counted against calls that have not ended
        with self._counting:
            self._unfinished += 1
            if self._unfinished <= self._count or self._count >= self._most:
                return
            self._count += 1
        threading.Thread(target=self._work, name=f"assay {self._name}", daemon=True).start()

    def close(self) -> None:
        for _ in range(self._count):
            self._jobs.put(None)
        self._count = 0

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            with self._counting:
                self._unfinished -= 1


def _settle(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        answer.set_exception(error)
    else:
        # a future rejects StopIteration, and the others would end the whole program
        replacement = RuntimeError(f"{type(error).__name__}: {error}")
        answer.set_exception(replacement.with_traceback(error.__traceback__))


def _instance(kind: type, options: Mapping[str, Any]) -> Any:
    try:
        inspect.signature(kind).bind(**options)
    except TypeError as error:
        arguments = f"with the options {', '.join(options)}" if options else "without arguments"
        raise UsageError(f"the class `{kind.__name__}` cannot be called {arguments}: {error}") from error
    except ValueError:
        pass  # built-in classes without a signature
    return kind(**options)


def _takes(thing: Any, generate: Callable[[Any], Any]) -> Takes:
    parameter = _first_parameter(thing, generate)
    annotated = _takes_by_annotation(generate, parameter)
    if isinstance(thing, _HasBatched) and isinstance(thing.batched, bool) and annotated != "request":
        return "prompts" if thing.batched else "prompt"
    if annotated is not None:
        return annotated
    if parameter.name in ("request", "prompt", "prompts"):
        return typing.cast("Takes", parameter.name)
    if generate is thing:
        return "prompt"
    return "request" if is_async(generate) else "prompts"


def _first_parameter(thing: Any, generate: Callable[[Any], Any]) -> inspect.Parameter:
    """The parameter it is called with; a `UsageError` when it cannot be called with exactly one argument."""
    try:
        parameters = list(inspect.signature(generate).parameters.values())
    except (TypeError, ValueError):
        # a built-in without a signature is assumed to take one
        return inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes_one = parameters and parameters[0].kind in (*positional, inspect.Parameter.VAR_POSITIONAL)
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [rest for rest in parameters[1:] if rest.default is rest.empty and rest.kind not in optional]
    if not takes_one or required:
        raise UsageError(
            f"{in_python(thing)} is not a model: it must take one argument (a prompt, a list of prompts or a request), "
            f"and takes ({', '.join(map(str, parameters))})"
        )
    return parameters[0]


def _takes_by_annotation(generate: Callable[[Any], Any], parameter: inspect.Parameter) -> Takes | None:
    if parameter.annotation is inspect.Parameter.empty:
        return None
    function = generate if inspect.isroutine(generate) else type(generate).__call__
    try:
        annotation = typing.get_type_hints(function).get(parameter.name)
    except (NameError, TypeError, AttributeError):
        # names that exist only for the type checker
        annotation = _SPELLED.get(str(parameter.annotation).replace("typing.", "").replace(" ", ""))
    if annotation is Request:
        return "request"
    if annotation is str:
        return "prompt"
    if typing.get_origin(annotation) in _SEQUENCES and str in typing.get_args(annotation):
        return "prompts"
    return None


_SEQUENCES = (list, tuple, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_SPELLED: dict[str, Any] = {
    "Request": Request,
    "str": str,
    "list[str]": list[str],
    "List[str]": list[str],
    "Sequence[str]": Sequence[str],
    "Iterable[str]": Iterable[str],
}


def _is_native(thing: Any) -> bool:
    """Whether it is a `Model` already: a name, and an async `generate` that takes a request."""
    generate = _generate_of(thing)
    if generate is None or not (isinstance(thing, _Named) and isinstance(thing.name, str)):
        return False
    return is_async(generate) and _takes(thing, generate) == "request"


def _generate_of(thing: Any) -> Callable[[Any], Any] | None:
    return thing.generate if isinstance(thing, _Generates) and callable(thing.generate) else None


def _own_name(thing: Any) -> str | None:
    return thing.name if isinstance(thing, _Named) and isinstance(thing.name, str) and thing.name else None


def _name(thing: Any) -> str:
    if own := _own_name(thing):
        return own
    if inspect.isfunction(thing) and can_be_imported(thing):
        return name_of(thing)  # as on the command line, so that it is the same model
    thing = thing.func if isinstance(thing, functools.partial) else thing
    return thing.__name__.strip("<>") if inspect.isroutine(thing) else type(thing).__name__


@typing.runtime_checkable
class _Generates(typing.Protocol):
    generate: Any


@typing.runtime_checkable
class _Named(typing.Protocol):
    name: Any


@typing.runtime_checkable
class _HasBatched(typing.Protocol):
    batched: Any


def _identity(thing: Any, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What distinguishes it from every other user-written model, as it is now."""
    code = thing.func if isinstance(thing, functools.partial) else thing
    if inspect.ismethoddescriptor(code):
        code = code.__objclass__  # `str.upper`
    if not (inspect.isroutine(code) or inspect.isclass(code)):
        code = type(code)
    has_settings = isinstance(thing, HasSettings) and not inspect.isroutine(thing)
    identity = {
        "adapter": "python",
        "object": f"{code.__module__}:{code.__qualname__}",
        "name": name,
        "options": dict(options),
        "source_sha256": _source_sha256(code),
    }
    sha256 = own_sha256(type(thing) if has_settings else thing)
    return identity if sha256 is None else identity | {"code_sha256": sha256}


def _source_sha256(code: Any) -> str | None:
    """The hash of the file the code is in; None where there is no file (a notebook, a prompt, a built-in)."""
    try:
        source = inspect.getsourcefile(code)
        return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else None
    except (TypeError, OSError):
        return None
