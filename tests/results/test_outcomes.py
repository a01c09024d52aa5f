"""What became of an attempt, from one line and from all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.core.types import Failure, Record, Score
from assay.results.outcomes import OUTCOMES, SCORED, UNPARSED, judged, outcome_of

BROKEN = Failure(stage="model", kind="server_error", message="")
OTHERS = Failure(stage="scorer", kind="bad_output", message="", scorer="judge")
OWN = Failure(stage="scorer", kind="timeout", message="", scorer="match")
LATE = Failure(stage="model", kind="timeout", message="")
READ = Score(name="match", values={"score": 1.0})
UNREAD = Score(name="match", values={"score": 0.0}, extracted=False)


@pytest.mark.parametrize(
    ("failures", "excluded", "scores", "score", "word"),
    [
        ((), (), (READ,), 1.0, "scored"),
        ((), (), (READ, UNREAD), 0.0, "unparsed"),
        ((), (), (), math.nan, "unscored"),
        ((BROKEN,), (), (), math.nan, "failed"),
        ((BROKEN, LATE), (), (), math.nan, "timeout"),
        ((LATE,), ("rule",), (READ,), 1.0, "excluded"),
        ((OTHERS,), (), (READ,), 1.0, "scored"),
        ((OTHERS, BROKEN), (), (READ,), math.nan, "failed"),
        ((OWN,), (), (), math.nan, "timeout"),
    ],
)
def test_one_line(
    failures: tuple[Failure, ...], excluded: tuple[str, ...], scores: tuple[Score, ...], score: float, word: str
) -> None:
    record = Record(key="1", task="t", sample_id="s", index=0, failures=failures, excluded=excluded, scores=scores)
    assert OUTCOMES[outcome_of(record, score, "match")] == word


def test_right_and_wrong_need_the_marks_of_the_task() -> None:
    outcomes = np.array([SCORED, SCORED, SCORED, SCORED, UNPARSED, UNPARSED])
    found = judged(outcomes, np.array([0.0, 0.5, 1.0, math.nan, 0.0, 1.0]))
    assert [OUTCOMES[code] for code in found] == ["wrong", "partial", "right", "scored", "unparsed", "right"]
