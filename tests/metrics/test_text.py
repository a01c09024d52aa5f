"""Text metrics: how each one treats case, space, punctuation and articles, and SQuAD's words as its script has them."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.text import accuracy, exact_match, f1, normalized_exact_match, squad_words, substring_contains


@pytest.mark.parametrize(
    ("prediction", "scores"),
    [
        ("New York", (1.0, 1.0, 1.0)),
        (" New York\n", (1.0, 1.0, 1.0)),
        ("new york", (0.0, 1.0, 1.0)),
        ("New\t York", (0.0, 1.0, 0.0)),
        ("New York.", (0.0, 0.0, 0.0)),
    ],
)
def test_each_metric_forgives_what_it_says_and_no_more(prediction: str, scores: tuple[float, ...]) -> None:
    found = tuple(metric(prediction, ["New York"], {}) for metric in (exact_match, normalized_exact_match, accuracy))
    assert found == scores


def test_an_empty_target_is_in_no_prediction_but_equals_an_empty_one() -> None:
    assert substring_contains("anything", ["", "  "], {}) == 0.0
    assert exact_match(" ", [""], {}) == 1.0
    assert f1("the a an", [""], {}) == 1.0
    assert f1("word", [""], {}) == f1("", ["word"], {}) == 0.0


def test_the_best_target_counts_and_repeated_words_count_as_often_as_both_have_them() -> None:
    assert f1("black cat", ["dog", "the cat"], {}) == pytest.approx(2 / 3)
    assert f1("cat cat cat", ["cat"], {}) == pytest.approx(0.5)
    assert f1("cat", [], {}) == 0.0


@given(text=st.text(alphabet="aAtThHeEnN '.-_é1ß\u00a0\n", max_size=30))
def test_words_are_those_of_the_official_script(text: str) -> None:
    lowered = "".join(each for each in text.lower() if each not in set(string.punctuation))
    assert squad_words(text) == re.sub(r"\b(a|an|the)\b", " ", lowered).split()
