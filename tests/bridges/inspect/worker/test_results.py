"""Scores are plain data: a number as Inspect's metrics count it, and the letter it was."""

from __future__ import annotations

from typing import Any

import pytest

from assay.bridges.inspect.worker import results
from assay.bridges.inspect.worker.loading import _TASKS, _key
from assay.bridges.inspect.worker.results import _plain_score, score

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed (extra `inspect-ai`)")
ORDER = {"name": "p/t", "scorer": 0, "seconds": 30.0}


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Any:
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import model_graded_qa

    made = inspect_ai.Task(dataset=[Sample(input="q", target="a")], scorer=model_graded_qa(model="openai/gpt-9"))
    monkeypatch.setitem(_TASKS, _key(ORDER), made)
    return made


def given(asked: str = "q", verdicts: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "sample": {"input": "q", "target": "a", "id": 1},
        "messages": [{"role": "user", "content": asked}],
        "answer": {"text": "b", "finish_reason": "stop"},
        "verdicts": list(verdicts),
    }


@pytest.mark.parametrize(
    ("value", "values"),
    [
        ("C", {"score": 1.0, "value": "C"}),
        ("P", {"score": 0.5, "value": "P"}),
        (0.25, {"score": 0.25}),
        (True, {"score": 1.0}),
    ],
)
def test_values_are_numbers_as_its_metrics_count_them(value: Any, values: dict[str, Any]) -> None:
    from inspect_ai.scorer import Score

    assert _plain_score(Score(value=value))["values"] == values


def test_what_is_unscored_there_is_no_score_here() -> None:
    from inspect_ai.scorer import Score

    assert _plain_score(None)["unscored"]
    made = _plain_score(Score.unscored(explanation="no grade"))
    assert (made["unscored"], made["reason"], made["values"]) == (True, "no grade", {"score": None})


def test_a_grader_is_asked_for_and_then_believed(task: Any) -> None:
    (asks,) = score({**ORDER, "samples": [given()]})["scores"]
    assert "[Submission]: b" in asks["asks"]["messages"][0]["content"]
    (made,) = score({**ORDER, "samples": [given(verdicts=("GRADE: C",))]})["scores"]
    assert made["values"] == {"score": 1.0, "value": "C"}


def test_an_answer_to_another_question_is_not_scored(task: Any) -> None:
    (made,) = score({**ORDER, "samples": [given("another", ("GRADE: C",))]})["scores"]
    assert "make a different request each time" in made["problem"]


def test_a_restarted_process_says_that_it_must_load() -> None:
    assert results.score({**ORDER, "name": "never/loaded", "samples": []}) == {"not_loaded": True}
