"""Sub-scores, length and cost as objectives: what is on the front, and which numbers the engine sees."""

from __future__ import annotations

from typing import Any

from assay.core.types import Failure
from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.objectives import pareto_front, sub_scores, upward


def outcome(score: float | None, **scores: Any) -> ScoreOrFailure:
    failure = None if score is not None else Failure(stage="scorer", kind="timeout", message="slow")
    return ScoreOrFailure(score=score, side_info={"scores": scores} if scores else {}, failure=failure)


def test_only_numbers_are_sub_scores() -> None:
    assert sub_scores(outcome(1.0, a=0.5, b="x", c=None, d=True)) == {"a": 0.5}
    assert sub_scores(ScoreOrFailure(score=1.0, side_info={"scores": [1]})) == {}


def test_the_engine_sees_more_as_better_and_a_failure_below_everything() -> None:
    assert upward(outcome(0.5, a=0.1), {"text": "four"}, ["score", "a", "length"], -9.0) == {
        "score": 0.5,
        "a": 0.1,
        "length": -4,
    }
    assert upward(outcome(None), {"text": "four"}, ["score"], -9.0) == {"score": -9.0}


def test_the_front_holds_what_nothing_else_is_at_least_as_good_as() -> None:
    kept = {
        0: ({"text": "a"}, [outcome(0.2)]),
        1: ({"text": "aaaa"}, [outcome(0.9)]),
        2: ({"text": "aaaaaa"}, [outcome(0.9)]),
        3: ({"text": "aa"}, [outcome(0.5)]),
        4: ({"text": "aa"}, [outcome(0.5)]),
        5: ({"text": "aa"}, [outcome(None)]),
    }
    front = pareto_front(kept, ["score", "length"], "score")
    assert front is not None
    assert front.numbers == [0, 1, 3]
    assert front.lower_is_better == ["length"]
    assert front.means["1"] == {"score": 0.9, "length": 4.0}


def test_without_sub_scores_there_is_one_objective_and_no_front() -> None:
    assert pareto_front({0: ({"text": "a"}, [outcome(0.2)])}, [], "score") is None
