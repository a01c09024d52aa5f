"""Candidates are compared on the examples that both have, and a text that crashes its evaluator does not win."""

from __future__ import annotations

import pytest

from assay.core.types import Failure
from assay.optimize.candidates import Accepted, Search, beats
from assay.optimize.evaluations import ScoreOrFailure

BROKEN = Failure(stage="scorer", kind="exit_code", message="crashed")


def found(number: int, scores: list[float | None]) -> Accepted:
    outcomes = [
        ScoreOrFailure(score=score, side_info={}, failure=BROKEN if score is None else None) for score in scores
    ]
    return Accepted(
        number=number, texts={"text": "x" * (number + 1)}, parent=None, iteration=0, calls=0, outcomes=outcomes
    )


@pytest.mark.parametrize(
    ("one", "other", "wins"),
    [
        ([1.0, 1.0], [0.0, 1.0], True),
        ([0.5, 0.5], [0.5, 0.5], False),
        ([None, 1.0, 0.2], [1.0, 0.9, 0.2], True),
        ([None, 0.9, 0.2], [0.0, 1.0, 0.2], False),
        ([None] * 5 + [1.0] * 15, [-1000.0] * 20, False),
        ([0.1] * 20, [None] * 5 + [1.0] * 15, True),
        ([None], [0.0], False),
        ([0.0], [None], True),
        ([None], [None], False),
    ],
    ids=[
        "better",
        "equal",
        "one missing",
        "worse where both are",
        "crashes",
        "against one that crashes",
        "none",
        "first",
        "neither",
    ],
)
def test_what_beats_what(one: list[float | None], other: list[float | None], wins: bool) -> None:
    assert beats(found(1, one), found(0, other)) is wins


def test_the_earliest_of_equals_is_the_best_and_shorter_may_be_what_counts() -> None:
    candidates = [found(0, [0.5, 0.5]), found(1, [0.5, 0.5]), found(2, [1.0, 0.5])]
    by_score, by_length = Search(lambda search: None), Search(lambda search: None, "length")
    for each in candidates:
        by_score.keep(each)
        by_length.keep(each)
    assert (by_score.best.number, by_length.best.number) == (2, 0)
    by_score.choose_again([candidates[0], found(2, [0.0, 0.0])])
    assert by_score.best.number == 0
