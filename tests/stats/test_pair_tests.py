"""Many models tested two by two get the p-values that comparing any two of them gives."""

from __future__ import annotations

import numpy as np
import pytest

from assay.results.diff.overall_difference import overall_diff
from assay.stats.pair_tests import PairTests
from assay.stats.paired import compare


def test_one_task_of_right_and_wrong_answers_is_tested_by_mcnemar() -> None:
    rows = (np.random.default_rng(1).random((80, 4)) < [0.5, 0.6, 0.7, 0.9]).astype(float)
    pairs = PairTests(4)
    pairs.add(rows, None)
    for i in range(4):
        for j in range(4):
            if i != j:
                found = compare(rows[:, j], rows[:, i])
                assert pairs.p_values()[i, j] == found.p_value
                assert pairs.differences()[i, j] == pytest.approx(found.difference)


@pytest.mark.parametrize("kind", ["right and wrong", "graded", "clustered"])
def test_several_tasks_are_tested_as_the_overall_difference_is(kind: str) -> None:
    random = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 3) if kind == "clustered" else None
    tasks = [random.random((60, 3)) for _ in range(3)]
    if kind != "graded":
        tasks = [(each < [0.5, 0.6, 0.7]).astype(float) for each in tasks]
    pairs = PairTests(3)
    for rows in tasks:
        pairs.add(rows, groups)
    for i, j in ((1, 0), (2, 0), (2, 1)):
        compared = [compare(rows[:, j], rows[:, i], groups=groups) for rows in tasks]
        assert pairs.p_values()[i, j] == pytest.approx(overall_diff(compared, 0.95).p_value, rel=1e-9)
