"""One artifact on many examples: failures are counted separately and excluded from the mean."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

from assay.evaluators import Evaluation
from assay.evaluators.payload import failed
from assay.evaluators.scoring import score_artifact


class ByExample:
    """Scores what the example says, or breaks when it says nothing."""

    name = "by example"
    identity: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.most = self.now = 0

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        if example is not None and "score" not in example:
            raise failed(self.name, "timeout", "too slow")
        return Evaluation(score=0.5 if example is None else example["score"], side_info={"for": candidate})

    async def close(self) -> None: ...


def test_failures_are_excluded_from_the_mean() -> None:
    found = asyncio.run(score_artifact(ByExample(), "text", [{"score": 1.0}, {}, {"score": 0.5}, {}]))
    assert (found.mean, found.scored, found.failed) == (0.75, 2, 2)
    assert found.deviation == pytest.approx(0.35355339)
    assert [example.score for example in found.examples] == [1.0, None, 0.5, None]
    assert found.examples[1].failure is not None
    assert found.examples[1].failure.kind == "timeout"


def test_without_examples_there_is_one_evaluation() -> None:
    found = asyncio.run(score_artifact(ByExample(), "text"))
    assert (found.mean, found.deviation, found.scored) == (0.5, None, 1)
    assert found.examples[0].example is None


def test_nothing_scored_means_no_mean() -> None:
    found = asyncio.run(score_artifact(ByExample(), "text", [{}, {}]))
    assert (found.mean, found.low, found.high, found.failed) == (None, None, None, 2)


def test_no_more_in_flight_than_allowed() -> None:
    evaluator = ByExample()
    asyncio.run(score_artifact(evaluator, "text", [{"score": 0.1}] * 20, concurrency=3))
    assert evaluator.most == 3
