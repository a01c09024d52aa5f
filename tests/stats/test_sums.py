"""Numbers made of sums, as described: the same as by hand, and none where they are undefined."""

from __future__ import annotations

import numpy as np
import pytest

from assay.metrics.corpus_overlap import bleu_counts, chrf_counts
from assay.stats.sums import names_in, value_of_sums
from assay.task_records import FormulaOfSums, RatioOfSums


def test_a_number_is_the_ratio_of_its_weighted_sums() -> None:
    f1 = RatioOfSums(of={"tp": 2.0}, over={"tp": 2.0, "fp": 1.0, "fn": 1.0})
    assert names_in(f1) == ("tp", "fp", "fn")
    assert value_of_sums(f1, np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 0.0]])).tolist() == pytest.approx([6 / 9, 0.0])


def test_corpus_bleu_and_chrf_are_formulas_of_the_sums_of_their_counts() -> None:
    answers = ("the cat sat on the mat", "a dog ran all the way home")
    targets = ("the cat sat on the red mat", "a dog ran the whole way home")
    bleu, chrf = (
        np.sum([counts(*pair) for pair in zip(answers, targets, strict=True)], axis=0, dtype=float)[None, :]
        for counts in (bleu_counts, chrf_counts)
    )
    # sacrebleu's corpus_bleu and corpus_chrf, divided by 100
    assert value_of_sums(FormulaOfSums(formula="bleu"), bleu)[0] == pytest.approx(0.4839114560943977)
    assert value_of_sums(FormulaOfSums(formula="chrf"), chrf)[0] == pytest.approx(0.6487451283920904)
    assert len(names_in(FormulaOfSums(formula="bleu"))) == bleu.shape[1]


def test_nothing_over_nothing_is_undefined() -> None:
    ratio = RatioOfSums(of={"a": 1.0}, over={"b": 1.0})
    assert np.isnan(value_of_sums(ratio, np.array([[1.0, 0.0]]))[0])
