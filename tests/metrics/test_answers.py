"""Short answers, compared as the field compares them."""

from __future__ import annotations

import pytest

from assay.metrics.answers import squad_exact_match


@pytest.mark.parametrize("said", ["The Beatles!", "beatles", " the  BEATLES. "])
def test_short_answers_are_compared_without_articles_and_punctuation(said: str) -> None:
    assert squad_exact_match(said, ["Beatles"], {}) == 1.0
