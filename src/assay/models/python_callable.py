"""Your own Python as a model: a function, an object or a class, native or as small as `generate(prompts)`.

What a callable takes is decided by its first parameter, in this order:

1. `batched = True` or `False` as an attribute of the object or function: a list of texts, or one text.
2. The annotation: `Request` (the native seam), `str` (one text), a list, tuple or sequence of `str` (many texts).
3. The name: `request`, `prompt` or `prompts`.
4. What its kind usually takes: a function one text, an `async def generate` a request, a plain `generate` many texts.

Code that is not `async` runs in threads, so it never holds up the loop: one text at a time in as many threads as there
are requests (up to 64), lists one call at a time, because what takes lists usually holds one model.
"""

from __future__ import annotations

import asyncio
import collections.abc
import contextvars
import hashlib
import inspect
import queue
import threading
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from assay.catalog import import_own
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Completion, Failure, Request
from assay.printable import one_line

Takes = Literal["request", "prompt", "prompts"]
MAX_THREADS = 64


def as_model(thing: Any, name: str | None = None) -> Model:
    """A `Model` that asks `thing`: the head of this file says what it may be. A native model is returned as it is."""
    if inspect.isclass(thing):
        thing = _instance(thing, {})
    if _is_native(thing) and name in (None, thing.name):
        return typing.cast("Model", thing)
    return _wrapped(thing, name, {})


def load_model(target: str, options: Mapping[str, Any]) -> Model:
    """The model behind `module:name`, with settings that tell it apart from the same code edited or set differently."""
    thing = import_own(target)
    if inspect.isclass(thing):
        thing = _instance(thing, options)
    elif options:
        raise UsageError(f"`{target}` is not a class, so it takes no options ({', '.join(options)})")
    if _is_native(thing) and hasattr(thing, "settings"):
        return typing.cast("Model", thing)
    return _wrapped(thing, None, options)


def _wrapped(thing: Any, name: str | None, options: Mapping[str, Any]) -> Model:
    generate = getattr(thing, "generate", None)
    if not callable(generate):
        generate = thing if callable(thing) else None
    if generate is None:
        raise UsageError(
            f"{_told(thing)} is not a model: it is neither a function of a prompt nor has it a method `generate`"
        )
    takes = _takes(thing, generate)
    shape = ListModel if takes == "prompts" else TextModel if takes == "prompt" else RequestModel
    return shape(name or _name(thing), thing, generate, options)


class _Wrapped:
    """What the three shapes share: a name, an identity, threads for code that is not async, and names for failures."""

    most_threads = MAX_THREADS

    def __init__(self, name: str, thing: Any, generate: Callable[[Any], Any], options: Mapping[str, Any]) -> None:
        self.name = name
        self._thing = thing
        self._generate = generate
        self._options = dict(options)
        self._threads = None if _is_async(generate) else _Threads(name, self.most_threads)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def settings(self) -> dict[str, Any]:
        """The object's own `settings` where it has them, and a hash of its source: edited code is another model."""
        own = getattr(self._thing, "settings", None)
        code = self._thing if inspect.isroutine(self._thing) else type(self._thing)
        settings = {
            "adapter": "python",
            "object": f"{code.__module__}:{code.__qualname__}",
            "name": self.name,
            "options": self._options,
            "source_sha256": _source_sha256(code),
        }
        return settings | {"settings": own} if isinstance(own, dict) else settings

    async def aclose(self) -> None:
        if self._threads is not None:
            self._threads.close()
        close = getattr(self._thing, "aclose", None)
        if close is not None:
            await close()

    async def _call(self, argument: Any) -> Any:
        try:
            if self._threads is None:
                return await self._generate(argument)
            answer = await self._threads.run(self._generate, argument)
            return await answer if inspect.isawaitable(answer) else answer
        except FailureError:
            raise
        except Exception as error:
            raise self._raised(error) from error

    def _text_of(self, request: Request) -> str:
        """The one text such a callable can be given; what text cannot carry is said, not dropped."""
        if request.continuation is not None:
            raise self._failed("unsupported", "it answers texts and cannot score a given continuation")
        if request.tools:
            raise self._failed("unsupported", "it answers texts and takes no tools")
        if any(not isinstance(message.content, str) for message in request.messages or ()):
            raise self._failed("unsupported", "it answers texts; the request has other content")
        return request.text()

    def _completion(self, output: Any, seconds: float) -> Completion:
        if isinstance(output, Completion):
            return output
        if not isinstance(output, str):
            raise self._failed("bad_output", f"it returned {_told(output)} where a text was due")
        return Completion(text=output, seconds=seconds)

    def _raised(self, error: Exception) -> FailureError:
        kind = "timeout" if isinstance(error, TimeoutError) else "exception"
        kind = "connection" if isinstance(error, ConnectionError) else kind
        said = " ".join(str(error).split())
        message = f"{type(error).__name__}: {said}" if said else type(error).__name__
        return self._failed(kind, message, retryable=kind != "exception")

    def _failed(self, kind: str, message: str, *, retryable: bool = False) -> FailureError:
        told = one_line(message, 600)
        return FailureError(Failure(stage="model", part=self.name, kind=kind, message=told, retryable=retryable))


class RequestModel(_Wrapped):
    """Something that takes a `Request`, made a `Model` by a name or a thread."""

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
        """One call for all. What is wrong with one answer fails that answer; what is wrong with the call fails all."""
        prompts = [self._text_of(request) for request in requests]
        started = perf_counter()
        outputs = await self._call(prompts)
        share = (perf_counter() - started) / max(1, len(requests))
        return [self._answer(output, share) for output in self._as_list(outputs, len(requests))]

    def _as_list(self, outputs: Any, expected: int) -> list[Any]:
        if isinstance(outputs, str | bytes | dict) or not isinstance(outputs, Iterable):
            raise self._failed("bad_output", f"it returned {_told(outputs)} where a list of texts was due")
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
    """A few daemon threads that work off one queue.

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
                # also SystemExit and KeyboardInterrupt: in a thread they end nothing but the call
                result, error = None, raised
            try:
                loop.call_soon_threadsafe(_settle, answer, result, error)
            except RuntimeError:
                pass  # the loop has ended; nobody is waiting any more

        self._add_thread_for_one_more()
        self._jobs.put(job)
        return await answer

    def _add_thread_for_one_more(self) -> None:
        # a call that was given up still holds its thread, so threads are counted against calls that have not ended
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
        # a future refuses StopIteration, and the others would end the whole program
        answer.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))


def _instance(kind: type, options: Mapping[str, Any]) -> Any:
    try:
        inspect.signature(kind).bind(**options)
    except TypeError as error:
        given = f"with the options {', '.join(options)}" if options else "without arguments"
        raise UsageError(f"the class `{kind.__name__}` cannot be made {given}: {error}") from error
    except ValueError:
        pass  # built-in classes that do not tell their parameters
    return kind(**options)


def _takes(thing: Any, generate: Callable[[Any], Any]) -> Takes:
    parameter = _first_parameter(thing, generate)
    annotated = _takes_by_annotation(generate, parameter)
    batched = getattr(thing, "batched", None)
    if isinstance(batched, bool) and annotated != "request":
        return "prompts" if batched else "prompt"
    if annotated is not None:
        return annotated
    if parameter.name in ("request", "prompt", "prompts"):
        return typing.cast("Takes", parameter.name)
    if generate is thing:
        return "prompt"
    return "request" if _is_async(generate) else "prompts"


def _first_parameter(thing: Any, generate: Callable[[Any], Any]) -> inspect.Parameter:
    """The one thing it is called with; a `UsageError` when it cannot be called with exactly one."""
    try:
        parameters = list(inspect.signature(generate).parameters.values())
    except (TypeError, ValueError):
        # built-ins without a signature are taken at their word
        return inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes_one = parameters and parameters[0].kind in (*positional, inspect.Parameter.VAR_POSITIONAL)
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [rest for rest in parameters[1:] if rest.default is rest.empty and rest.kind not in optional]
    if not takes_one or needed:
        found = ", ".join(str(parameter) for parameter in parameters)
        raise UsageError(
            f"{_told(thing)} is not a model: it must take one argument (a prompt, a list of prompts or a request), "
            f"and takes ({found})"
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


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method itself is asked


def _is_native(thing: Any) -> bool:
    """Whether it is a `Model` already: a name, and an async `generate` that takes a request."""
    generate = getattr(thing, "generate", None)
    if not callable(generate) or not isinstance(getattr(thing, "name", None), str):
        return False
    return _is_async(generate) and _takes(thing, generate) == "request"


def _name(thing: Any) -> str:
    for found in (getattr(thing, "name", None), getattr(thing, "__name__", None)):
        if isinstance(found, str) and found:
            return found
    return type(thing).__name__


def _source_sha256(code: Any) -> str | None:
    """The hash of the file the code is in; None where there is no file (a notebook, a prompt, a built-in)."""
    try:
        source = inspect.getsourcefile(code)
        return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else None
    except (TypeError, OSError):
        return None


def _told(value: Any) -> str:
    """A value by its type, and itself where that is short: for messages."""
    if value is None:
        return "None"
    shown = repr(value)
    return f"{type(value).__name__} {shown}" if len(shown) <= 60 else f"a {type(value).__name__}"
