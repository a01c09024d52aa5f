"""Evaluations are cached within a set and never across sets; failures are retried and counted apart."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, serving
from tests.optimize.scripted import WordEvaluator, breaking

from assay.core.run import Stop
from assay.evaluators import Evaluation, http_evaluator
from assay.evaluators.payload import failed
from assay.optimize.evaluations import Evaluations, ScoreOrFailure
from assay.optimize.journal import SearchJournal
from assay.optimize.sets import SetExample, make_sets

RECORD = {"words": ["clear", "short"]}


def example(part: str = "dataset", index: int = 0) -> SetExample:
    return SetExample(part=part, index=index, record=RECORD, digest=f"{index}")


def evaluated(
    tmp_path: Path, evaluator: Any, *batches: list[tuple[str, SetExample]], **options: Any
) -> tuple[Evaluations, list[Any]]:
    journal = SearchJournal(tmp_path / "journal.jsonl")
    made: dict[str, Any] = {"identity": "e", "task_model": None, "concurrency": 2, "stop": Stop(), **options}
    evaluations = Evaluations(evaluator, journal, **made)

    async def all_of_them() -> list[list[ScoreOrFailure]]:
        return [
            await evaluations.evaluate([({"text": text}, [example]) for text, example in batch]) for batch in batches
        ]

    try:
        return evaluations, asyncio.run(all_of_them())
    finally:
        journal.close()


def test_the_same_evaluation_in_the_same_set_is_made_once(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    pair = ("clear", example())
    evaluations, outcomes = evaluated(tmp_path, evaluator, [pair, pair], [pair])
    assert [outcome.score for batch in outcomes for outcome in batch] == [0.5, 0.5, 0.5]
    assert (len(evaluator.asked), evaluations.calls, evaluations.cached) == (1, 1, 2)


def test_the_same_place_in_another_set_is_another_question_and_the_same_record_is_not(tmp_path: Path) -> None:
    evaluator = WordEvaluator(lambda candidate, record: record["number"] / 10)
    examples = make_sets([{"number": 1}], [{"number": 2}], None, holdout=0.0, random_seed=0)
    pairs = [("clear", examples.dataset[0]), ("clear", examples.valset[0])]
    _, outcomes = evaluated(tmp_path, evaluator, pairs)
    assert [outcome.score for outcome in outcomes[0]] == [0.1, 0.2]
    moved = make_sets([{"number": 2}], None, None, holdout=0.0, random_seed=0)
    _, again = evaluated(tmp_path, evaluator, [("clear", moved.dataset[0])])
    assert again[0][0].score == 0.2
    assert len(evaluator.asked) == 2


def test_equal_records_of_one_set_are_each_evaluated(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    twice = make_sets([RECORD, RECORD], None, None, holdout=0.0, random_seed=0).dataset
    evaluated(tmp_path, evaluator, [("clear", each) for each in twice])
    assert len(evaluator.asked) == 2


def test_every_evaluation_can_be_identified_by_its_line(tmp_path: Path) -> None:
    evaluated(tmp_path, WordEvaluator(), [("clear", example("valset", 0)), ("short", example("valset", 7))])
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    texts = {line["candidate"]: line["texts"] for line in lines if line["kind"] == "candidate"}
    first, second = [line for line in lines if line["kind"] == "evaluation"]
    assert (first["candidate"], first["part"], first["index"]) == (0, "valset", 0)
    assert texts[second["candidate"]] == {"text": "short"}
    assert (second["part"], second["index"], second["score"]) == ("valset", 7, 0.5)
    assert second["side_info"] == {"missing": ["clear"]}
    assert second["seconds"] > 0


def test_a_noisy_evaluator_is_called_repeatedly_and_its_mean_counts(tmp_path: Path) -> None:
    scores = iter([0.2, 0.4, 0.9])
    evaluator = WordEvaluator(lambda candidate, record: next(scores))
    evaluations, outcomes = evaluated(tmp_path, evaluator, [("text", example())], repeat=3)
    assert outcomes[0][0].score == pytest.approx(0.5)
    assert sorted(outcomes[0][0].repeats) == [0.2, 0.4, 0.9]
    assert evaluations.calls == 3


def test_a_failure_is_not_kept_and_not_a_number(tmp_path: Path) -> None:
    evaluator = WordEvaluator(breaking)
    pair = ("boom", example())
    evaluations, outcomes = evaluated(tmp_path, evaluator, [pair], [pair])
    assert [batch[0].score for batch in outcomes] == [None, None]
    assert evaluations.failures == {"exit_code": 2}
    assert evaluations.failed_in_a_row == 2
    assert evaluations.latest({"text": "boom"}, [pair[1]])[0].failure is not None
    assert (len(evaluator.asked), evaluations.retries) == (6, 4)


@pytest.mark.parametrize(("kind", "times"), [("bad_output", 3), ("exit_code", 3), ("bad_candidate", 1)])
def test_what_failed_is_tried_again_for_every_text_but_one_that_cannot_be_sent(
    tmp_path: Path, kind: str, times: int
) -> None:
    def hiccup(candidate: str, record: Any) -> float:
        raise failed("e", kind, "gone")

    evaluator = WordEvaluator(hiccup)
    evaluations, _ = evaluated(tmp_path, evaluator, [("text", example())])
    assert (len(evaluator.asked), evaluations.calls) == (times, 1)


def test_a_service_that_says_not_now_is_called_again_when_it_says(tmp_path: Path) -> None:
    answers = iter([Answer(b"busy", status=429, headers={"Retry-After": "0"}), Answer(b"", status=503)])
    with serving(lambda payload: next(answers, Answer(b'{"score": 0.5}'))) as server:
        evaluations, outcomes = evaluated(tmp_path, http_evaluator(server.url), [("text", example())])
    assert outcomes[0][0].score == 0.5
    assert (evaluations.made, evaluations.retries, evaluations.calls) == (3, 2, 1)


def test_workers_that_are_ended_before_their_first_turn_leave_nothing_behind(tmp_path: Path) -> None:
    class Killed(BaseException):
        """Nothing on the way may swallow it, like a kill."""

    def second_kills(candidate: str, record: Any) -> float:
        if record["n"]:
            raise Killed
        time.sleep(0.05)  # so long that the others may join, which have no turn any more
        return 1.0

    records = make_sets([{"n": 0}, {"n": 1}, {"n": 2}], None, None, holdout=0.0, random_seed=0).dataset
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(Killed):
            evaluated(tmp_path, WordEvaluator(second_kills), [("text", each) for each in records])
        gc.collect()
    assert [str(each.message) for each in caught if "never awaited" in str(each.message)] == []


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
