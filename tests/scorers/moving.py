"""Scorers that move to processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Failure, PartSpec, Sample, Score, Trace
from assay.scorers.from_metric import from_metric
from assay.scorers.processes import MayMove, in_processes

METRIC = """
import os, time

def fickle(prediction, targets, extras):
    print("whatever a metric says on stdout")
    if prediction == "die":
        os.kill(os.getpid(), 9)
    if prediction == "die once" and not os.path.exists(extras["mark"]):
        open(extras["mark"], "w").close()
        os.kill(os.getpid(), 9)
    if prediction == "broken":
        raise ValueError("no such thing")
    if prediction == "key":
        return float("ASSAY_TEST_API_KEY" in os.environ)
    return float(prediction in targets)

def slow(prediction, targets, extras):
    until = time.thread_time() + 0.002
    while time.thread_time() < until:
        pass
    return float(prediction in targets)
"""


def part(metric: str) -> PartSpec:
    return PartSpec(key="own", use="metric", options={"metric": metric})


def moved(metric: str, workers: int | None = 2) -> MayMove:
    scorer = in_processes(from_metric("own", metric=metric, context=BuildContext(own_code=True)), part(metric), workers)
    assert isinstance(scorer, MayMove)
    return scorer


def score(scorer: object, predictions: list[str], mark: Path | None = None) -> list[Score | Failure]:
    async def one(prediction: str) -> Score | Failure:
        sample = Sample(id="s", targets=("yes",), extras={"mark": str(mark)})
        try:
            found: Score = await scorer(sample, Trace(prediction=prediction))  # type: ignore[operator]
            return found
        except FailureError as error:
            return error.failure

    async def go() -> list[Score | Failure]:
        try:
            return list(await asyncio.gather(*map(one, predictions)))
        finally:
            if isinstance(scorer, MayMove):
                await scorer.aclose()
                assert not any(process.service.pids for process in scorer.pool.processes)

    return asyncio.run(go())
