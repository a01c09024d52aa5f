"""Compares typed trees by value: in the harness, on data, without hashing or calling any of it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from assay.sandbox.inside.values import MAX_DEPTH, MAX_NODES, SMALL, MalformedError, Tree, decode

ComparableNumber = int | float | complex | Decimal | Fraction

_NUMBERS = {"i", "f", "c", "D", "F"}
_SEQUENCES = {"l", "t", "q"}
_SETS = {"s", "z"}
_COLLECTIONS = _SEQUENCES | _SETS
_LEAVES = {"S", "b", "ba", "r", "dt", "da", "tm", "td", "T"}
_LENGTHS = {"c": 3, "D": 4, "h": 3, "dt": 3, "tm": 3} | dict.fromkeys(("i", "f", "F", "S", "b", "ba"), 2)
_LENGTHS |= dict.fromkeys(("r", "da", "td", "T", "o", "d", *_COLLECTIONS), 2)
"""How long the list of each tag must be."""

_COST_OF_LIST = 20
"""The cost of reading a tagged list, where an untagged value costs 1: about a tenth of a microsecond."""
_COST_OF_NUMBER = 40
"""The cost of reading a number or date that has to be constructed."""
_LONGEST_TYPE_NAME = 100
_MOST_SHOWN = 20
_CHEAP = _COLLECTIONS | {"d", "f", "h", "o"}


def same(  # noqa: PLR0911 -- one return per kind of value reads best
    expected: Tree, actual: Tree, *, tolerance: float | None = None, strict: bool = True
) -> bool:
    """Python's `==` on plain data: numbers by value, a tuple is a list only if not `strict`, NaN equals NaN."""
    if type(expected) is str or expected is None:
        return type(expected) is type(actual) and bool(expected == actual)
    if type(expected) is type(actual) is int and (tolerance is None or expected == actual):
        return bool(expected == actual)
    left, right = _number(expected), _number(actual)
    if left is not None or right is not None:
        return left is not None and right is not None and _same_number(left, right, tolerance)
    if not isinstance(expected, list) or not isinstance(actual, list):
        return type(expected) is type(actual) and bool(expected == actual)
    tag, actual_tag = expected[0], actual[0]
    if tag in _SEQUENCES:
        alike = tag == actual_tag or (not strict and actual_tag in _SEQUENCES)
        return alike and _same_items(expected[1], actual[1], tolerance, strict)
    if tag in _SETS:
        return actual_tag in _SETS and _same_members(expected[1], actual[1])
    if tag == "d":
        return actual_tag == "d" and _same_pairs(expected[1], actual[1], tolerance, strict)
    if tag in _LEAVES:
        return canonical(expected) == canonical(actual)
    return False


def check_shape(tree: Tree, *, objects: str = "ho") -> int:
    """Raise `MalformedError` unless our encoder could have written the tree; what passes is safe to compare and send.

    Returns what reading it cost, so that the sum over a candidate's replies can be limited. `objects` are the tags that
    may stand for an object: `h` for handles, `o` for opaque ones.
    """
    cost, nodes = 0, 0
    waiting: list[tuple[list[Tree], int]] = [([tree], 0)]
    while waiting:
        parts, depth = waiting.pop()
        nodes += len(parts)
        if nodes > MAX_NODES + 1 or depth > MAX_DEPTH + 1:
            raise MalformedError("too large")
        for node in parts:
            kind = type(node)
            if kind is str or kind is bool or node is None:
                continue
            if kind is int:
                if not -SMALL < node < SMALL:
                    raise MalformedError("a large integer that is not hexadecimal")
                continue
            inner = _parts(node, objects)
            cost += _COST_OF_LIST if node[0] in _CHEAP else _COST_OF_NUMBER
            if inner:
                waiting.append((inner, depth + 1))
    return cost + nodes


def _parts(node: Tree, objects: str) -> list[Tree]:
    """The trees directly below a node; `MalformedError` unless the shape of the node itself is right."""
    if type(node) is not list or not node or type(node[0]) is not str or _LENGTHS.get(node[0]) != len(node):
        raise MalformedError("not a tree")
    tag = node[0]
    if tag in _COLLECTIONS or tag == "d":
        return _members(node)
    if tag in ("h", "o"):
        _check_object(node, objects)
    else:
        decode(node)
    return []


def _members(node: Tree) -> list[Tree]:
    members: list[Tree] = node[1]
    if type(members) is not list:
        raise MalformedError("not a collection")
    if node[0] != "d":
        return members
    if any(type(pair) is not list or len(pair) != 2 for pair in members):
        raise MalformedError("not a dict")
    return [part for pair in members for part in pair]


def _check_object(node: Tree, objects: str) -> None:
    if node[0] not in objects:
        raise MalformedError("an object where data belongs")
    if type(node[-1]) is not str or len(node[-1]) > _LONGEST_TYPE_NAME:
        raise MalformedError("not the name of a type")
    if node[0] == "h" and (type(node[1]) is not int or not 0 <= node[1] < SMALL):
        raise MalformedError("not a handle")


def canonical(tree: Tree) -> str:  # noqa: PLR0911 -- one return per kind of value reads best
    """A text that two trees share exactly when they are equal in Python."""
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
    """A value for a reader, capped: huge integers are not printed, and no more is read than is shown."""
    try:
        text = _show(tree, 0, limit)
    except (MalformedError, ValueError, ArithmeticError):
        text = "a value that cannot be shown"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _show(tree: Tree, depth: int, room: int) -> str:  # noqa: PLR0911 -- one return per kind of value reads best
    if depth > 6:
        return "…"
    if isinstance(tree, list) and tree:
        tag = tree[0]
        if tag in _COLLECTIONS:
            brackets = {"t": "()", "s": "{}"}.get(tag, "[]")
            return f"{brackets[0]}{_show_items(tree[1], depth, room)}{brackets[1]}"
        if tag == "d":
            return f"{{{_show_items(tree[1], depth, room, pairs=True)}}}"
        if tag == "i" and len(tree[1]) > 300:
            return f"an integer of {4 * (len(tree[1]) - 2)} bits"
        if tag in ("o", "h"):
            return f"<object of type {tree[-1]}>"
        return repr(decode(tree))
    return repr(tree[: room + 1] if isinstance(tree, str) else tree)


def _show_items(items: list[Any], depth: int, room: int, pairs: bool = False) -> str:
    """As many items as there is room for: nested lists must not cost more to show than to read."""
    shown: list[str] = []
    for item in items[:_MOST_SHOWN]:
        if room < 0:
            break
        parts = [_show(part, depth + 1, room) for part in (item if pairs else (item,))]
        shown.append(": ".join(parts))
        room -= len(shown[-1]) + 2
    return ", ".join(shown) + (", …" if len(items) > len(shown) and not pairs else "")


def _same_members(left: list[Tree], right: list[Tree]) -> bool:
    return len(left) == len(right) and sorted(map(canonical, left)) == sorted(map(canonical, right))


def _same_items(left: list[Tree], right: list[Tree], tolerance: float | None, strict: bool) -> bool:
    return len(left) == len(right) and all(
        same(expected, actual, tolerance=tolerance, strict=strict) for expected, actual in zip(left, right, strict=True)
    )


def _same_pairs(left: list[Any], right: list[Any], tolerance: float | None, strict: bool) -> bool:
    if len(left) != len(right):
        return False
    ordered = (sorted((canonical(key), at) for at, (key, _) in enumerate(pairs)) for pairs in (left, right))
    for (left_key, left_at), (right_key, right_at) in zip(*ordered, strict=True):
        if left_key != right_key or not same(left[left_at][1], right[right_at][1], tolerance=tolerance, strict=strict):
            return False
    return True


def _number(tree: Tree) -> ComparableNumber | None:
    if isinstance(tree, bool | int):
        return int(tree)
    if isinstance(tree, list) and tree and tree[0] in _NUMBERS:
        number: ComparableNumber = decode(tree)
        return number
    return None


def _same_number(expected: ComparableNumber, actual: ComparableNumber, tolerance: float | None) -> bool:
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


def _is_nan(number: ComparableNumber) -> bool:
    if isinstance(number, Decimal):
        return number.is_nan()  # a signalling NaN raises when it is compared, even with itself
    return number != number  # noqa: PLR0124 -- true of NaN in every other numeric type


def _canonical_number(number: ComparableNumber) -> str:
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
