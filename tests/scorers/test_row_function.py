"""Functions of an answer and its row as scorers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.errors import UsageError
from assay.scorers.row_function import scorer_name

ROWS = [{"q": f"say r{n}", "target": f"r{n}", "n": n} for n in range(6)]
ASKED = {"prompt": "{{ q }}"}


def last_word(prompt: str) -> str:
    return prompt.rsplit(maxsplit=1)[-1]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def score(*given: Any) -> float | None:
    return assay.evaluate(*given, **ASKED).leaderboard.overall_score


def test_scorers_are_names_and_functions_of_answer_and_row() -> None:
    def ends_with_number(answer: str, row: Mapping[str, Any]) -> bool:
        return answer.endswith(str(row["n"]))

    assert score(ROWS, last_word, ["contains", ends_with_number]) == 1.0
    assert score(ROWS, "stub:r3", ends_with_number) == pytest.approx(1 / 6)
    assert score(ROWS, "stub:r3", lambda answer, row: row["n"] / 10) == pytest.approx(0.25)


def test_a_scorer_that_breaks_is_a_failure_and_no_score() -> None:
    board = assay.evaluate(ROWS, last_word, lambda answer, row: 1 / (row["n"] - 2), **ASKED).leaderboard
    assert board.tasks[0].failed == 3, "a division by zero, and two numbers below 0"
    assert assay.evaluate(ROWS, last_word, lambda answer, row: None, **ASKED).leaderboard.overall_score is None


def test_what_is_no_scorer_is_refused() -> None:
    with pytest.raises(UsageError, match="is no scorer: give a name, or a function"):
        scorer_name(3)  # type: ignore[arg-type]
