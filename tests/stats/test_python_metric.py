"""The author's own numbers have intervals too: percentiles over resamples, in the same worker process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.runs.python_metrics import RESAMPLES, compute_metrics
from assay.stats.intervals import mean_interval
from assay.stats.python_metric import python_metric
from assay.stats.score_table import ScoreTable

MEAN = "def compute_metrics(scores):\n    return {'mine': sum(s.values['x'] for s in scores) / len(scores)}\n"


def output_of(source: str, values: list[float], clusters: list[Any] | None = None) -> dict[str, Any]:
    scores = [{"values": {"x": value}, "metadata": {}} for value in values]
    return asyncio.run(compute_metrics(source, scores, part="mine", clusters=clusters))


def test_the_interval_of_a_mean_is_about_the_one_in_closed_form() -> None:
    values = [(n * 37 % 100) / 100 for n in range(80)]
    output = output_of(MEAN, values)
    assert len(output["draws"]["mine"]) == RESAMPLES
    [summary] = python_metric(ScoreTable(), compute_metrics_snippet=MEAN, output=output)
    exact = mean_interval(values)
    assert summary.signature == f"python|bootstrap|n={RESAMPLES}|seed=0|level=0.95"
    assert summary.low == pytest.approx(exact.low, abs=0.02)
    assert summary.high == pytest.approx(exact.high, abs=0.02)
    assert output_of(MEAN, values) == output


def test_of_few_values_the_interval_is_as_wide_as_students() -> None:
    """Plain percentiles lack √(n/(n − 1)) and the tails of t."""
    values = [0.1, 0.4, 0.5, 0.55, 0.6, 0.9]
    [summary] = python_metric(ScoreTable(), compute_metrics_snippet=MEAN, output=output_of(MEAN, values))
    student = mean_interval(values)
    assert None not in (summary.low, summary.high, student.low, student.high)
    assert summary.high - summary.low > 0.75 * (student.high - student.low)  # type: ignore[operator]


def test_clusters_are_drawn_whole() -> None:
    values = [float(n // 10 % 2) for n in range(80)]
    alone, clustered = (
        python_metric(ScoreTable(), compute_metrics_snippet=MEAN, output=output_of(MEAN, values, clusters))[0]
        for clusters in (None, [n // 10 for n in range(80)])
    )
    widths = [(each.high or 0.0) - (each.low or 0.0) for each in (alone, clustered)]
    assert widths[1] > 2 * widths[0]


def test_a_number_that_most_resamples_lack_has_no_interval() -> None:
    source = (
        "def compute_metrics(scores):\n"
        "    if {s.values['x'] for s in scores} < {float(n) for n in range(12)}:\n"
        "        raise ValueError('a class is missing')\n"
        "    return {'mine': 1.0}\n"
    )
    output = output_of(source, [float(n) for n in range(12)])
    [summary] = python_metric(ScoreTable(), compute_metrics_snippet=source, output=output)
    assert (summary.value, summary.low) == (1.0, None)
    assert "undefined" in str((summary.details or {})["no_interval"])


def test_a_mistake_is_reported_and_has_no_value() -> None:
    output = output_of("def compute_metrics(scores):\n    return 3\n", [1.0, 2.0])
    [summary] = python_metric(ScoreTable(), compute_metrics_snippet="", output=output)
    assert summary.value is None
    assert "must return a mapping" in (summary.reason or "")
