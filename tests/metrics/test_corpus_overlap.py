"""The counts of corpus BLEU and chrF, by hand; their sums are compared with sacrebleu where they are divided."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.metrics.corpus_overlap import BLEU_COUNTS, CHRF_COUNTS, bleu_counts, chrf_counts
from assay.stats.corpus_overlap import bleu_of_sums, chrf_of_sums


def test_words_are_counted_as_often_as_the_target_has_them() -> None:
    counts = dict(zip(BLEU_COUNTS, bleu_counts("the the cat sat", "the cat sat down"), strict=True))
    assert [counts[f"matched_{n}"] for n in (1, 2, 3, 4)] == [3, 2, 1, 0]
    assert [counts[f"ngrams_{n}"] for n in (1, 2, 3, 4)] == [4, 3, 2, 1]
    assert (counts["words"], counts["target_words"]) == (4, 4)


def test_characters_are_counted_without_spaces_and_up_to_the_length_of_the_target() -> None:
    counts = dict(zip(CHRF_COUNTS, chrf_counts("a b c", "ab"), strict=True))
    assert [counts[f"answer_{n}"] for n in (1, 2, 3)] == [3, 2, 0]
    assert [counts[f"target_{n}"] for n in (1, 2, 3)] == [2, 1, 0]
    assert [counts[f"matched_{n}"] for n in (1, 2, 3)] == [2, 1, 0]


Counts = Callable[[str, str], list[int]]
Divide = Callable[[np.ndarray], np.ndarray]


@pytest.mark.parametrize(("counts", "divide"), [(bleu_counts, bleu_of_sums), (chrf_counts, chrf_of_sums)])
def test_without_an_expected_text_there_is_no_score_and_without_an_answer_it_is_zero(
    counts: Counts, divide: Divide
) -> None:
    assert np.isnan(divide(np.array([counts("an answer", "")], float))[0])
    assert divide(np.array([counts("", "a target")], float))[0] == 0.0
