"""Answers about a passage: F1 and exact match over the spans of the best of the right answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.types import Sample, Score, Trace
from assay.scorers.reading import DropScorer


def scored(said: str, extras: dict[str, Any], rule: str = "none") -> Score:
    sample = Sample(id="1", prompt="who?", targets=("Ann",), extras=extras)
    return asyncio.run(DropScorer("drop", post_process=rule)(sample, Trace(prediction=said)))


def test_every_target_is_an_answer_where_no_answers_are_given() -> None:
    assert scored("Ann", {}).values == {"score": 1.0, "exact": 1.0}


def test_the_best_of_several_answers_counts_and_a_span_may_be_missing() -> None:
    found = scored("Ann", {"answers": [["Bob"], ["Ann", "Bob"]]})
    assert found.values == {"score": 0.5, "exact": 0.0}


def test_the_answer_is_what_the_rule_takes_out_of_the_text() -> None:
    found = scored("So it was her.\nThe answer is Ann", {}, "extract_stated_answer")
    assert (found.answer, found.values["exact"]) == ("Ann", 1.0)


@pytest.mark.parametrize("answers", ["Ann", [["Ann"], "Bob"], [[1]]])
def test_answers_that_are_none_are_a_failure_of_the_record(answers: Any) -> None:
    with pytest.raises(FailureError, match="each a list of texts") as caught:
        scored("Ann", {"answers": answers})
    assert caught.value.failure.kind == "bad_request"
