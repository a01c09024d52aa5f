"""Functions and objects passed in from Python: their names, and what distinguishes one from another.

A function that can be imported is called `module:name`, as it would be in a task file. A lambda, a function inside
another, and one of a notebook or of the script itself exist only in this process: such a one is called
`here:NAME@HASH`. The hash is of its code and of the values that it uses: defaults, what it closes over, the globals it
reads, the arguments of a partial, the object of a method. Objects of one class differ by the arguments
they were made with and keep. What the code itself writes to (a counter, a list of requests) is not part of it,
or a run could not be resumed.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import CO_VARARGS, CO_VARKEYWORDS, iscoroutinefunction
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from assay.core.errors import UsageError

HERE = "here:"
LONGEST_SOURCE = 4000
_DEEPEST = 10
"""How far values are followed: through three functions that call one another, with a dictionary and its items each."""
_PLAIN = (str, int, float, bool, bytes, complex, type(None), type(Ellipsis))
_ROUTINES = (FunctionType, MethodType, BuiltinMethodType, staticmethod, classmethod)
_FILLING = {"append", "appendleft", "extend", "insert", "add", "update", "setdefault"}
_FILLING |= {"pop", "popleft", "remove", "discard", "clear"}

_handed_over: dict[str, Callable[..., Any]] = {}
_chosen: set[str] = set()


def is_async(function: Callable[..., Any]) -> bool:
    return iscoroutinefunction(function) or iscoroutinefunction(function.__call__)  # type: ignore[operator]  # any callable has it


def name_of(function: Callable[..., Any], *, made_of: Callable[..., Any] | None = None) -> str:
    """The name of the function wherever one is needed; from now on it can be looked up by that name.

    One that is `made_of` another differs as that one does.
    """
    if can_be_imported(function):
        return f"{function.__module__}:{function.__qualname__}"
    name = f"{HERE}{function.__name__.strip('<>')}@{code_sha256(made_of or function)[:12]}"
    _handed_over[name] = function
    return name


def choose(name: str) -> None:
    """The program itself names this function, so running it needs no trust in the file of a task."""
    _chosen.add(name)


def is_chosen(name: str) -> bool:
    return name in _chosen


def is_here(name: object) -> bool:
    """Whether it is the name of a function that was passed to this process."""
    return isinstance(name, str) and name in _handed_over


def find_here(name: str) -> Callable[..., Any]:
    """The function behind `here:…`; `UsageError` in any other process."""
    function = _handed_over.get(name)
    if function is None:
        raise UsageError(
            f"`{name}` was a function that a Python program passed to its run; it cannot be imported elsewhere. Put it "
            "into a file and name it `module:function`, or pass it again from Python with `metric=`"
        )
    return function


def source_of(function: Callable[..., Any]) -> str | None:
    """Its source text without keys, for people to read later; None if Python does not have it."""
    from inspect import getsource

    from assay.text.redaction import cut_keys

    try:
        return cut_keys(getsource(function))[:LONGEST_SOURCE]
    except (OSError, TypeError):
        return None


def can_be_imported(code: Any) -> bool:
    """Whether another process would find this function or class under its name."""
    module, path = code.__module__, code.__qualname__
    return module not in (None, "__main__") and "<" not in path and _at(module, path) is code


def own_sha256(thing: Any) -> str | None:
    """A hash of what distinguishes a function or object from others in the same file; None if nothing does."""
    code = thing if isinstance(thing, FunctionType | type) else type(thing)
    if code is not thing and (isinstance(thing, partial) or _bound_to(thing) is not None or _kept_arguments(thing)):
        return code_sha256(thing)
    return None if can_be_imported(code) else code_sha256(code)


def code_sha256(thing: Any) -> str:
    """A hash of its code and the values that it uses, not of its position in the file."""
    return hashlib.sha256(repr(_facts(thing, 0)).encode()).hexdigest()


def opaque_parts(thing: Any) -> list[Any]:
    """The objects in it that may differ in more than their hash: made with arguments that they do not keep."""
    return list(_opaque(thing, 0))


def _opaque(value: Any, depth: int) -> Iterator[Any]:
    if depth > _DEEPEST or isinstance(value, (*_PLAIN, CodeType, type, ModuleType)):
        return
    if not isinstance(value, (tuple, list, set, frozenset, dict, partial, *_ROUTINES)) and _drops_arguments(value):
        yield value
    for item in _inside(value):
        yield from _opaque(item, depth + 1)


def _drops_arguments(thing: Any) -> bool:
    make = type(thing).__init__
    if not isinstance(make, FunctionType):
        return False
    code = make.__code__
    parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    kept = {name.strip("_") for name in getattr(thing, "__dict__", {})}
    return bool(code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)) or not kept.issuperset(parameters)


def _facts(value: Any, depth: int) -> Any:
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_varnames, [_facts(const, depth) for const in value.co_consts]
    kind = value if isinstance(value, type) else type(value)
    if depth == _DEEPEST or (kind is value and (can_be_imported(kind) or kind.__module__ == "builtins")):
        return kind.__module__, kind.__qualname__
    facts = [_facts(item, depth + 1) for item in _inside(value)]
    return kind.__qualname__, sorted(facts, key=repr) if isinstance(value, set | frozenset | dict) else facts


def _inside(value: Any) -> Iterable[Any]:
    """What a value consists of."""
    if isinstance(value, tuple | list | set | frozenset | dict):
        return value.items() if isinstance(value, dict) else value
    if isinstance(value, type):
        own = {name: each for name, each in vars(value).items() if callable(each) or not name.startswith("__")}
        return *value.__bases__, own
    if isinstance(value, (partial, *_ROUTINES)):
        return _inside_routine(value)
    return type(value), _kept_arguments(value)


def _inside_routine(value: Any) -> Iterable[Any]:
    if isinstance(value, FunctionType):
        return value.__code__, value.__defaults__, value.__kwdefaults__, _read_by(value)
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if isinstance(value, MethodType | staticmethod | classmethod):
        return value.__func__, _bound_to(value)
    return value.__name__, _bound_to(value)


def _read_by(function: FunctionType) -> dict[str, Any]:
    """What a function closes over and the globals it reads, but for modules, names that can be imported, and what it
    writes to itself: where it looks as if it fills lists or mappings, those are what it keeps, not what it goes by."""
    from dis import get_instructions

    closed_over = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values = {name: cell.cell_contents for name, cell in closed_over if _is_filled(cell)}
    steps = [(step.opname, step.argval) for code in _codes(function.__code__) for step in get_instructions(code)]
    if not can_be_imported(function):
        read = {name for step, name in steps if step in ("LOAD_GLOBAL", "LOAD_NAME")} & function.__globals__.keys()
        values |= {name: function.__globals__[name] for name in read}
    set_here = {name for step, name in steps if step in ("STORE_GLOBAL", "STORE_DEREF")}
    fills = any(step == "STORE_SUBSCR" or (name in _FILLING and step != "LOAD_CONST") for step, name in steps)
    state = ModuleType, *((list, set, dict) if fills else ())
    return {
        name: f"{value.__module__}:{value.__qualname__}"
        if isinstance(value, FunctionType | type) and can_be_imported(value)
        else value
        for name, value in values.items()
        if name not in set_here and value is not function and not isinstance(value, state)
    }


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _bound_to(value: Any) -> Any:
    """The object of a bound method; None for anything else."""
    bound = getattr(value, "__self__", None) if isinstance(value, _ROUTINES) else None
    return None if isinstance(bound, ModuleType) else bound


def _kept_arguments(thing: Any) -> dict[str, Any]:
    """The constructor arguments that it keeps under the names of the parameters, keys excepted."""
    from assay.text.redaction import secret_option_in

    make = type(thing).__init__
    if not isinstance(make, FunctionType):
        return {}
    parameters = make.__code__.co_varnames[: make.__code__.co_argcount + make.__code__.co_kwonlyargcount]
    kept = {name.strip("_"): value for name, value in getattr(thing, "__dict__", {}).items()}
    arguments = {name: kept[name] for name in parameters if name in kept}
    return {name: value for name, value in arguments.items() if secret_option_in({name: value}) is None}


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - raises while the function around it has not assigned it
    except ValueError:
        return False
    return True


def _at(module: str, path: str) -> object:
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = vars(value).get(part) if value is not None and hasattr(value, "__dict__") else None
    return value
