"""Reading an answer out by steps and comparing it: nothing found is told apart from wrong, bad steps are failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.types import Sample, Score, Trace
from assay.scorers.extracted_match import extracted_match

NUMBER = {"do": "regex", "pattern": r"#### (\d+)"}


def score(prediction: str, targets: tuple[str, ...], **how: Any) -> Score:
    sample = Sample(id="1", targets=targets, extras={"compare": how})
    return asyncio.run(extracted_match("m")(sample, Trace(prediction=prediction)))


def test_what_was_extracted_is_compared_and_logged() -> None:
    found = score("so #### 41 or #### 42", ("42",), steps=[{**NUMBER, "select": -1}])
    assert (found.values["score"], found.answer, found.extracted) == (1.0, "42", True)
    assert score("so #### 41 or #### 42", ("42",), steps=[NUMBER]).values["score"] == 0.0


def test_nothing_found_is_the_fallback_and_says_that_nothing_was_found() -> None:
    found = score("I do not know", ("42",), steps=[{**NUMBER, "fallback": "[invalid]"}, {"do": "uppercase"}])
    assert (found.values["score"], found.answer, found.extracted) == (0.0, "[INVALID]", False)


def test_a_later_match_does_not_hide_that_an_earlier_pattern_was_not_found() -> None:
    steps = [{**NUMBER, "fallback": "7"}, {"do": "regex", "pattern": r"\d"}]
    found = score("none", ("7",), steps=steps)
    assert (found.values["score"], found.extracted) == (1.0, False)


@pytest.mark.parametrize(
    ("how", "prediction", "target"),
    [
        ({"ignore_case": True}, "PARIS", "paris"),
        ({"ignore_punctuation": True}, "Paris.", "Paris!"),
        ({"ignore_numbers": True}, "a1", "a2"),
        ({"regexes_to_ignore": [",", r"\$"]}, "$1,000", "1000"),
        ({"steps": [{"do": "strip"}]}, " x\n", "x"),
    ],
)
def test_answer_and_target_are_treated_alike(how: dict[str, Any], prediction: str, target: str) -> None:
    assert score(prediction, (target,), **how).values["score"] == 1.0
    assert score(prediction, (target,)).values["score"] == 0.0


@pytest.mark.parametrize(
    "how",
    [
        {"steps": [{"do": "reverse"}]},
        {"steps": [{"pattern": "x"}]},
        {"steps": [{"do": "regex", "pattern": "("}]},
        {"steps": [{"do": "regex", "pattern": "x", "select": "first"}]},
        {"steps": ["strip"]},
    ],
)
def test_steps_that_cannot_be_made_fail_and_score_nothing(how: dict[str, Any]) -> None:
    with pytest.raises(FailureError) as caught:
        score("x", ("x",), **how)
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("scorer", "bad_request")


def test_a_catastrophic_pattern_is_a_timeout_and_not_a_wrong_answer() -> None:
    with pytest.raises(FailureError) as caught:
        score("a" * 40 + "!", ("x",), steps=[{"do": "regex", "pattern": r"(a|aa)+$"}])
    assert caught.value.failure.kind == "timeout"
