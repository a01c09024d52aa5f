"""The candidate's objects and exceptions as the dataset's tests see them: handles that exchange plain data.

What comes from the candidate is a value, a handle to an object that stays there, or an exception rebuilt from its name.
`==`, ordering and arithmetic never call the candidate.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from . import frames, values

T = TypeVar("T")
ITERATE_AHEAD = 64
"""Items that are fetched together: a message for each would take longer than most candidates need for all."""
NEVER_REBUILT = {"StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit", "KeyboardInterrupt"}
"""A candidate that could raise these would end `all(map(...))` or the test itself early, and pass."""


class CandidateError(Exception):
    """An exception of the candidate that has no builtin name, or one that must not be rebuilt."""


class CannotTravelError(Exception):
    """The test passes the candidate something that is not plain data, such as a function that the test defines."""


class KindOfHandle(type):
    """The type of every handle, which says nothing about the candidate's object."""

    def __getattribute__(cls, name: str) -> Any:
        OWN.note_weak(NOT_ASKED)
        return type.__getattribute__(cls, name)

    def __eq__(cls, other: object) -> bool:
        OWN.note_weak(NOT_ASKED)
        return cls is other

    def __hash__(cls) -> int:
        OWN.note_weak(NOT_ASKED)
        return type.__hash__(cls)


class Handle(metaclass=KindOfHandle):
    """An object that stays in the candidate's process, by its number, which only `is` and `id` use."""

    __slots__ = ("_is_name", "_number", "_type_name")

    def __init__(self, number: int, type_name: str) -> None:
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_type_name", type_name)
        object.__setattr__(self, "_is_name", False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return act("call", self, *args, **kwargs)

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__"):
            return object.__getattribute__(self, name)
        OWN.used = True
        if name in ASKED_BY_NAME:
            return act("getattr", self, name)
        if name not in ASKED_BY_METHOD and not self._is_name:
            OWN.note_weak(NOT_ASKED)
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return act("getattr", self, name)

    def __dir__(self) -> Iterable[str]:
        OWN.note_weak(NOT_ASKED)
        return object.__dir__(self)

    def __delattr__(self, name: str) -> None:
        OWN.note_weak(NOT_ASKED)
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        act("setattr", self, name, value)

    def __getitem__(self, key: Any) -> Any:
        try:
            return act("getitem", self, key)
        except IndexError:  # which ends `reversed` as if there were no more items
            note_missing(self, key)
            raise

    def __setitem__(self, key: Any, value: Any) -> None:
        act("setitem", self, key, value)

    def __delitem__(self, key: Any) -> None:
        act("delitem", self, key)

    def __len__(self) -> int:
        length = _of_type(int, act("len", self))
        note_size(self, length)
        return length

    def __iter__(self) -> Iterator[Any]:
        iterator = act("iter", self)
        if not isinstance(iterator, Handle):
            raise CandidateError("iter() gave plain data")
        count = 0
        while True:
            items = _of_type(list, act("next", iterator, ITERATE_AHEAD))
            yield from items
            count += len(items)
            if len(items) < ITERATE_AHEAD:
                note_size(self, count, used_up=iterator._number == self._number)
                return

    def __next__(self) -> Any:
        items = _of_type(list, act("next", self, 1))
        if not items:
            raise StopIteration
        return items[0]

    def __bool__(self) -> bool:
        return _of_type(bool, act("bool", self))

    def __str__(self) -> str:
        return f"<object of type {self._type_name}>" if CLOSED else _of_type(str, act("str", self))

    def __repr__(self) -> str:
        return f"<object of type {self._type_name}>" if CLOSED else _of_type(str, act("repr", self))

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
        """Two answers are never equal by their numbers, which the candidate chooses."""
        OWN.used = True
        if self is other:
            return True
        if isinstance(other, Handle):
            OWN.note("==")
        elif other is not None:  # tests compare with None in the sense of `is`
            OWN.note_weak(NOT_ASKED)
        return False

    def __hash__(self) -> int:
        OWN.note_weak("looks up an object of the candidate's own classes")
        return hash(("handle", self._number))

    def _refuse(self, other: object) -> Any:
        """Ordering and arithmetic would have to ask the candidate about an operand of the test."""
        if isinstance(other, Handle):
            OWN.note("an operator")
        OWN.note_weak(NOT_ASKED)
        return NotImplemented

    def _refuse_alone(self, *_: object) -> Any:
        OWN.note_weak(NOT_ASKED)
        raise TypeError(f"bad operand type: an object of type {self._type_name} is not asked for a result")

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse
    __divmod__ = __rdivmod__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __neg__ = __pos__ = __invert__ = __abs__ = __round__ = __index__ = _refuse_alone


def _of_type(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        raise CandidateError(f"the candidate answered with {type(value).__name__}, not {kind.__name__}")
    answer: T = value
    return answer


class OwnWord:
    """Whether the current check relies on what the candidate says about its own objects: a pass then proves little."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.reason = ""
        self.operator = ""
        self.used = False
        """Whether the check has done anything with an object of the candidate."""

    def note(self, operator: str) -> None:
        """Note an operator between two objects of the candidate, which only the candidate could evaluate."""
        self.operator = self.operator or operator
        self.note_weak(f"uses {operator} between two objects of the candidate's own classes")

    def note_weak(self, reason: str) -> None:
        self.used = True
        self.reason = self.reason or reason


OWN = OwnWord()
NOT_ASKED = "inspects an object of the candidate without asking the candidate"
ASKED_BY_NAME = frozenset({"__name__", "__qualname__", "__doc__", "__module__"})
ASKED_BY_METHOD = frozenset(name for name, value in vars(Handle).items() if callable(value))
"""What a handle forwards, or notes, with a method of its own."""

SIZES: dict[int, int] = {}
"""The size that each of the candidate's objects has shown since it last had a chance to change."""
YIELDED: dict[int, int] = {}
"""How many items each object that is its own iterator has yielded until it was exhausted for the first time."""
DIFFERENT_SIZES = "uses an object of the candidate that reports different sizes"
CHANGES_NOTHING = {"getattr", "getitem", "len", "iter", "next", "bool", "str", "repr", "int", "float", "instance"}

EXCEPTIONS: dict[str, type[Exception]] = {}
"""The candidate's own exception classes, rebuilt here so that a test can catch them by name."""
CLASSES: dict[type, values.Tree] = {}
"""Those classes, and the handles of the candidate's classes they stand for."""

CLOSED: list[str] = []
"""Why the candidate must not be called now; empty while it may be."""


def note_size(handle: Handle, size: int, used_up: bool = False) -> None:
    """Note an object that claims three items and then yields none: a loop over it proves nothing."""
    number = handle._number
    known = SIZES.get(number) if used_up else SIZES.get(number, YIELDED.get(number))
    if known is not None and known != size:
        OWN.note_weak(DIFFERENT_SIZES)
    if used_up:  # an iterator is empty the second time; only a length can contradict what it yielded first
        YIELDED.setdefault(number, size)
    else:
        SIZES[number] = size


def note_missing(handle: Handle, place: Any) -> None:
    """Note an object that claims three items and then has none at one of their places."""
    size = SIZES.get(handle._number, 0)
    if isinstance(place, int) and -size <= place < size:
        OWN.note_weak(DIFFERENT_SIZES)


def act(operation: str, target: Handle, *args: Any, **kwargs: Any) -> Any:
    """Ask the candidate to do something with one of its objects."""
    request = {
        "op": operation,
        "handle": target._number,
        "named": target._is_name,
        "args": [outgoing(value) for value in args],
        "kwargs": {name: outgoing(value) for name, value in kwargs.items()},
    }
    if operation not in CHANGES_NOTHING:
        SIZES.clear()
        YIELDED.clear()
    reply = ask(request)
    for original, tree in zip(args, reply.get("changed") or (), strict=False):
        if tree is not None:
            write_back(original, incoming(tree))
    return incoming(reply["value"])


def ask(request: dict[str, Any]) -> dict[str, Any]:
    if CLOSED:
        raise CandidateError(CLOSED[0])
    OWN.used = True
    frames.send(request)
    reply = frames.receive()
    if "error" in reply:
        raise rebuilt(reply["error"])
    return reply


def outgoing(value: Any) -> values.Tree:
    def handle_or_refuse(other: Any) -> values.Tree:
        if isinstance(other, Handle):
            return ["h", other._number, other._type_name]
        if isinstance(other, type) and other in CLASSES:
            return CLASSES[other]
        if isinstance(other, BaseException):
            raise TypeError("an exception cannot be passed to the candidate")
        raise CannotTravelError(f"the test passes an object of type {type(other).__name__} to the candidate")

    return values.encode(value, handle_or_refuse, Handle)


def incoming(tree: values.Tree) -> Any:
    return values.decode(tree, Handle)


def write_back(original: Any, changed: Any) -> None:
    """Apply what a call that returned None did to its arguments: sorting in place, filling a dict."""
    if type(original) is not type(changed):
        return
    if isinstance(original, list | bytearray):
        original[:] = changed
    elif isinstance(original, dict | set):
        original.clear()
        original.update(changed)


def rebuilt(error: dict[str, Any]) -> Exception:
    """The candidate's exception as the nearest builtin class by name, marked as the candidate's."""
    message = str(error.get("message", ""))
    exception = _nearest(error, message)
    exception.__dict__["from_candidate"] = True
    return exception


def _nearest(error: dict[str, Any], message: str) -> Exception:
    for name in error.get("types", ()):
        if name in NEVER_REBUILT:
            return CandidateError(f"{name}: {message}")
        kind = EXCEPTIONS.get(name) or getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            for trees in (error.get("args"), None):
                try:
                    return made_for_candidate(kind, (message,) if trees is None else map(incoming, trees))
                except Exception:  # noqa: S112 -- some classes need other arguments: try the next form
                    continue
    return CandidateError(message)


def made_for_candidate(kind: type[Exception], arguments: Iterable[Any]) -> Exception:
    MAKING.append(kind)
    try:
        return kind(*arguments)
    finally:
        MAKING.pop()


MAKING: list[type[Exception]] = []
"""Set while an exception that the candidate raised is rebuilt."""


def own_exception(name: str, ancestry: list[str]) -> type[Exception]:
    for ancestor in ancestry[1:]:
        base = EXCEPTIONS.get(ancestor) or getattr(builtins, ancestor, None)
        if ancestor not in NEVER_REBUILT and isinstance(base, type) and issubclass(base, Exception):
            return type(name, (base,), {"__init__": started_here(base)})
    return type(name, (Exception,), {"__init__": started_here(Exception)})


def started_here(base: type[Exception]) -> Callable[..., None]:
    """An `__init__` that notes when the test itself creates an instance, which proves nothing about the candidate."""

    def start(self: Exception, *args: Any, **kwargs: Any) -> None:
        if not MAKING:
            OWN.note_weak("creates an object of what the candidate says is an exception class")
        base.__init__(self, *args, **kwargs)

    return start
