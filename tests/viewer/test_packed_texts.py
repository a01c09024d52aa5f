"""A column of texts is matched all at once, and finds what a search through each text finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.results.query.syntax import is_like
from assay.viewer.packed_texts import PackedTexts

TEXTS = st.lists(st.text(alphabet="ab€", max_size=6), max_size=8)


@given(TEXTS, TEXTS)
def test_every_text_is_kept_as_it_was_packed_also_behind_others(first: list[str], others: list[str]) -> None:
    packed = PackedTexts.joined([PackedTexts.of(first), PackedTexts.of(others)])
    texts = [*first, *others]
    assert all(packed.equal(text).tolist() == [text == each for each in texts] for text in texts)
    assert len(packed) == len(texts)
    assert len(packed.first(len(first))) == len(first)


@given(TEXTS, st.text(alphabet="ab€", max_size=3))
def test_equal_texts_are_equal_as_a_whole(texts: list[str], wanted: str) -> None:
    assert PackedTexts.of(texts).equal(wanted).tolist() == [text == wanted for text in texts]


@given(TEXTS, st.lists(st.text(alphabet="ab€", max_size=2), min_size=2, max_size=4))
def test_a_pattern_finds_in_the_column_what_it_finds_in_each_text(texts: list[str], parts: list[str]) -> None:
    assert PackedTexts.of(texts).like(parts).tolist() == [is_like(text, parts) for text in texts]
