"""A key set answers as a Python set does, whatever is added."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from assay.storage.key_set import KeySet

KEYS = st.integers(min_value=1, max_value=2**64 - 2) | st.integers(min_value=1, max_value=40)


def holding(keys: list[int]) -> KeySet:
    held = KeySet()
    for key in keys:
        held.add(key)
    return held


@given(st.lists(KEYS, max_size=200))
def test_it_holds_what_a_set_would_hold(keys: list[int]) -> None:
    ours, theirs = KeySet(), set[int]()
    for key in keys:
        assert (key in ours) == (key in theirs)
        assert ours.add(key) == (key not in theirs)
        theirs.add(key)
        assert key in ours
    assert set(ours) == theirs
    assert len(ours) == len(theirs)
    assert all(key in ours for key in theirs)


def test_it_grows_and_forgets_nothing() -> None:
    keys = [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(5000)]
    held = holding(keys)
    assert len(held) == len(keys)
    assert all(key in held for key in keys)
    assert not any(key + 1 in held for key in keys)


def test_a_key_costs_a_quarter_of_what_it_costs_in_a_set() -> None:
    keys = [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(100_000)]
    tracemalloc.start()
    held = holding(keys)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used / len(held) <= 24


def test_zero_is_a_key_too() -> None:
    held = KeySet()
    assert 0 not in held
    assert held.add(0)
    assert 0 in held
    assert not held.add(0)
