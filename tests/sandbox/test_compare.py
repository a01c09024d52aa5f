"""Values travel as trees and compare as Python compares them, without hashing or calling anything of theirs."""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sandbox.compare import canonical, check_shape, same, show
from assay.sandbox.inside.values import MalformedError, TooLargeError, decode, encode

Pair = namedtuple("Pair", "a b")

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False).filter(
        lambda d: abs(d.as_tuple().exponent) < 900 and len(d.as_tuple().digits) < 900 if d.is_finite() else True
    )
    | st.fractions()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
plain = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(hashable, inner, max_size=4) | st.sets(hashable, max_size=4)
    ),
    max_leaves=12,
)


def through_the_pipe(value: Any) -> Any:
    tree = json.loads(json.dumps(encode(value)))
    check_shape(tree)
    return tree


@given(plain)
def test_a_value_survives_the_journey_and_equals_itself(value: Any) -> None:
    tree = through_the_pipe(value)
    assert same(tree, encode(decode(tree)))
    assert type(decode(tree)) is type(value)


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


MALFORMED = [
    [],
    {},
    1.5,
    ["?"],
    ["i"],
    ["i", 5],
    ["i", "5 apples"],
    ["f", "one"],
    ["b", "***"],
    ["l", 5],
    ["d", [[1]]],
    ["d", [1]],
    ["t", [["l", None]]],
    ["F", [1, 0]],
    ["F", [["i", "0x" + "f" * 100_000], 1]],
    ["D", 0, "1", 10**9],
    ["D", 0, "x", 0],
    ["r", [1, 2, 0]],
    ["dt", [0, 0, 0], None],
    ["T", "os"],
    ["h", "1", "x"],
    ["h", -1, "x"],
    ["h", True, "x"],
    ["h", 1, "x" * 101],
    ["o", ["x"]],
    ["o"],
    ["f", "0x1p0", []],
    ["l", [], []],
    ["F", [["F", [1, 2]], 1]],
    ["r", [0, ["r", [0, 1, 1]], 1]],
    ["D", 2, "1", 0],
    ["D", 0, ["1"], 0],
    ["D", 0, "1", "x"],
    [["l"], []],
    2**60,
]


@pytest.mark.parametrize("tree", MALFORMED, ids=range(len(MALFORMED)))
def test_what_no_encoder_writes_is_refused(tree: Any) -> None:
    with pytest.raises(MalformedError):
        check_shape(tree)


def test_depth_and_size_are_bounded() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    with pytest.raises(TooLargeError):
        encode(deep)
    tree: Any = 1
    for _ in range(100):
        tree = ["l", [tree]]
    with pytest.raises(MalformedError):
        check_shape(tree)
    with pytest.raises(TooLargeError):
        encode([0] * 300_000)


@pytest.mark.parametrize(("tree", "allowed"), [(["h", 0, "x"], "h"), (["o", "x"], "o")])
def test_objects_stand_only_where_they_may(tree: Any, allowed: str) -> None:
    nested = ["l", [1, ["d", [["a", tree]]]]]
    check_shape(nested, objects=allowed)
    for others in ("", "ho".replace(allowed, "")):
        with pytest.raises(MalformedError):
            check_shape(nested, objects=others)


def test_numbers_that_have_to_be_built_cost_more_to_read() -> None:
    assert (
        check_shape(encode([1] * 100)) < check_shape(encode([1.5] * 100)) < check_shape(encode([Fraction(1, 3)] * 100))
    )
    assert check_shape(encode([1] * 1000)) > 5 * check_shape(encode([1] * 100))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_any_json_is_either_refused_or_comparable(tree: Any) -> None:
    try:
        check_shape(tree)
    except MalformedError:
        return
    same(tree, tree)
    assert isinstance(show(tree), str)


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
