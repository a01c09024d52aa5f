"""A task's score while it runs: the number and the interval that the leaderboard will show."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.cli.test_progress import attempt, task

from assay.cli.running_scores import RunningScore
from assay.core.types import Failure
from assay.results.measure import measure_of
from assay.results.report_settings import View
from assay.stats.cells import interval_of_mean

MEASURE = measure_of(task("sums", "mean", field="score", bounds=[0, 1]))


@pytest.mark.parametrize("repeat", [1, 3])
@pytest.mark.parametrize("values", [[1.0, 0.0, 1.0, 1.0, 0.0, 1.0], [0.2, 0.9, 0.4, 1.0, 0.0, 0.55]])
def test_its_interval_is_the_leaderboards(values: list[float], repeat: int) -> None:
    score = RunningScore(MEASURE, View(level=0.9))
    places = [at // repeat for at in range(len(values))]
    for at, value in enumerate(values):
        made = attempt("sums", score=value)
        score.add(msgspec.structs.replace(made, index=places[at], attempt=1 + at % repeat))
    expected = interval_of_mean(np.array(values), None if repeat == 1 else np.array(places), 0.9, (0.0, 1.0))
    assert score.score == f"{np.mean(values):.3f}"
    assert score.interval == f"({expected.low:.3f} – {expected.high:.3f})"


def test_samples_of_one_group_belong_together() -> None:
    alone, grouped = RunningScore(MEASURE, View()), RunningScore(MEASURE, View())
    for at in range(12):
        made = msgspec.structs.replace(attempt("sums", score=float(at < 6)), index=at)
        alone.add(made)
        grouped.add(msgspec.structs.replace(made, metadata={"group": f"passage {at // 3}"}))
    assert alone.score == grouped.score == "0.500"
    assert width(grouped.interval) > width(alone.interval) * 1.3


def test_a_failed_attempt_is_counted_and_excluded_from_the_mean() -> None:
    score = RunningScore(MEASURE, View())
    score.add(attempt("sums", score=1.0))
    score.add(attempt("sums", score=0.0, failures=(Failure(stage="scorer", kind="error", message="broke"),)))
    assert (score.made, score.failed, score.score) == (2, 1, "1.000")


def width(interval: str) -> float:
    low, high = interval.strip("()").split(" – ")
    return float(high) - float(low)
