"""One artifact, one evaluator, all examples: every score, every failure, and what they come to."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from assay.core.types import Failure
from assay.evaluators.payload import Evaluator, failure_of


class ScoredExample(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of one example: a score or a failure, never both."""

    index: int
    """Position in the dataset, from 0; 0 as well when there is no dataset."""
    score: float | None = None
    side_info: dict[str, Any] = {}
    failure: Failure | None = None
    example: dict[str, Any] | None = None


class ArtifactScore(Struct, frozen=True, kw_only=True):
    """The scores of one artifact under one evaluator; failures are counted separately and excluded from the mean."""

    evaluator: str
    mean: float | None
    """None when nothing was scored."""
    deviation: float | None
    """Standard deviation of the scores (n − 1); None below two."""
    low: float | None
    high: float | None
    scored: int
    failed: int
    examples: list[ScoredExample]


async def score_artifact(
    evaluator: Evaluator,
    artifact: str,
    examples: Sequence[Mapping[str, Any]] | None = None,
    task_model: str | None = None,
    *,
    concurrency: int = 8,
) -> ArtifactScore:
    """Score the artifact on every example, or once when there are none; at most `concurrency` at a time."""
    permits = asyncio.Semaphore(concurrency)

    async def score(index: int, example: Mapping[str, Any] | None) -> ScoredExample:
        shown = None if example is None else dict(example)
        async with permits:
            try:
                evaluation = await evaluator(artifact, example, task_model)
            except Exception as error:
                failure, side_info = failure_of(error, evaluator.name)
                return ScoredExample(index=index, failure=failure, side_info=side_info, example=shown)
        return ScoredExample(index=index, score=evaluation.score, side_info=evaluation.side_info, example=shown)

    work: Sequence[Mapping[str, Any] | None] = [None] if examples is None else examples
    finished = await asyncio.gather(*(score(index, example) for index, example in enumerate(work)))
    return summed_up(evaluator.name, finished)


def summed_up(name: str, examples: Sequence[ScoredExample]) -> ArtifactScore:
    """The scores and failures in numbers."""
    scores = [example.score for example in examples if example.score is not None]
    return ArtifactScore(
        evaluator=name,
        mean=statistics.fmean(scores) if scores else None,
        deviation=statistics.stdev(scores) if len(scores) > 1 else None,
        low=min(scores, default=None),
        high=max(scores, default=None),
        scored=len(scores),
        failed=len(examples) - len(scores),
        examples=list(examples),
    )
