"""What a program may import unless its task lifts the rule: modules that only compute, and a part of `sys`.

This is a rule of the task, reported to the program as an ImportError. It is not the security boundary: a program
that tries can get around it inside Python, and is then confined like every other program.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_PURE = """
__future__ abc array ast base64 binascii bisect calendar cmath collections colorsys contextlib copy csv dataclasses
datetime decimal difflib enum fractions functools graphlib hashlib heapq hmac html io ipaddress itertools json keyword
math numbers operator pprint queue random re reprlib statistics string struct sys textwrap time types typing unicodedata
urllib.parse warnings weakref zlib
"""
PURE = frozenset(_PURE.split())
"""With their submodules. Of `sys`, only what `OF_SYS` lists."""

OF_SYS = """
api_version argv byteorder copyright exc_info exception exit flags float_info float_repr_style get_int_max_str_digits
getdefaultencoding getfilesystemencoding getrecursionlimit getrefcount getsizeof hash_info hexversion implementation
int_info intern maxsize maxunicode platform set_int_max_str_digits setrecursionlimit thread_info version version_info
"""
STREAMS = ("stdin", "stdout", "stderr")

REFUSAL = "is not available to this task's programs"

_FETCHED_IN_C = frozenset({"copyreg", "encodings", "linecache", "locale", "tokenize", "traceback", "zoneinfo"})
"""What the interpreter itself imports for the running program, in addition to private modules."""
_LEFT_OUT = frozenset({"__builtins__", "__cached__", "__loader__", "__spec__"})
_import = builtins.__import__
_views: dict[str, types.ModuleType] = {}


def restricted_builtins(besides: Iterable[str]) -> dict[str, Any]:
    """The builtins of a program that may import the pure modules and these."""
    for name in ("dataclasses", "typing"):  # dataclasses compares modules by identity to understand annotations
        view = _view(name)
        view.__spec__ = sys.modules[name].__spec__
        sys.modules[name] = view
    return {**vars(builtins), "__import__": _Importer(besides)}


def prepare() -> None:
    """Create the views of all loaded modules in the zygote, so that no child has to."""
    for name in PURE & sys.modules.keys():
        _view(name)


def is_refusal(error: Mapping[str, Any]) -> bool:
    """Whether an exception, described as plain data, says that an import was not allowed."""
    kinds, message = error.get("types"), error.get("message")
    return isinstance(kinds, list) and "ImportError" in kinds and isinstance(message, str) and REFUSAL in message


class _Importer:
    """The `__import__` of a restricted program."""

    def __init__(self, besides: Iterable[str]) -> None:
        self._besides = frozenset(besides)

    def __call__(
        self, name: str, scope: object = None, inner: object = None, fromlist: Sequence[str] | None = (), level: int = 0
    ) -> types.ModuleType:
        if level:
            raise ImportError("attempted relative import with no known parent package")
        if _by_interpreter(name, fromlist):
            return _import(name)
        parts = fromlist or ()
        if not _covers(PURE, name) and not _covers(self._besides, name):
            self._check_way(name, parts)
        module = _import(name, None, None, parts)
        return module if _covers(self._besides, name) else self._seen(name, parts)

    def _check_way(self, package: str, parts: Sequence[str]) -> None:
        """A package that is not allowed may contain a module that is: `from urllib import parse`."""
        allowed = PURE | self._besides
        if not any(name.startswith(package + ".") for name in allowed):
            raise _refused(package)
        for part in parts:
            if not _covers(allowed, f"{package}.{part}"):
                raise _refused(f"{package}.{part}")

    def _seen(self, name: str, parts: Sequence[str]) -> types.ModuleType:
        """What an import statement binds: the outermost package, or the module itself with a `from` import."""
        for part in parts:
            if (whole := f"{name}.{part}") in sys.modules:
                _view(name).__dict__[part] = self._module(whole)
        inner = name
        while "." in inner:
            outer, _, last = inner.rpartition(".")
            _view(outer).__dict__[last] = self._module(inner)
            inner = outer
        return _view(name) if parts else _view(inner)

    def _module(self, name: str) -> types.ModuleType:
        return sys.modules[name] if _covers(self._besides, name) else _view(name)


def _by_interpreter(name: str, fromlist: Sequence[str] | None) -> bool:
    """Code in C imports through the running program's `__import__`, with an empty list, which no statement has."""
    return type(fromlist) is list and not fromlist and (name in _FETCHED_IN_C or name.startswith("_"))


def _covers(names: frozenset[str], name: str) -> bool:
    """Whether the module, or a package that contains it, is one of these."""
    while name not in names:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return False
    return True


def _refused(name: str) -> ImportError:
    kind = ImportError if name.partition(".")[0] in sys.stdlib_module_names else ModuleNotFoundError
    allowed = "pure modules such as math, re, collections and itertools"
    return kind(f"`{name}` {REFUSAL} (allowed: {allowed}; the task can lift this with `imports: any`)", name=name)


def _view(name: str) -> types.ModuleType:
    """A module without the modules that it imports itself: a program must not reach `random._os`."""
    if name in _views:
        return _views[name]
    module = sys.modules[name]
    if name == "sys":
        view: types.ModuleType = _PartOfSys("sys", sys.__doc__)
        view.__dict__.update((word, getattr(sys, word)) for word in OF_SYS.split() if hasattr(sys, word))
    else:
        view = types.ModuleType(name)
    _views[name] = view
    if name != "sys" and _covers(PURE, name):
        view.__dict__.update(_own_names(module))
    return view


def _own_names(module: types.ModuleType) -> Iterable[tuple[str, Any]]:
    for word, value in vars(module).items():
        if not isinstance(value, types.ModuleType):
            if word not in _LEFT_OUT:
                yield word, value
        elif _covers(PURE, value.__name__) and sys.modules.get(value.__name__) is value:
            yield word, _view(value.__name__)


class _PartOfSys(types.ModuleType):
    """The streams are looked up each time: the program or a context manager may replace them."""

    def __getattr__(self, name: str) -> Any:
        if name in STREAMS:
            return getattr(sys, name)
        raise AttributeError(f"module 'sys' has no attribute {name!r} for this task's programs")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in STREAMS:
            setattr(sys, name, value)
        else:
            super().__setattr__(name, value)
