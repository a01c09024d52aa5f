"""Values as typed trees: the only form in which data passes between the harness, a candidate and a verifier.

A tree is JSON: `null`, booleans, strings and small integers are themselves, everything else is a list that begins with
a tag. Nothing is unpickled, evaluated or hashed on the way. What is not plain data becomes `["o", type name]`, which
equals nothing, or a handle `["h", number, type name]` where the caller keeps the object.
"""

from __future__ import annotations

import base64
import datetime
from collections import deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DEPTH = 60
MAX_NODES = 200_000
MAX_EXPONENT = 1_000
"""For the exponent and the digits of a Decimal: as fractions, many long ones would fill the harness's memory."""
MAX_BITS = 10_000
"""For the integers inside a Fraction or range, which are slow to reduce or to print when long."""
SMALL = 1 << 53
"""Integers below this survive every JSON reader unchanged; larger ones travel as hexadecimal text."""

Tree = Any
KeepTree = Callable[[Any], Tree]


class ValueTooLargeError(Exception):
    """A value has too many nodes, levels or digits to be sent."""


class MalformedError(Exception):
    """A tree that our encoder cannot have written."""


class Encoder:
    """Turns a value into its tree. Subclasses are read through the methods of their base class, never their own."""

    def __init__(self, keep: KeepTree | None = None, handle: type | None = None) -> None:
        self._keep = keep
        self._handle = handle
        self._nodes = 0

    def encode(self, value: Any, depth: int = 0) -> Tree:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise ValueTooLargeError("the value is too deep or has too many parts")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is self._handle:
            return self._other(value, kind)
        exact = _ENCODERS.get(kind)
        if exact is not None:
            return exact(self, value, depth)
        for base in kind.__mro__[1:]:
            inherited = _ENCODERS.get(base)
            if inherited is not None:
                return inherited(self, value, depth)
        return self._other(value, kind)

    def many(self, values: Iterable[Any], depth: int) -> list[Tree]:
        return [self.encode(value, depth + 1) for value in values]

    def _other(self, value: Any, kind: type) -> Tree:
        if kind is type and value in _PLAIN_TYPES:
            return ["T", value.__name__]
        if self._keep is not None:
            return self._keep(value)
        return ["o", str(kind.__name__)[:100]]


def _encode_int(_encoder: Encoder, value: int, _depth: int) -> Tree:
    number = int.__int__(value)
    if -SMALL < number < SMALL:
        return number
    if number.bit_length() > 4_000_000:
        raise ValueTooLargeError("the integer has too many digits")
    return ["i", hex(number)]


def _encode_str(_encoder: Encoder, value: str, _depth: int) -> Tree:
    text = str.__str__(value)
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:  # lone surrogates, which JSON readers reject
        return ["S", base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()]
    return text


def _sequence(tag: str, base: type) -> Callable[[Encoder, Any, int], Tree]:
    iterate: Any = base.__iter__  # type: ignore[attr-defined]  # every base passed here is iterable
    return lambda encoder, value, depth: [tag, encoder.many(iterate(value), depth)]


def _encode_complex(_encoder: Encoder, value: complex, _depth: int) -> Tree:
    number = complex.__complex__(value)
    return ["c", float.hex(number.real), float.hex(number.imag)]


def _encode_decimal(_encoder: Encoder, value: Decimal, _depth: int) -> Tree:
    sign, digits, exponent = Decimal.as_tuple(value)
    if isinstance(exponent, int) and (abs(exponent) > MAX_EXPONENT or len(digits) > MAX_EXPONENT):
        raise ValueTooLargeError("the Decimal is too long")
    return ["D", sign, "".join(map(str, digits)), exponent]


def _encode_fraction(encoder: Encoder, value: Fraction, depth: int) -> Tree:
    parts = (int(value.numerator), int(value.denominator))
    if max(part.bit_length() for part in parts) > MAX_BITS:
        raise ValueTooLargeError("the Fraction is too long")
    return ["F", encoder.many(parts, depth)]


def _encode_datetime(_encoder: Encoder, value: datetime.datetime, _depth: int) -> Tree:
    offset = datetime.datetime.utcoffset(value)
    stamp = [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond]
    return ["dt", stamp, None if offset is None else _microseconds(offset)]


def _encode_time(_encoder: Encoder, value: datetime.time, _depth: int) -> Tree:
    offset = datetime.time.utcoffset(value)
    clock = [value.hour, value.minute, value.second, value.microsecond]
    return ["tm", clock, None if offset is None else _microseconds(offset)]


def _microseconds(span: datetime.timedelta) -> int:
    return span // datetime.timedelta(microseconds=1)


_ENCODERS: dict[type, Callable[[Encoder, Any, int], Tree]] = {
    int: _encode_int,
    float: lambda _, value, depth: ["f", float.hex(float.__float__(value))],
    str: _encode_str,
    bytes: lambda _, value, depth: ["b", base64.b64encode(bytes.__getitem__(value, slice(None))).decode()],
    bytearray: lambda _, value, depth: ["ba", base64.b64encode(bytearray.__getitem__(value, slice(None))).decode()],
    list: _sequence("l", list),
    tuple: _sequence("t", tuple),
    set: _sequence("s", set),
    frozenset: _sequence("z", frozenset),
    deque: _sequence("q", deque),
    dict: lambda encoder, value, depth: ["d", [encoder.many(pair, depth) for pair in list(dict.items(value))]],
    complex: _encode_complex,
    range: lambda encoder, value, depth: ["r", encoder.many((value.start, value.stop, value.step), depth)],
    Decimal: _encode_decimal,
    Fraction: _encode_fraction,
    datetime.datetime: _encode_datetime,
    datetime.date: lambda _, value, depth: ["da", [value.year, value.month, value.day]],
    datetime.time: _encode_time,
    datetime.timedelta: lambda _, value, depth: ["td", [value.days, value.seconds, value.microseconds]],
}
_PLAIN_TYPES = {int, float, str, bool, list, tuple, dict, set, frozenset, bytes, complex, type}
_TYPES_BY_NAME = {plain.__name__: plain for plain in _PLAIN_TYPES}


def encode(value: Any, keep: KeepTree | None = None, handle: type | None = None) -> Tree:
    """The tree of a value. `keep` returns the tree of what is not plain data, such as objects of type `handle`."""
    return Encoder(keep, handle).encode(value)


class Opaque:
    """Stands for a value that could not be sent; equal to nothing, not even itself."""

    __slots__ = ("type_name",)
    __hash__ = None  # type: ignore[assignment]  # it must not be found in a set or dict either

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def __bool__(self) -> bool:
        raise TypeError(f"an object of type {self.type_name} cannot be judged here")

    def __repr__(self) -> str:
        return f"<object of type {self.type_name}>"


def decode(tree: Tree, handle: Callable[[int, str], Any] | None = None) -> Any:
    """The value of a tree; `MalformedError` for anything our encoder cannot have written. Only called where the sender
    is trusted, or inside a confined process."""
    try:
        return _decode(tree, handle, 0)
    except MalformedError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, ArithmeticError, AttributeError) as error:
        raise MalformedError(f"{type(error).__name__}: {error}") from None


def _decode(tree: Tree, handle: Callable[[int, str], Any] | None, depth: int) -> Any:
    if depth > MAX_DEPTH + 1:
        raise MalformedError("too deep")
    if tree is None or type(tree) in (bool, int, str):
        return tree
    if type(tree) is not list or not tree:
        raise MalformedError("not a tree")
    tag = tree[0]
    simple = _DECODERS.get(tag)
    if simple is not None:
        return simple(tree)
    if tag == "d":
        pairs = [_pair(pair) for pair in tree[1]]
        return {_decode(k, handle, depth + 1): _decode(v, handle, depth + 1) for k, v in pairs}
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag]([_decode(item, handle, depth + 1) for item in tree[1]])
    if tag == "h" and handle is not None:
        return handle(int(tree[1]), str(tree[2]))
    raise MalformedError(f"unknown tag {str(tag)[:20]}")


def _pair(pair: Any) -> tuple[Tree, Tree]:
    if type(pair) is not list or len(pair) != 2:
        raise MalformedError("a dict's pair is not two")
    return pair[0], pair[1]


def _decode_int(tree: list[Any]) -> int:
    return int(tree[1], 16)


def _decode_range(tree: list[Any]) -> range:
    start, stop, step = (_moderate_int(part) for part in tree[1])
    return range(start, stop, step)


def _moderate_int(tree: Tree) -> int:
    """An integer inside another number: a long one would be slow to reduce or to print."""
    number = _decode_int(tree) if type(tree) is list and tree[0] == "i" else tree
    if type(number) is not int or number.bit_length() > MAX_BITS:
        raise MalformedError("not an integer of moderate size")
    return number


def _decode_decimal(tree: list[Any]) -> Decimal:
    sign, digits, exponent = tree[1], tree[2], tree[3]
    if len(digits) > MAX_EXPONENT or (type(exponent) is int and abs(exponent) > MAX_EXPONENT):
        raise MalformedError("the Decimal is too long")
    if type(digits) is not str or not (digits.isascii() and (digits.isdigit() or not digits)):
        raise MalformedError("the Decimal has no digits")
    if type(exponent) is int:
        return Decimal(f"{_SIGNS[sign]}{digits}E{exponent}")  # many times faster than from a tuple of digits
    return Decimal(f"{_SIGNS[sign]}{_NOT_FINITE[exponent]}{digits if exponent != 'F' else ''}")


def _decode_fraction(tree: list[Any]) -> Fraction:
    numerator, denominator = (_moderate_int(part) for part in tree[1])
    return Fraction(numerator, denominator)


def _zone(offset: int | None) -> datetime.timezone | None:
    return None if offset is None else datetime.timezone(datetime.timedelta(microseconds=offset))


_SIGNS = {0: "", 1: "-"}
_NOT_FINITE = {"F": "Infinity", "n": "NaN", "N": "sNaN"}
_COLLECTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "l": list,
    "t": tuple,
    "s": set,
    "z": frozenset,
    "q": deque,
}
_DECODERS: dict[str, Callable[[list[Any]], Any]] = {
    "i": _decode_int,
    "f": lambda tree: float.fromhex(tree[1]),
    "S": lambda tree: base64.b64decode(tree[1], validate=True).decode("utf-8", "surrogatepass"),
    "b": lambda tree: base64.b64decode(tree[1], validate=True),
    "ba": lambda tree: bytearray(base64.b64decode(tree[1], validate=True)),
    "c": lambda tree: complex(float.fromhex(tree[1]), float.fromhex(tree[2])),
    "r": _decode_range,
    "D": _decode_decimal,
    "F": _decode_fraction,
    "dt": lambda tree: datetime.datetime(*tree[1]).replace(tzinfo=_zone(tree[2])),
    "da": lambda tree: datetime.date(*tree[1]),
    "tm": lambda tree: datetime.time(*tree[1]).replace(tzinfo=_zone(tree[2])),
    "td": lambda tree: datetime.timedelta(*tree[1]),
    "T": lambda tree: _TYPES_BY_NAME[tree[1]],
    "o": lambda tree: Opaque(str(tree[1])),
}
