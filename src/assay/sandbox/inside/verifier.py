"""The verifier's side: run the dataset's tests, with the candidate's names behind proxies that carry plain data.

No candidate code is ever in this process. What comes from the candidate is a value, a handle to an object that stays
where it is, or an exception rebuilt from its name. `==`, ordering and arithmetic never ask the candidate.
"""

from __future__ import annotations

import builtins
import os
import sys
import types
from collections.abc import Iterator
from typing import Any, TypeVar

from . import frames, imports, values

T = TypeVar("T")
PROGRAM = "<tests>"
ITERATE_AHEAD = 64
NEVER_REBUILT = {"StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit", "KeyboardInterrupt"}
"""A candidate that could raise these would end `all(map(...))` or the test itself early, and pass."""


class CandidateError(Exception):
    """An exception of the candidate that has no builtin name, or must not keep it."""


class CannotTravelError(Exception):
    """The test hands the candidate something that is not plain data, such as a function of its own."""


class Handle:
    """An object that stays in the candidate's process; equal only to itself."""

    __slots__ = ("_is_attribute", "_number", "_type_name")

    def __init__(self, number: int, type_name: str) -> None:
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_type_name", type_name)
        object.__setattr__(self, "_is_attribute", False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return act("call", self, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__name__":
            raise AttributeError(name)
        found = act("getattr", self, name)
        if isinstance(found, Handle):
            object.__setattr__(found, "_is_attribute", True)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        act("setattr", self, name, value)

    def __getitem__(self, key: Any) -> Any:
        return act("getitem", self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        act("setitem", self, key, value)

    def __delitem__(self, key: Any) -> None:
        act("delitem", self, key)

    def __len__(self) -> int:
        return _of_type(int, act("len", self))

    def __iter__(self) -> Iterator[Any]:
        iterator = act("iter", self)
        if not isinstance(iterator, Handle):
            raise CandidateError("iter() gave plain data")
        while True:
            items = _of_type(list, act("next", iterator, ITERATE_AHEAD))
            yield from items
            if len(items) < ITERATE_AHEAD:
                return

    def __next__(self) -> Any:
        items = _of_type(list, act("next", self, 1))
        if not items:
            raise StopIteration
        return items[0]

    def __bool__(self) -> bool:
        return _of_type(bool, act("bool", self))

    def __str__(self) -> str:
        return _of_type(str, act("str", self))

    def __repr__(self) -> str:
        return _of_type(str, act("repr", self))

    def __int__(self) -> int:
        return _of_type(int, act("int", self))

    def __float__(self) -> float:
        return _of_type(float, act("float", self))

    def __enter__(self) -> Any:
        return act("enter", self)

    def __exit__(self, *_: object) -> None:
        act("exit", self)

    def __instancecheck__(self, instance: Any) -> bool:
        return _of_type(bool, act("instance", self, instance))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Handle) and other._number != self._number:
            OWN_COMPARISONS.append("==")
        return isinstance(other, Handle) and other._number == self._number

    def __hash__(self) -> int:
        return hash(("handle", self._number))

    def _refuse(self, other: object) -> Any:
        """Ordering and arithmetic would have to ask the candidate about an operand of the test's."""
        if isinstance(other, Handle):
            OWN_COMPARISONS.append("an operator")
        return NotImplemented

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse


def _of_type(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        raise CandidateError(f"the candidate answered with {type(value).__name__}, not {kind.__name__}")
    answer: T = value
    return answer


OWN_COMPARISONS: list[str] = []
"""Operators the check at hand used between two objects of the candidate's, which only the candidate could answer."""

EXCEPTIONS: dict[str, type[Exception]] = {}
"""The candidate's own exception classes, rebuilt here so that a test can catch them by name."""


def act(operation: str, target: Handle, *args: Any, **kwargs: Any) -> Any:
    """Ask the candidate to do something with one of its objects."""
    request = {
        "op": operation,
        "handle": target._number,
        "method": bool(target._is_attribute and args),
        "args": [outgoing(value) for value in args],
        "kwargs": {name: outgoing(value) for name, value in kwargs.items()},
    }
    reply = ask(request)
    for original, tree in zip(args, reply.get("changed") or (), strict=False):
        if tree is not None:
            write_back(original, incoming(tree))
    return incoming(reply["value"])


def ask(request: dict[str, Any]) -> dict[str, Any]:
    frames.send(request)
    reply = frames.receive()
    if "error" in reply:
        raise rebuilt(reply["error"])
    return reply


def outgoing(value: Any) -> values.Tree:
    def handle_or_refuse(other: Any) -> values.Tree:
        if isinstance(other, Handle):
            return ["h", other._number, other._type_name]
        if isinstance(other, BaseException):
            raise TypeError("an exception cannot be handed to the candidate")
        raise CannotTravelError(f"the test passes an object of type {type(other).__name__} to the candidate")

    return values.encode(value, handle_or_refuse)


def incoming(tree: values.Tree) -> Any:
    return values.decode(tree, Handle)


def write_back(original: Any, changed: Any) -> None:
    """What a call that returned None did to its arguments: sorting in place, filling a dict."""
    if type(original) is not type(changed):
        return
    if isinstance(original, list | bytearray):
        original[:] = changed
    elif isinstance(original, dict | set):
        original.clear()
        original.update(changed)


def rebuilt(error: dict[str, Any]) -> Exception:
    """The candidate's exception as the nearest builtin class by name, marked as not ours."""
    message = str(error.get("message", ""))
    exception = _nearest(error, message)
    exception.__dict__["from_candidate"] = True
    return exception


def _nearest(error: dict[str, Any], message: str) -> Exception:
    for name in error.get("types", ()):
        if name in NEVER_REBUILT:
            return CandidateError(f"{name}: {message}")
        found = EXCEPTIONS.get(name) or getattr(builtins, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            for arguments in (_arguments(error), (message,)):
                try:
                    return found(*arguments)
                except Exception:  # noqa: S112 -- some classes want other arguments: try the next form
                    continue
    return CandidateError(message)


def _arguments(error: dict[str, Any]) -> tuple[Any, ...]:
    trees = error.get("args")
    if trees is None:
        return (error.get("message", ""),)
    return tuple(incoming(tree) for tree in trees)


def serve() -> None:
    """Receive the tests, bind the candidate's names, run the checks in order, say how each came out."""
    request = frames.receive()
    namespace = new_namespace()
    namespace.update(__builtins__=builtins)
    try:
        exec(compile(request["prelude"], "<prelude>", "exec", dont_inherit=True), namespace)  # noqa: S102 -- dataset code
    except Exception as error:
        frames.send({"op": "broken", "message": f"the prelude does not run: {type(error).__name__}: {error}"[:1_000]})
        os._exit(0)
    bind_names(request["names"], namespace)
    for index, source in enumerate(request["checks"]):
        OWN_COMPARISONS.clear()
        verdict = run_check(source, request["mode"], namespace)
        if OWN_COMPARISONS and verdict["outcome"] == "wrong":
            verdict["own"] = f"the test uses {OWN_COMPARISONS[0]} between two objects of the candidate's own classes"
        frames.send({"op": "verdict", "check": index, **verdict})
    frames.send({"op": "done"})
    os._exit(0)


def new_namespace() -> dict[str, Any]:
    module = types.ModuleType("tests")
    sys.modules["tests"] = module
    return module.__dict__


def bind_names(names: list[str], namespace: dict[str, Any]) -> None:
    reply = ask({"op": "names", "args": names}) if names else {"values": []}
    for name, found in zip(names, reply["values"], strict=True):
        if found.get("missing"):
            namespace.pop(name, None)
        elif "exception" in found:
            EXCEPTIONS[name] = namespace[name] = own_exception(name, found["exception"])
        else:
            namespace[name] = incoming(found["tree"])


def own_exception(name: str, ancestry: list[str]) -> type[Exception]:
    for ancestor in ancestry[1:]:
        base = EXCEPTIONS.get(ancestor) or getattr(builtins, ancestor, None)
        if ancestor not in NEVER_REBUILT and isinstance(base, type) and issubclass(base, Exception):
            return type(name, (base,), {})
    return type(name, (Exception,), {})


def run_check(source: str, mode: str, namespace: dict[str, Any]) -> dict[str, Any]:
    try:
        if mode == "expression":
            held = bool(eval(compile(source, PROGRAM, "eval", dont_inherit=True), namespace))  # noqa: S307 -- dataset code
        else:
            exec(compile(source, PROGRAM, "exec", dont_inherit=True), namespace)  # noqa: S102 -- dataset code
            held = True
    except CannotTravelError as error:
        return {"outcome": "unsupported", "detail": str(error)}
    except BaseException as error:
        return explain(error, source)
    return {"outcome": "pass" if held else "wrong", "detail": "" if held else "the expression is not true"}


def explain(error: BaseException, source: str) -> dict[str, Any]:
    outcome = "runtime_error" if _from_candidate(error) else "wrong"
    if isinstance(error, ImportError) and imports.REFUSAL in str(error):
        outcome = "wrong"
    if outcome == "runtime_error" and isinstance(error, MemoryError):
        outcome = "memory"
    line = _test_line(error)
    where = f"line {line}: {_source_line(source, line)}: " if line else ""
    told = "" if isinstance(error, AssertionError) and not error.args else f"{type(error).__name__}: {error}"
    return {"outcome": outcome, "detail": (where + told)[:500]}


def _from_candidate(error: BaseException) -> bool:
    return isinstance(error, CandidateError) or bool(getattr(error, "__dict__", {}).get("from_candidate"))


def _test_line(error: BaseException) -> int | None:
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PROGRAM:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _source_line(source: str, line: int) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip()[:120] if line <= len(lines) else ""
