"""Values travel as trees and compare as Python compares them, without hashing or calling anything of theirs."""

from __future__ import annotations

import datetime
import math
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from tests.sandbox.values import hashable, through_the_pipe

from assay.sandbox.compare import canonical, same, show
from assay.sandbox.inside.values import encode

Pair = namedtuple("Pair", "a b")


@given(hashable, hashable)
def test_trees_are_the_same_exactly_when_python_says_equal(left: Any, right: Any) -> None:
    if "nan" in canonical(encode(left)) + canonical(encode(right)):
        return  # NaN equals NaN here where it is expected, which Python denies
    try:
        equal = bool(left == right)
    except (ArithmeticError, TypeError):
        return  # Decimal and float with signals: nothing to compare with
    assert same(through_the_pipe(left), through_the_pipe(right)) == equal


EQUAL = [
    (1, True),
    (1, 1.0),
    (0.5, Fraction(1, 2)),
    (Decimal("1.50"), 1.5),
    (2, 2 + 0j),
    (float("nan"), float("nan")),
    ({1, 2}, frozenset({2, 1.0})),
    ({"a": 1, "b": [2]}, OrderedDict(b=[2], a=1)),
    ({"a": 2}, Counter("aa")),
    ((1, 2), Pair(1, 2)),
    (b"x", bytearray(b"x")),
    (10**5000, 10**5000),
    (range(3), range(3)),
    (int, int),
    (Decimal("NaN"), Decimal("sNaN")),
]
DIFFERENT = [
    (1, "1"),
    (1, None),
    (0, None),
    ("", None),
    ([1, 2], (1, 2)),
    ([1], {1}),
    ([1], deque([1])),
    ({1: "a"}, {"1": "a"}),
    (0.1 + 0.2, 0.3),
    (1.0, float("nan")),
    (1, Decimal("sNaN")),
    (1.5, Decimal("-sNaN7")),
    ("a", Decimal("sNaN")),
    ({1}, {Decimal("NaN")}),
    (float("inf"), float("-inf")),
    ("a", b"a"),
    (int, "int"),
    (datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)),
    (10**5000, 10**5000 + 1),
]


@pytest.mark.parametrize(("left", "right"), EQUAL, ids=range(len(EQUAL)))
def test_equal_values(left: Any, right: Any) -> None:
    assert same(through_the_pipe(left), through_the_pipe(right))


@pytest.mark.parametrize(("left", "right"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_different_values(left: Any, right: Any) -> None:
    assert not same(through_the_pipe(left), through_the_pipe(right))


def test_an_object_equals_nothing_not_even_itself() -> None:
    tree = encode(object())
    assert not same(tree, tree)
    assert not same(encode([1]), encode([object()]))


def test_lists_match_tuples_and_floats_their_neighbours_only_when_asked() -> None:
    assert same(encode([1, [2]]), encode((1, (2,))), strict=False)
    assert same(encode([0.3]), encode([0.1 + 0.2]), tolerance=1e-9)
    assert not same(encode(0.3), encode(math.nan), tolerance=1.0)


def test_no_more_is_read_than_shown() -> None:
    tree: Any = ["i", "not a number"]
    for _ in range(4):
        tree = ["l", [7] * 100 + [tree]]
    assert show(["l", ["x" * 300, ["i", "not a number"]]]).endswith("…")
    assert show(tree).startswith("[7, 7, 7")


def test_what_is_shown_is_short() -> None:
    assert show(encode(list(range(1000)))).endswith(", …]")
    assert show(encode(1 << 100_000)) == "an integer of 100004 bits"
    assert show(encode({"a": (1, {2})})) == "{'a': (1, {2})}"
