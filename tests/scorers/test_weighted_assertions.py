"""A weighted list of assertions: one score, evidence for each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import Completion, Sample, Score, Trace
from assay.scorers.assertion_list import assertions

SAMPLE = Sample(id="0", row={"a": "Paris"})


def scored(
    listed: Sequence[dict[str, Any]], answer: str, *, context: BuildContext | None = None, **completion: Any
) -> Score:
    options = {name: completion.pop(name) for name in ("threshold", "text") if name in completion}
    scorer = assertions("s", assertions=listed, context=context or BuildContext(), **options)
    trace = Trace(prediction=answer, completions=(Completion(text=answer, **completion),))
    return asyncio.run(scorer(SAMPLE, trace))  # type: ignore[arg-type]


WEIGHTED = [
    {"type": "contains", "value": "{{ sample.a }}", "weight": 3},
    {"type": "not_icontains", "value": "sorry"},
]


def test_every_assertion_leaves_evidence() -> None:
    found = scored(WEIGHTED, "Sorry, Paris.")
    assert found.values == {"score": 0.0, "passed": 0.75}
    assert found.reason == "does not hold: not_icontains"
    assert found.metadata == {
        "assertions": [
            {"type": "contains", "value": "Paris", "passed": True, "weight": 3.0},
            {"type": "not_icontains", "value": "sorry", "passed": False, "weight": 1.0},
        ]
    }


def test_a_share_of_the_weights_may_be_enough() -> None:
    assert scored(WEIGHTED, "Sorry, Paris.", threshold=0.75).values["score"] == 1.0
    assert scored(WEIGHTED, "Sorry, Paris.", threshold=0.76).values["score"] == 0.0


@pytest.mark.parametrize(("seconds", "score"), [(0.5, 1.0), (2.5, 0.0)])
def test_latency_is_that_of_the_answers(seconds: float, score: float) -> None:
    found = scored([{"type": "latency", "max_seconds": 1}], "x", seconds=seconds)
    assert found.values["score"] == score
    assert found.metadata is not None
    assert found.metadata["assertions"][0]["found"] == f"{seconds:.3f} s"


@pytest.mark.parametrize(("most", "score"), [(0.5, 0.0), (0.75, 1.0)])
def test_cost_is_what_the_run_says_that_answers_cost(most: float, score: float) -> None:
    context = BuildContext(cost_of=lambda completions: 0.75 * len(completions))
    assert scored([{"type": "cost", "max_cost": most}], "x", context=context).values["score"] == score


def test_a_cost_that_nobody_knows_is_a_failure() -> None:
    for context in (BuildContext(), BuildContext(cost_of=lambda _: None)):
        with pytest.raises(FailureError, match="no price is known"):
            scored([{"type": "cost", "max_cost": 1}], "x", context=context)


def test_how_an_answer_ended() -> None:
    assert scored([{"type": "not_finish_reason", "value": "length"}], "x", finish_reason="stop").values["score"] == 1.0


def test_another_text_than_the_answer() -> None:
    assert scored([{"type": "equals", "value": "PARIS"}], "x", text="{{ sample.a | upper }}").values["score"] == 1.0


def test_a_column_that_is_missing_is_a_failure_with_its_field() -> None:
    with pytest.raises(FailureError) as caught:
        scored([{"type": "contains", "value": "{{ sample.b }}"}], "x")
    assert caught.value.failure.field == "scorers.s.assertions[0].value"


def test_an_unknown_assertion_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown assertion `contans`"):
        assertions("s", assertions=[{"type": "contans"}])
