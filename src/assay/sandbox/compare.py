"""Are two typed trees the same value? Decided in the harness, on data, without hashing or calling any of it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from assay.sandbox.inside.values import MAX_DEPTH, MAX_NODES, SMALL, MalformedError, Tree, decode

Number = int | float | complex | Decimal | Fraction

_NUMBERS = {"i", "f", "c", "D", "F"}
_SEQUENCES = {"l", "t", "q"}
_SETS = {"s", "z"}
_LEAVES = {"S", "b", "ba", "r", "dt", "da", "tm", "td", "T"}
_TAGS = _NUMBERS | _SEQUENCES | _SETS | _LEAVES | {"d", "o", "h"}


def same(  # noqa: PLR0911 -- one return per kind of value reads best
    expected: Tree, actual: Tree, *, tolerance: float | None = None, strict: bool = True
) -> bool:
    """Python's `==` on plain data: numbers by value, tuple is not list unless asked, NaN only where NaN is expected."""
    left, right = _number(expected), _number(actual)
    if left is not None or right is not None:
        return left is not None and right is not None and _same_number(left, right, tolerance)
    if not isinstance(expected, list) or not isinstance(actual, list):
        return type(expected) is type(actual) and bool(expected == actual)
    kind, other = expected[0], actual[0]
    if kind in _SEQUENCES:
        alike = kind == other or (not strict and other in _SEQUENCES)
        return alike and _same_items(expected[1], actual[1], tolerance, strict)
    if kind in _SETS:
        return other in _SETS and _same_members(expected[1], actual[1])
    if kind == "d":
        return other == "d" and _same_pairs(expected[1], actual[1], tolerance, strict)
    if kind in _LEAVES:
        return canonical(expected) == canonical(actual)
    return False


def check_shape(tree: Tree) -> None:
    """Raise `MalformedError` unless our encoder could have written this; what passes is safe to compare and hand on."""
    nodes = 0
    waiting: list[tuple[Tree, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        nodes += 1
        if nodes > MAX_NODES + 1 or depth > MAX_DEPTH + 1:
            raise MalformedError("too large")
        if isinstance(node, int) and abs(node) >= SMALL:
            raise MalformedError("a large integer that is not hexadecimal")
        if node is None or isinstance(node, bool | int | str):
            continue
        waiting += [(part, depth + 1) for part in _parts(node)]


def _parts(node: Tree) -> list[Tree]:
    """The trees directly below a node whose own shape is right."""
    if not isinstance(node, list) or not node or not isinstance(node[0], str) or node[0] not in _TAGS:
        raise MalformedError("not a tree")
    tag = node[0]
    if tag == "h":
        if len(node) != 3 or type(node[1]) is not int or not isinstance(node[2], str):
            raise MalformedError("not a handle")
        return []
    if tag in _NUMBERS or tag in _LEAVES or tag == "o":
        decode(node)
        return []
    if len(node) != 2 or not isinstance(node[1], list):
        raise MalformedError("not a collection")
    if tag != "d":
        return node[1]
    if any(not isinstance(pair, list) or len(pair) != 2 for pair in node[1]):
        raise MalformedError("not a dict")
    return [part for pair in node[1] for part in pair]


def canonical(tree: Tree) -> str:  # noqa: PLR0911 -- one return per kind of value reads best
    """A text that two trees share exactly when they are equal in Python's sense."""
    number = _number(tree)
    if number is not None:
        return _canonical_number(number)
    if tree is None:
        return "none"
    if isinstance(tree, str):
        return f"str:{len(tree)}:{tree}"
    tag = tree[0]
    if tag == "d":
        return f"d({','.join(sorted(f'{canonical(key)}={canonical(value)}' for key, value in tree[1]))})"
    if tag in _SETS:
        return f"s({','.join(sorted(map(canonical, tree[1])))})"
    if tag in _SEQUENCES:
        return f"{tag}({','.join(map(canonical, tree[1]))})"
    if tag in ("o", "h"):
        return f"opaque:{id(tree)}"
    value = decode(tree)
    return f"{'b' if tag == 'ba' else tag}:{bytes(value) if tag == 'ba' else value!r}"


def show(tree: Tree, limit: int = 200) -> str:
    """A value for a reader, capped; digits of huge integers are not spelled out."""
    try:
        text = _show(tree, 0)
    except (MalformedError, ValueError):
        text = "a value that cannot be shown"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _show(tree: Tree, depth: int) -> str:  # noqa: PLR0911 -- one return per kind of value reads best
    if depth > 6:
        return "…"
    if isinstance(tree, list) and tree:
        tag = tree[0]
        if tag in _SEQUENCES | _SETS:
            inner = ", ".join(_show(item, depth + 1) for item in tree[1][:20])
            brackets = {"t": "()", "s": "{}"}.get(tag, "[]")
            return f"{brackets[0]}{inner}{', …' if len(tree[1]) > 20 else ''}{brackets[1]}"
        if tag == "d":
            pairs = (f"{_show(key, depth + 1)}: {_show(value, depth + 1)}" for key, value in tree[1][:20])
            return "{" + ", ".join(pairs) + "}"
        if tag == "i" and len(tree[1]) > 300:
            return f"an integer of {4 * (len(tree[1]) - 2)} bits"
        if tag in ("o", "h"):
            return f"<object of type {tree[-1]}>"
        return repr(decode(tree))
    return repr(tree)


def _same_members(left: list[Tree], right: list[Tree]) -> bool:
    return len(left) == len(right) and sorted(map(canonical, left)) == sorted(map(canonical, right))


def _same_items(left: list[Tree], right: list[Tree], tolerance: float | None, strict: bool) -> bool:
    return len(left) == len(right) and all(
        same(one, other, tolerance=tolerance, strict=strict) for one, other in zip(left, right, strict=True)
    )


def _same_pairs(left: list[Any], right: list[Any], tolerance: float | None, strict: bool) -> bool:
    if len(left) != len(right):
        return False
    ordered = (sorted((canonical(key), at) for at, (key, _) in enumerate(pairs)) for pairs in (left, right))
    for (one, at), (other, beside) in zip(*ordered, strict=True):
        if one != other or not same(left[at][1], right[beside][1], tolerance=tolerance, strict=strict):
            return False
    return True


def _number(tree: Tree) -> Number | None:
    if isinstance(tree, bool | int):
        return int(tree)
    if isinstance(tree, list) and tree and tree[0] in _NUMBERS:
        number: Number = decode(tree)
        return number
    return None


def _same_number(expected: Number, actual: Number, tolerance: float | None) -> bool:
    if _is_nan(expected):
        return _is_nan(actual)
    if _canonical_number(expected) == _canonical_number(actual):
        return True
    if tolerance is None or isinstance(expected, complex) or isinstance(actual, complex):
        return False
    try:
        return math.isclose(float(expected), float(actual), rel_tol=tolerance, abs_tol=tolerance)
    except (OverflowError, ValueError):
        return False


def _is_nan(number: Number) -> bool:
    return number != number  # noqa: PLR0124 -- true of NaN in every numeric type


def _canonical_number(number: Number) -> str:
    if isinstance(number, complex):
        if number.imag != 0:
            return f"c({_canonical_number(number.real)},{_canonical_number(number.imag)})"
        number = number.real
    if _is_nan(number):
        return "nan"
    try:
        top, bottom = number.as_integer_ratio()
    except (OverflowError, ValueError):
        return "inf" if number > 0 else "-inf"
    return f"{top:x}/{bottom:x}"
