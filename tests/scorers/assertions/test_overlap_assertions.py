"""Likeness by words: bounded, and full marks for the same text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scorers.assertions.overlap_assertions import bleu, edit_distance, gleu, rouge_1

WORDS = st.lists(st.sampled_from(["a", "b", "the", "cat.", "日本"]), min_size=1, max_size=8).map(" ".join)


@given(WORDS, WORDS)
def test_scores_are_shares_and_the_same_text_has_full_marks(one: str, other: str) -> None:
    for score in (bleu(one, [other]), gleu(one, [other]), rouge_1(one, other)):
        assert 0 <= score <= 1 + 1e-12
    assert bleu(one, [one]) == pytest.approx(1)
    assert gleu(one, [other, one]) == 1
    assert rouge_1(one, one) == pytest.approx(1)


def test_letters_are_counted_as_javascript_counts_them() -> None:
    assert edit_distance("日本", "日木") == 1
    assert edit_distance("😀", "") == 2
