"""The candidate's side: load untrusted source, then answer one request at a time with plain data.

Nothing here is trusted: the code shares its process with the candidate, which may rewrite all of it.
It can only return values, and never receives the right ones.
"""

from __future__ import annotations

import linecache
import operator
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

from . import frames, imports, values

CandidateRequest = dict[str, Any]
MAX_HANDLES = 20_000
PROGRAM = "<candidate>"


class Candidate:
    """One loaded program, and those of its objects that the verifier has handles to."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self.kept: list[Any] = []
        self.number_by_identity: dict[int, int] = {}

    def serve(self) -> None:
        while True:
            try:
                request = frames.receive()
            except EOFError:
                os._exit(0)
            reply = self.answer(request)
            flush_streams()
            self.send(request, reply)

    def send(self, request: CandidateRequest, reply: dict[str, Any]) -> None:
        try:
            frames.send({"id": request["id"], **reply})
        except frames.FrameTooLargeError:
            frames.send({"id": request["id"], "limit": "the result is larger than may travel"})

    def answer(self, request: CandidateRequest) -> dict[str, Any]:
        try:
            return self.perform(request)
        except values.ValueTooLargeError as error:
            return {"limit": str(error)}
        except BaseException as error:
            return {"error": describe(error)}

    def perform(self, request: CandidateRequest) -> dict[str, Any]:
        operation = request["op"]
        if operation == "load":
            return self.load(request)
        if operation == "script":
            run_script(request["source"], request.get("imports"))
        if operation == "together":
            self.run_tests(request["source"])
            return {"ran": True}
        keep = self.keep if request.get("keep") else None
        arguments = [self.decode(tree) for tree in request.get("args", ())]
        named = {name: self.decode(tree) for name, tree in request.get("kwargs", {}).items()}
        before = request.get("args", ())
        if operation == "names":
            return {"values": [self.look_up(name, keep) for name in arguments]}
        if operation == "call" and "name" in request:
            result = self.namespace[request["name"]](*arguments, **named)
        else:
            result = ACTIONS[operation](self.kept[request["handle"]], *arguments, **named)
        reply = {"value": values.encode(result, keep)}
        if result is None and keep is not None:
            reply["changed"] = changed(before, arguments, keep)
        return reply

    def load(self, request: CandidateRequest) -> dict[str, Any]:
        try:
            code = compile_with_prelude(request.get("prelude", ""), request["source"])
        except BaseException as error:
            return {"syntax": describe(error)}
        self.namespace = new_module("candidate", request.get("imports"))
        exec(code, self.namespace)  # noqa: S102 -- this is what the process is for
        return {"loaded": True}

    def run_tests(self, source: str) -> None:
        """Run the author's tests, which may import anything; the candidate's functions keep their builtins."""
        code = compile(source, "<tests>", "exec", dont_inherit=True)
        theirs, self.namespace["__builtins__"] = self.namespace.get("__builtins__"), __builtins__
        try:
            exec(code, self.namespace)  # noqa: S102 -- asked for, graded weak
        finally:
            self.namespace["__builtins__"] = theirs

    def look_up(self, name: str, keep: values.KeepTree | None) -> dict[str, Any]:
        if name not in self.namespace:
            return {"missing": True}
        value = self.namespace[name]
        if isinstance(value, type) and issubclass(value, BaseException):
            return {"exception": [base.__name__ for base in value.__mro__], "tree": values.encode(value, keep)}
        return {"tree": values.encode(value, keep)}

    def keep(self, value: Any) -> values.Tree:
        """The handle of an object, which stays here: the verifier gets its number."""
        identity = id(value)
        number = self.number_by_identity.get(identity)
        if number is None:
            if len(self.kept) >= MAX_HANDLES:
                raise values.ValueTooLargeError("too many objects are held")
            number = len(self.kept)
            self.kept.append(value)
            self.number_by_identity[identity] = number
        return ["h", number, str(type(value).__name__)[:100]]

    def decode(self, tree: values.Tree) -> Any:
        return values.decode(tree, lambda number, _: self.kept[number])


def changed(before: Any, arguments: list[Any], keep: values.KeepTree) -> list[Any]:
    """The arguments that a call changed in place, as trees; None for those that did not change."""
    after = [values.encode(argument, keep) for argument in arguments]
    return [new if new != old else None for old, new in zip(before, after, strict=True)]


def _contents_of(target: Any, count: int) -> list[Any]:
    """Up to `count` next items of an iterator, so that a loop in a test needs few requests."""
    items = []
    for item in target:
        items.append(item)
        if len(items) >= count:
            break
    return items


ACTIONS: dict[str, Callable[..., Any]] = {
    "call": lambda target, *a, **k: target(*a, **k),
    "getattr": getattr,
    "setattr": setattr,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "len": len,
    "iter": iter,
    "next": _contents_of,
    "bool": bool,
    "str": str,
    "repr": repr,
    "int": int,
    "float": float,
    "instance": lambda target, value: isinstance(value, target),
    "enter": lambda target: target.__enter__(),
    "exit": lambda target: target.__exit__(None, None, None),
}


def compile_with_prelude(prelude: str, source: str) -> types.CodeType:
    """The source after its prelude, as text, so that a bare continuation works; alone if that does not compile."""
    if prelude:
        joined = prelude + source if prelude.endswith("\n") else f"{prelude}\n{source}"
        try:
            return compile_source(joined)
        except SyntaxError:
            pass
    return compile_source(source)


def compile_source(source: str) -> types.CodeType:
    linecache.cache[PROGRAM] = (len(source), None, source.splitlines(keepends=True), PROGRAM)
    return compile(source, PROGRAM, "exec", dont_inherit=True)


def new_module(name: str, extra_imports: list[str] | None) -> dict[str, Any]:
    """The namespace of a registered module: dataclasses, enum and typing look up a class's module by name.

    Its code may import pure modules and those in `extra_imports`; anything if that is None.
    """
    module = types.ModuleType(name)
    sys.modules[name] = module
    namespace: dict[str, Any] = module.__dict__
    namespace["__builtins__"] = __builtins__ if extra_imports is None else imports.restricted_builtins(extra_imports)
    return namespace


def run_script(source: str, extra_imports: list[str] | None) -> None:
    """Run the source as a program to its end, with its threads and exit handlers, and exit with its status."""
    status = 0
    try:
        code = compile_source(source)
    except BaseException as error:
        frames.send({"id": "script", "syntax": describe(error)})
        os._exit(1)
    try:
        exec(code, new_module("__main__", extra_imports))  # noqa: S102 -- this is what the process is for
    except SystemExit as leaving:
        status = exit_status(leaving)
    except BaseException as error:
        print_error(error)
        frames.send({"id": "script", "error": describe(error)})
        status = 1
    finish_threads()
    flush_streams()
    os._exit(status)


def exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def print_error(error: BaseException) -> None:
    try:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, trace)
    except BaseException:  # noqa: S110
        pass  # a traceback that cannot be printed changes nothing about the outcome


def finish_threads() -> None:
    import atexit

    try:
        threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter itself calls before it ends
        atexit._run_exitfuncs()
    except BaseException as error:
        print_error(error)


def flush_streams() -> None:
    for stream in (STREAMS.get("stdout"), STREAMS.get("stderr"), sys.stdout, sys.stderr):
        try:
            stream.flush()  # type: ignore[union-attr]  # whatever the candidate put there, or nothing
        except BaseException:  # noqa: S112 -- a broken stream loses its own text and nothing else
            continue


STREAMS: dict[str, Any] = {}
"""The child's original streams, in case the candidate replaces `sys.stdout` or `sys.stderr`."""


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as plain data: the names of its classes, its message, its arguments if they are plain."""
    described: dict[str, Any] = {"types": ["Exception"], "message": "", "args": None}
    try:
        described["types"] = [str(base.__name__)[:100] for base in type(error).__mro__][:20]
        described["message"] = str(error)[:2_000]
        described["args"] = _plain_arguments(error)
        described["line"] = error.lineno if isinstance(error, SyntaxError) else last_line_in(PROGRAM, error)
    except BaseException:  # noqa: S110
        pass  # the candidate's own __str__ may raise; what is known so far is enough
    if not isinstance(described["message"], str):
        described["message"] = ""
    return described


def _plain_arguments(error: BaseException) -> list[values.Tree] | None:
    trees = [values.encode(argument) for argument in error.args[:4]]
    small = len(str(trees)) < 4_000
    return trees if small and not any(type(tree) is list and tree[0] == "o" for tree in trees) else None


def last_line_in(file: str, error: BaseException) -> int | None:
    """The innermost line of a file that an error came through."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
