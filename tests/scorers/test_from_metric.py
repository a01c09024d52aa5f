"""A metric as a scorer: post-processing first, and nothing outside [0, 1] passes for a score."""

from __future__ import annotations

import asyncio
import math
from copy import deepcopy
from typing import Any

import pytest

from assay.catalog import describe
from assay.core.describe import ScorerInfo, Value, describes, share
from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Sample, Score, Trace
from assay.scorers.from_metric import FromMetric, contains, forbidden_patterns, from_metric, label_in_set


def score(scorer: FromMetric, prediction: str, *targets: str, **extras: Any) -> Score:
    return asyncio.run(scorer(Sample(id="s", targets=targets, extras=extras), Trace(prediction=prediction)))


def failure(scorer: FromMetric, prediction: str, *targets: str, **extras: Any) -> tuple[str, str]:
    with pytest.raises(FailureError) as caught:
        score(scorer, prediction, *targets, **extras)
    return caught.value.failure.stage, caught.value.failure.kind


def test_the_answer_is_what_post_processing_made_of_the_prediction() -> None:
    found = score(from_metric("m", metric="exact_match", post_process="extract_letter"), "The answer is B.", "B")
    assert (found.values, found.answer, found.extracted) == ({"score": 1.0}, "B", True)


def test_nothing_to_extract_is_said() -> None:
    found = score(from_metric("m", metric="exact_match", post_process="extract_letter"), "no idea", "B")
    assert (found.values, found.extracted) == ({"score": 0.0}, False)


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan, math.inf, "1", b"0", None, [1.0], 10**400])
def test_anything_but_a_number_in_the_unit_interval_is_a_failure(value: Any) -> None:
    scorer = FromMetric("m", lambda prediction, targets, extras: value, "none", {})
    assert failure(scorer, "x") == ("metric", "bad_output")


def consuming(prediction: str, targets: Any, extras: Any) -> float:
    parts = extras.setdefault("parts", ["b"])
    return float(parts.pop() == prediction)


@pytest.mark.parametrize("extras", [{}, {"parts": ["a", "b"]}])
def test_a_metric_that_changes_its_extras_changes_them_for_itself_alone(extras: dict[str, Any]) -> None:
    scorer = from_metric("m", metric=f"{__name__}:consuming", context=BuildContext(own_code=True))
    sample = Sample(id="s", extras=deepcopy(extras))
    values = [asyncio.run(scorer(sample, Trace(prediction="b"))).values["score"] for _ in range(3)]
    assert values == [1.0, 1.0, 1.0]
    assert sample.extras == extras


def test_an_exception_in_a_metric_is_a_failure_at_stage_metric() -> None:
    def broken(prediction: str, targets: Any, extras: Any) -> float:
        raise KeyError("reference")

    assert failure(FromMetric("m", broken, "none", {}), "x") == ("metric", "exception")


def test_assertions_are_scorers_of_the_same_name() -> None:
    assert score(contains("c"), "It is Paris.", "paris").values == {"score": 1.0}
    assert score(label_in_set("l", allowed=["yes", "no"]), " yes ").values == {"score": 1.0}
    assert score(label_in_set("l"), "maybe", allowed=["yes", "no"]).values == {"score": 0.0}
    assert score(forbidden_patterns("f", patterns=["(?i)as an ai"]), "As an AI, I").values == {"score": 0.0}


def test_a_catastrophic_pattern_is_a_timeout_and_not_a_verdict() -> None:
    scorer = forbidden_patterns("f", patterns=["(a+)+$"])
    assert failure(scorer, "a" * 40 + "b") == ("metric", "timeout")


@describes(ScorerInfo(values=(share("score", lower_is_better=True),)))
def rudeness(prediction: str, targets: Any, extras: Any) -> float:
    return float("!" in prediction)


def kindness(prediction: str, targets: Any, extras: Any) -> float:
    return float("!" not in prediction)


@pytest.mark.parametrize(("metric", "lower"), [(rudeness, True), (kindness, False)])
def test_what_a_metric_says_of_itself_counts(metric: Any, lower: bool) -> None:
    name = f"{__name__}:{metric.__name__}"
    said = describe("scorer", "metric", {"metric": name}, own_code=True)
    assert isinstance(said, ScorerInfo)
    assert said.values == (Value(name="score", kind="share", range=(0.0, 1.0), lower_is_better=lower),)
