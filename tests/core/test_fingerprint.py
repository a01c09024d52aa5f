"""One JSON text for one value, and its hash."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.fingerprint import canonical_json, fingerprint, short_fingerprint
from assay.core.types import Message

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(value=plain)
def test_the_order_of_keys_does_not_matter_and_the_text_says_the_value(value: object) -> None:
    def turned(each: object) -> object:
        if isinstance(each, dict):
            return {key: turned(each[key]) for key in reversed(each)}
        return [turned(item) for item in each] if isinstance(each, list) else each

    assert canonical_json(turned(value)) == canonical_json(value)
    assert json.loads(canonical_json(value)) == value


def test_it_is_a_hash_that_other_programs_can_make_too() -> None:
    import hashlib

    value = {"b": [1, "é"], "a": None}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert fingerprint(value) == hashlib.sha256(text.encode()).hexdigest()
    assert len(short_fingerprint(value)) == 16


def test_records_hash_as_the_data_they_are() -> None:
    assert fingerprint(Message(role="user", content="x")) == fingerprint({"role": "user", "content": "x"})


@pytest.mark.parametrize(("a", "b"), [(1, "1"), ([1, 2], [2, 1]), ({"a": 1}, {"a": 2}), (0, False), ("", None)])
def test_different_values_have_different_fingerprints(a: object, b: object) -> None:
    assert fingerprint(a) != fingerprint(b)
    assert short_fingerprint(a) != short_fingerprint(b)
