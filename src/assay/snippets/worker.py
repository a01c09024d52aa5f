"""The process a snippet runs in: loads the author's code once, then answers calls over a pipe, JSON lines both ways.

Run as a file of its own (`python worker.py`), so that it starts fast and the snippet sees none of our modules. What
the snippet prints goes nowhere near the pipe; a step that takes too long is interrupted; model answers come in as
data, over the same pipe, and are never code.
"""

from __future__ import annotations

import asyncio
import importlib.machinery
import inspect
import json
import linecache
import os
import signal
import sys
import threading
import time
import traceback
import types
from functools import partial
from typing import Any

if __name__ == "__main__":  # a file run by itself finds its neighbour by folder, not by package
    import importlib.util

    _spec = importlib.util.spec_from_file_location(
        "assay_snippet_views", os.path.join(os.path.dirname(os.path.abspath(__file__)), "views.py")
    )
    assert _spec is not None  # noqa: S101 - the file is next to this one
    assert _spec.loader is not None  # noqa: S101
    views = importlib.util.module_from_spec(_spec)
    sys.modules[_spec.name] = views
    _spec.loader.exec_module(views)
else:
    from assay.snippets import views

MAX_LINE = 1 << 30
MOST_FRAMES = 20
LONGEST_TRACEBACK = 1 << 16


class _TimeUp(BaseException):
    """A step of the snippet took too long. Not an `Exception`, so that a broad `except` does not swallow it."""


class SnippetWorker:
    def __init__(self, out: int, time_limit: float) -> None:
        self._out = out
        self._time_limit = time_limit
        self._namespace: dict[str, Any] = {}
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._trials: dict[int, _Trial] = {}
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        """The answers of models that are pending."""
        self._questions = 0

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_LINE)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        self._watch(loop)
        while line := await reader.readline():
            self._handle(json.loads(line))

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Reset the alarm as long as the loop runs; a step that blocks it too long is interrupted."""
        signal.setitimer(signal.ITIMER_REAL, self._time_limit)
        loop.call_later(self._time_limit / 4, self._watch, loop)

    def _handle(self, order: dict[str, Any]) -> None:
        if "load" in order:
            self._load(order)
        elif "call" in order:
            number = order["call"]
            task = asyncio.ensure_future(self._call(number, order))
            self._calls[number] = task
            task.add_done_callback(lambda _: self._forget(number))
        elif "answer" in order:
            pending = self._pending.pop(order["answer"], None)
            if pending is not None and not pending.done():
                pending.set_result(order)
        elif "cancel" in order and order["cancel"] in self._calls:
            self._calls[order["cancel"]].cancel()

    def _forget(self, number: int) -> None:
        self._calls.pop(number, None)
        self._trials.pop(number, None)

    def _load(self, order: dict[str, Any]) -> None:
        _install_shim()
        module = types.ModuleType("snippet")
        sys.modules["snippet"] = module  # dataclasses and pickles look their module up
        self._namespace = module.__dict__
        try:
            if "modules" in order:
                sys.meta_path.insert(0, _OwnModules(order["modules"]))
            _show_lines(order["name"], order["load"])
            code = compile(order["load"], order["name"], "exec", dont_inherit=True)
            exec(code, self._namespace)  # noqa: S102 - the author's code, in the process made for it
            function = self._namespace.get(order["function"])
            if not callable(function):
                raise LookupError(f"the snippet defines no function `{order['function']}`")
            if order["takes"] is not None:
                _check_signature(function, order)
        except (Exception, _TimeUp, SystemExit) as error:
            self._raised(order["number"], error, order["name"])
        else:
            self._send({"done": order["number"], "result": {"concurrent": inspect.iscoroutinefunction(function)}})

    async def _call(self, number: int, order: dict[str, Any]) -> None:
        try:
            result = await self._run(number, order)
            if order.get("each") and isinstance(result, list):
                result = [_entry(entry) for entry in result]
            trial = self._trials.get(number)
            answer = {"done": number, "result": result} | ({} if trial is None else {"trial": trial.report()})
            line = json.dumps(answer, default=_json_form, allow_nan=False, ensure_ascii=False).encode()
        except (asyncio.CancelledError, _TimeUp):
            self._fail(number, "timeout", f"took longer than {self._time_limit:g} s")
        except _ModelFailed as error:
            self._fail(number, "model", str(error))
        except (Exception, SystemExit) as error:
            if why := _is_not_json(error):
                self._fail(number, "bad_output", f"returned {why}")
            else:
                self._raised(number, error, order["name"])
        else:
            self._write(line)

    async def _run(self, number: int, order: dict[str, Any]) -> Any:
        function = self._namespace[order["function"]]
        arguments = [self._argument(argument, number) for argument in order["arguments"]]
        if order.get("fit"):
            arguments = arguments[: _positional_count(function, len(arguments))]
        result = function(*arguments)
        if inspect.isawaitable(result):
            result = await result
        if order["function"] == "run_solver":
            trace = arguments[2]
            result = _solved(trace if result is None else result)
        if order["function"] == "postprocess":
            result = _parts(result)
        return result

    def _argument(self, argument: dict[str, Any], number: int) -> Any:
        """An argument by its kind: plain data, or one of the objects snippets are promised."""
        ((kind, value),) = argument.items()
        if kind == "solver_output":
            return views.SolverOutput(value)
        if kind == "scores":
            return [_SampleScore(**score) for score in value]
        if kind == "made_up_scores":
            self._trials[number] = trial = _Trial(**value)
            return trial.scores
        if kind == "model":
            return _Model(self, number, value)
        if kind == "trace":
            return views.SolverTrace()
        return value

    async def ask(self, number: int, request: dict[str, Any]) -> dict[str, Any]:
        self._questions += 1
        question = self._questions
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[question] = answer
        self._send({"predict": question, "for": number, **request})
        return await answer

    def _raised(self, number: int, error: BaseException, name: str) -> None:
        self._fail(number, "exception", _error_message(error, name), error, traceback=_traceback_of(error, name))

    def _fail(
        self, number: int, kind: str, message: str, error: BaseException | None = None, *, traceback: str = ""
    ) -> None:
        answer: dict[str, Any] = {"failed": number, "kind": kind, "message": message[:2000]}
        if traceback:
            answer["traceback"] = traceback
        if (trial := self._trials.get(number)) is not None:
            answer["trial"] = trial.report(error)
        self._send(answer)

    def _send(self, message: dict[str, Any]) -> None:
        self._write(json.dumps(message, default=_json_form, ensure_ascii=False).encode(errors="replace"))

    def _write(self, line: bytes) -> None:
        data = line + b"\n"
        while data:
            data = data[os.write(self._out, data) :]


class _ModelFailed(BaseException):
    """The failure of the model on its way through the author's code, past its `except Exception`."""


class _Model:
    """The model as a snippet sees it: `await model.predict(items)`."""

    def __init__(self, worker: SnippetWorker, number: int, name: str) -> None:
        self._worker = worker
        self._number = number
        self.name = self.key = name

    async def predict(self, model_input: Any = None, *, sample: Any = None, **settings: Any) -> Any:
        """`settings` are the request's: `temperature=0.3`, `tools=[…]`, or anything else that the server knows."""
        answer = await self._worker.ask(self._number, _request(model_input, settings))
        if "failure" in answer:
            raise _ModelFailed(answer["failure"])
        output = views.ModelOutput(answer["text"], answer.get("data"))
        return views.ModelResponse(answer["text"], answer["items"], output)

    __call__ = predict


def _request(model_input: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """What a snippet asks, in any of the forms snippets use."""
    if isinstance(model_input, str):
        return {"prompt": model_input, "extra": views.plain(settings)}
    if isinstance(model_input, views.SolverTrace):
        model_input = model_input.items
    if isinstance(model_input, dict):
        settings = {**{key: value for key, value in model_input.items() if key != "messages"}, **settings}
        model_input = model_input.get("messages")
    messages = views.chat_messages([views.as_item(item) for item in model_input or ()])
    return {"messages": messages, "extra": views.plain(settings)}


def _solved(result: Any) -> dict[str, Any]:
    if isinstance(result, str):
        return {"text": str(result), "items": None}
    trace = result if isinstance(result, views.SolverTrace) else getattr(result, "trace", None)
    if not isinstance(trace, views.SolverTrace):
        raise TypeError(f"run_solver must return the trace, it returned {type(result).__name__}")
    text = trace.get_last_assistant_text()
    if text is None:
        custom = [item for item in trace.items if item.get("type") == "custom_task_output_message"]
        text = views.chat_messages(custom[-1:])[0]["content"] if custom else None
    return {"text": text, "items": [views.plain(item) for item in trace.items]}


def _parts(result: Any) -> list[dict[str, Any]]:
    """Pairs of a sample and its output, as `postprocess` returns them."""
    pairs = list(result) if isinstance(result, (list, tuple)) else None
    if pairs is None or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise TypeError("postprocess must return a list of pairs: a sample and its solver output")
    return [_one_part(*pair) for pair in pairs]


def _one_part(sample: Any, output: Any) -> dict[str, Any]:
    if not isinstance(sample, dict):
        raise TypeError(f"postprocess must return mappings as samples, not {type(sample).__name__}")
    if isinstance(output, str) and not isinstance(output, views.ModelOutput):
        trace = views.SolverTrace([views.message("assistant", output)])
    else:
        trace = output if isinstance(output, views.SolverTrace) else getattr(output, "trace", None)
    if not isinstance(trace, views.SolverTrace):
        raise TypeError(f"postprocess must return traces, outputs or texts with samples, not {type(output).__name__}")
    text = str(output.output) if isinstance(output, views.SolverOutput) else trace.get_last_assistant_text()
    if text is None:
        raise TypeError("postprocess must return traces with an answer")
    outputs = [views.as_output(each) for each in trace.raw_outputs]
    return {
        "sample": views.plain(sample),
        "text": text,
        "items": [views.plain(item) for item in trace.items],
        "outputs": [{"text": str(each), "data": each.to_json()} for each in outputs],
    }


def _check_signature(function: Any, order: dict[str, Any]) -> None:
    """`TypeError` for a function that cannot be called with as many arguments as it will be."""
    takes = order["takes"]
    try:
        given = _positional_count(function, takes) if order["fit"] else takes
        inspect.signature(function).bind(*range(given))
    except TypeError as error:
        counted = "1 argument" if takes == 1 else f"{takes} arguments"
        shown = f"{order['function']}{inspect.signature(function)}"
        raise TypeError(f"`{shown}` is called with {counted}: {error}") from None
    except ValueError:
        pass  # a built-in without a signature


def _positional_count(function: Any, most: int) -> int:
    """How many positional arguments a function takes, so that `compute_scores(sample)` works in a model task too."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return most
    return min(
        most,
        sum(parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) for parameter in parameters),
    )


def _error_message(error: BaseException, name: str) -> str:
    """The error's message, and the line of the snippet that raised it."""
    if isinstance(error, _TimeUp):
        return "loading the snippet took too long"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    if isinstance(error, SyntaxError) and error.lineno:
        lines = [error.lineno]
    place = f" (line {lines[-1]} of the snippet)" if lines else ""
    return f"{type(error).__name__}: {error}{place}"


def _traceback_of(error: BaseException, name: str) -> str:
    """The traceback from the snippet's first line on; its reader shortens it and removes keys."""
    if isinstance(error, _TimeUp):
        return ""
    report = traceback.TracebackException(type(error), error, error.__traceback__, limit=-MOST_FRAMES, compact=True)
    first = next((place for place, frame in enumerate(report.stack) if frame.filename == name), len(report.stack))
    del report.stack[:first]
    return "".join(report.format(chain=False)).rstrip()[-LONGEST_TRACEBACK:]


def _is_not_json(error: BaseException) -> str:
    """What is wrong with a value that could not be written as JSON; empty for any other error."""
    if isinstance(error, UnicodeEncodeError):
        return f"a text with half a character ({error.object[error.start]!r}), which cannot be stored"
    if isinstance(error, ValueError) and "JSON compliant" in str(error):
        return "NaN or infinity, which is no score; leave the value out"
    return f"what is not JSON: {error}" if isinstance(error, TypeError) and "JSON" in str(error) else ""


def _entry(entry: Any) -> dict[str, Any]:
    """An item of a list that is an answer for each of its items: one that cannot be sent spoils no other."""
    try:
        text = json.dumps(entry, default=_json_form, allow_nan=False, ensure_ascii=False)
        text.encode()
        return {"is": json.loads(text)}
    except (TypeError, ValueError) as error:
        if not (why := _is_not_json(error)):
            raise
        return {"is_not": why}


def _json_form(value: Any) -> Any:
    """Views, numpy scalars, sets and objects with fields, as JSON."""
    if isinstance(value, (views.SolverTrace, views.SolverOutput)) or hasattr(value, "to_json"):
        return views.plain(value)
    if hasattr(value, "item") and not isinstance(value, dict):
        return value.item()
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        return {key: item for key, item in vars(value).items() if not key.startswith("_")}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class _OwnModules:
    """Imports the author's own modules from the sources that were read with the task, and no others of theirs."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._files = {_module_name(file): file for file in sources}
        self._sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        file = self._files.get(name)
        is_package = any(other.startswith(f"{name}.") for other in self._files)
        if file is None and not is_package:
            return None
        is_package = is_package or (file is not None and file.endswith("/__init__.py"))
        spec = importlib.machinery.ModuleSpec(name, self, origin=file, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = file is not None
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        file = self._files.get(module.__name__)
        if file is None:  # a folder without a module of its own
            return
        _show_lines(file, self._sources[file])
        code = compile(self._sources[file], file, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - the author's code, in the process made for it


def _module_name(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _show_lines(name: str, source: str) -> None:
    """Let tracebacks show the lines of source that is in no file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


class _SampleScore:
    """One sample's score, as `compute_metrics` sees it: `.values`, `.metadata`, and by item as older snippets do."""

    def __init__(self, values: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None) -> None:
        self.values = views.Node(values or {})
        self.metadata = views.Node(metadata or {})

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def to_json(self) -> dict[str, Any]:
        """As `compute_scores` may return it: values that are aggregated, metadata that is not."""
        return {"scores": self.values, "metadata": self.metadata}


class _Trial:
    """Made-up scores, and what a snippet does with them: an error before it reads any does not depend on them."""

    def __init__(self, values: list[dict[str, Any]], count: int, known: bool) -> None:
        self.looked = False
        self.not_given: str | None = None
        """The value that was read last and that no score of a known scorer holds."""
        self._known = known
        cycle = [_MadeUpScore(self, value) for value in values]
        self.scores = [cycle[at % len(cycle)] for at in range(count)]

    def missing(self, name: str) -> Any:
        """The value of this name, which was not made up: anything where it is unknown what the scorer gives."""
        if name.startswith("__"):  # asked by Python itself
            raise KeyError(name)
        if self._known:
            self.not_given = name
            raise KeyError(name)
        return 1.0

    def report(self, error: BaseException | None = None) -> dict[str, Any]:
        bug = isinstance(error, (NameError, ImportError)) and not isinstance(error, UnboundLocalError)
        name = self.not_given
        ended = isinstance(error, (KeyError, AttributeError)) and name is not None and name in str(error)
        return {"regardless": bug or not self.looked, "not_given": name if ended else None}


class _MadeUpScore(_SampleScore):
    def __init__(self, trial: _Trial, values: dict[str, Any]) -> None:
        super().__init__()
        self.values = views.MadeUpValues(values, trial.missing)
        self._trial = trial

    def __getattribute__(self, name: str) -> Any:
        if name in ("values", "metadata", "__dict__") and (trial := super().__getattribute__("__dict__").get("_trial")):
            trial.looked = True
        return super().__getattribute__(name)


def _install_shim() -> None:
    """Provide the modules that existing snippets import their types from."""
    names = {
        "SampleScore": _SampleScore,
        "SolverOutput": views.SolverOutput,
        "SolverTrace": views.SolverTrace,
        "Trace": views.SolverTrace,
        "RawSample": dict,
        "ModelResponse": views.ModelResponse,
        "Message": _item("message"),
        "UserMessage": _item("message", role="user"),
        "AssistantMessage": _item("message", role="assistant"),
        "SystemMessage": _item("message", role="system"),
        "MessageRole": _Words("user", "assistant", "system", "developer"),
        "MessageStatus": _Words("in_progress", "completed", "incomplete"),
        "FunctionCallStatus": _Words("in_progress", "completed", "incomplete"),
        "FunctionCallOutputStatusEnum": _Words("in_progress", "completed", "incomplete"),
        "SYNTHETIC_MESSAGE_STATUS": "completed",
        "OutputTextContent": partial(views.Node, type="output_text"),
        "InputTextContent": partial(views.Node, type="input_text"),
        "FunctionCall": _item("function_call"),
        "FunctionCallOutput": _item("function_call_output"),
        "ChatCompletionModelOutput": views.Node,
        "ChatCompletionModelOutputChoice": views.Node,
        "ChatCompletionModelOutputMessage": views.Node,
        "ChatCompletionOutputMessage": views.Node,
        "SystemTaskOutput": views.Node,
        "SystemTaskMetricEntry": views.Node,
    }
    sys.modules.setdefault("latticeflow", types.ModuleType("latticeflow"))
    for package in ("latticeflow.core", "latticeflow.assessment"):
        sys.modules.setdefault(package, types.ModuleType(package))
        module = sys.modules.setdefault(f"{package}.dtypes", types.ModuleType(f"{package}.dtypes"))
        # names that only annotate, or build plain items, need no more than a mapping with attributes
        module.__dict__.update(names, __getattr__=_annotation)


def _annotation(name: str) -> Any:
    if name.startswith("__"):  # what Python asks of every module, such as where its file is
        raise AttributeError(name)
    return views.Node


class _Words:
    """Stands for an enumeration: `MessageRole.USER` is the text `user`."""

    def __init__(self, *words: str) -> None:
        for word in words:
            setattr(self, word.upper(), word)
            setattr(self, word, word)


def _item(kind: str, **usual: Any) -> Any:
    return lambda **fields: views.as_item({"type": kind, **usual, **fields})


def _time_up(*_: Any) -> None:
    raise _TimeUp


def _end_with(parent: int) -> None:
    """A worker whose parent was killed must end."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    out = os.dup(1)
    os.dup2(2, 1)  # what the snippet prints must not reach the pipe
    signal.signal(signal.SIGALRM, _time_up)
    worker = SnippetWorker(out, float(sys.argv[1]))
    try:
        asyncio.run(worker.serve())
    except _TimeUp:
        os._exit(1)


if __name__ == "__main__":
    main()
