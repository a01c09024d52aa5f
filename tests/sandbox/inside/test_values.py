"""Values on their way out of the candidate: what no encoder writes is refused, and depth, size and work are bounded."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sandbox.values import hashable, through_the_pipe

from assay.sandbox.compare import check_shape, same, show
from assay.sandbox.inside.values import MalformedError, ValueTooLargeError, decode, encode

plain = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(hashable, inner, max_size=4) | st.sets(hashable, max_size=4)
    ),
    max_leaves=12,
)


@given(plain)
def test_a_value_survives_the_journey_and_equals_itself(value: Any) -> None:
    tree = through_the_pipe(value)
    assert same(tree, encode(decode(tree)))
    assert type(decode(tree)) is type(value)


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
    with pytest.raises(ValueTooLargeError):
        encode(deep)
    tree: Any = 1
    for _ in range(100):
        tree = ["l", [tree]]
    with pytest.raises(MalformedError):
        check_shape(tree)
    with pytest.raises(ValueTooLargeError):
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
