"""Evaluations are cached within a set and never across sets; failures are asked again and counted apart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.optimize.scripted import WordEvaluator, breaking

from assay.evaluators import Evaluation
from assay.evaluators.payload import failed
from assay.optimize.evaluations import Evaluations, Outcome, SetExample
from assay.optimize.journal import Journal

RECORD = {"words": ["clear", "short"]}


def example(part: str = "dataset", index: int = 0) -> SetExample:
    return SetExample(part=part, index=index, record=RECORD)


def evaluated(tmp_path: Path, evaluator: Any, *batches: list[tuple[str, SetExample]]) -> tuple[Evaluations, list[Any]]:
    journal = Journal(tmp_path / "journal.jsonl")
    evaluations = Evaluations(evaluator, journal, identity="e", task_model=None, concurrency=2)

    async def all_of_them() -> list[list[Outcome]]:
        return [await evaluations.evaluate(batch) for batch in batches]

    try:
        return evaluations, asyncio.run(all_of_them())
    finally:
        journal.close()


def test_the_same_question_in_the_same_set_is_asked_once(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    pair = ("clear", example())
    evaluations, outcomes = evaluated(tmp_path, evaluator, [pair, pair], [pair])
    assert [outcome.score for batch in outcomes for outcome in batch] == [0.5, 0.5, 0.5]
    assert (len(evaluator.asked), evaluations.calls, evaluations.cached) == (1, 1, 2)


def test_nothing_crosses_the_border_between_dataset_and_valset(tmp_path: Path) -> None:
    """The same position and the same record in the other set is another question."""
    seen: list[str] = []

    def by_set(candidate: str, record: Any) -> float:
        seen.append(candidate)
        return len(seen) / 10

    evaluator = WordEvaluator(by_set)
    _, outcomes = evaluated(tmp_path, evaluator, [("clear", example("dataset"))], [("clear", example("valset"))])
    assert [batch[0].score for batch in outcomes] == [0.1, 0.2]
    _, again = evaluated(tmp_path, evaluator, [("clear", example("valset"))], [("clear", example("dataset"))])
    assert [batch[0].score for batch in again] == [0.2, 0.1]
    assert len(seen) == 2


def test_a_failure_is_not_kept_and_not_a_number(tmp_path: Path) -> None:
    evaluator = WordEvaluator(breaking)
    pair = ("boom", example())
    evaluations, outcomes = evaluated(tmp_path, evaluator, [pair], [pair])
    assert [batch[0].score for batch in outcomes] == [None, None]
    assert evaluations.failures == {"exit_code": 2}
    assert evaluations.failed_in_a_row == 2
    assert evaluations.latest(*pair).failure is not None
    assert len(evaluator.asked) == 2


@pytest.mark.parametrize(("retryable", "times"), [(True, 2), (False, 1)])
def test_only_what_may_pass_is_tried_again(tmp_path: Path, retryable: bool, times: int) -> None:
    def hiccup(candidate: str, record: Any) -> float:
        raise failed("e", "connection", "gone", retryable=retryable)

    evaluator = WordEvaluator(hiccup)
    evaluations, _ = evaluated(tmp_path, evaluator, [("text", example())])
    assert (len(evaluator.asked), evaluations.calls) == (times, 1)


def test_whatever_an_evaluator_of_ones_own_raises_is_a_failure(tmp_path: Path) -> None:
    def broken(candidate: str, record: Any) -> float:
        raise KeyError("expected")

    evaluations, outcomes = evaluated(tmp_path, WordEvaluator(broken), [("text", example())])
    assert outcomes[0][0].score is None
    assert evaluations.failures == {"exception": 1}


def test_side_information_that_is_no_json_is_written_as_it_looks(tmp_path: Path) -> None:
    class Odd(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
            return Evaluation(score=1.0, side_info={"odd": complex(1, 2)})

    _, outcomes = evaluated(tmp_path, Odd(), [("text", example())])
    assert outcomes[0][0].score == 1.0
    assert "(1+2j)" in (tmp_path / "journal.jsonl").read_text(encoding="utf-8")


def test_the_testset_is_outside_the_budget(tmp_path: Path) -> None:
    evaluations, _ = evaluated(tmp_path, WordEvaluator(), [("text", example("testset"))])
    assert (evaluations.calls, evaluations.made) == (0, 1)


def test_a_second_run_asks_for_nothing_it_knows(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    batch = [("clear", example(index=index)) for index in range(3)]
    first, one = evaluated(tmp_path, evaluator, batch)
    second, two = evaluated(tmp_path, evaluator, batch)
    assert one == two
    assert len(evaluator.asked) == 3
    assert (first.calls, second.calls, second.made) == (3, 3, 0)
