"""What the pairs of two results say: one object answers every question, and says what its answer rests on."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.families import correct
from assay.stats.paired import compare
from assay.stats.paired_evidence import AnswerPairs, mcnemar_exact


def test_an_answer_says_what_it_rests_on() -> None:
    found = compare([1.0] * 30 + [0.0] * 10, [1.0] * 20 + [0.0] * 20)
    [corrected, _] = correct([found.p_value or 0.0, 0.5], 0.9)
    basis = found.corrected(corrected).basis
    assert basis is not None
    assert (basis.comparisons, basis.method) == (2, "McNemar's exact test")
    assert "independent" in basis.assumes


def test_as_many_answers_turned_as_it_says_undo_a_difference_and_fewer_do_not() -> None:
    evidence = AnswerPairs(2, 20, 100, right=60)
    turned = int(evidence.undone_by(0.95).split()[0])
    assert mcnemar_exact(2 + turned, 20 - turned) >= 0.05
    assert mcnemar_exact(2 + turned - 1, 20 - turned + 1) < 0.05


@pytest.mark.parametrize("graded", [False, True])
def test_what_is_not_found_says_how_many_samples_would_find_it(graded: bool) -> None:
    random = np.random.default_rng(1)
    first = random.random(60) if graded else (random.random(60) < 0.7).astype(float)
    second = np.clip(first + random.normal(0.02, 0.3, 60), 0.0, 1.0) if graded else np.roll(first, 1)
    second = second if graded else np.where(np.arange(60) < 2, 1.0, second)
    found = compare(first, second)
    [corrected] = correct([found.p_value or 0.0], 0.95)
    answered = found.corrected(corrected)
    assert answered.basis is not None
    if answered.needed is not None:
        assert answered.needed >= 60
        assert f"{answered.needed:,}" in answered.basis.would_change
    assert not corrected.significant
