"""Scorers that are placed where they score, as a run places them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core.errors import FailureError
from assay.core.run import Stop
from assay.core.seams import BuildContext, Scorer, close_part
from assay.core.types import Failure, PartSpec, Sample, Score, Trace
from assay.own_functions import name_of
from assay.scorers.from_metric import from_metric
from assay.scorers.processes import placed
from assay.scorers.supervisor import Supervisor

METRIC = """
import os, time

calls = 0

def fickle(prediction, targets, extras):
    print("whatever a metric says on stdout")
    if prediction == "die":
        os.kill(os.getpid(), 9)
    if prediction == "exit":
        os._exit(0)
    if prediction == "die once" and not os.path.exists(extras["mark"]):
        open(extras["mark"], "w").close()
        os.kill(os.getpid(), 9)
    if prediction == "broken":
        raise ValueError("no such thing")
    if prediction == "leave":
        raise SystemExit("enough")
    if prediction == "read":
        input()
    if prediction == "changes":
        extras["mark"] = "changed"
    if prediction == "mark":
        return float(extras["mark"] == "changed")
    if prediction == "key":
        return float("ASSAY_TEST_API_KEY" in os.environ)
    if prediction == "hang":
        while True:
            try:
                time.sleep(0.001)
            except:
                pass
    return float(prediction in targets)

def where(prediction, targets, extras):
    with open(extras["mark"], "a") as file:
        print(os.getpid(), file=file)
    return 1.0

def leaks(prediction, targets, extras, _kept=[]):
    _kept.append(bytearray(1 << 20))
    return 1.0

def slow(prediction, targets, extras):
    until = time.thread_time() + 0.002
    while time.thread_time() < until:
        pass
    return float(prediction in targets)
"""


def part(metric: str) -> PartSpec:
    return PartSpec(key="own", use="metric", options={"metric": metric})


class Placed:
    """A scorer under a supervisor of its own; what both say and start can be looked at."""

    def __init__(
        self,
        build: Callable[[BuildContext], Scorer],
        part: PartSpec,
        workers: int | None = None,
        *,
        limit_seconds: float = 60.0,
        context: BuildContext | None = None,
    ) -> None:
        self.supervisor = Supervisor(limit_seconds, workers)
        self.stop, self.said = Stop(), list[str]()
        self.supervisor.bind(self.stop, self.said.append)
        self.scorer = placed(part, build, context or BuildContext(own_code=True), self.supervisor)
        self.pids: set[int] = set()

    def score(self, predictions: list[str], mark: Path | None = None, at_once: int = 1000) -> list[Score | Failure]:
        samples = [Sample(id=str(n), targets=("yes",), extras={"mark": str(mark)}) for n in range(len(predictions))]
        traces = [Trace(prediction=text) for text in predictions]
        return self.outcomes([*zip(samples, traces, strict=True)], at_once)

    def outcomes(self, asked: list[tuple[Sample, Trace]], at_once: int = 1000) -> list[Score | Failure]:
        async def one(sample: Sample, trace: Trace) -> Score | Failure:
            try:
                return await self.scorer(sample, trace)
            except FailureError as error:
                return error.failure

        async def go() -> list[Score | Failure]:
            try:
                batches = [asked[first : first + at_once] for first in range(0, len(asked), at_once)]
                return [each for batch in batches for each in await asyncio.gather(*(one(*pair) for pair in batch))]
            finally:
                processes: Any = self.supervisor.processes
                self.pids = {host.pid for host in processes}
                await close_part(self.scorer)
                await self.supervisor.aclose()

        return asyncio.run(go())


def own_metric(metric: str | Callable[..., Any], workers: int | None = None, *, limit_seconds: float = 60.0) -> Placed:
    """A metric that is not ours, by its name or as a function."""
    name = metric if isinstance(metric, str) else name_of(metric)

    def build(context: BuildContext) -> Scorer:
        return from_metric("own", metric=name, context=context)

    return Placed(build, part(name), workers, limit_seconds=limit_seconds)


def values(outcomes: list[Score | Failure]) -> list[Any]:
    """The score of each sample, or the kind of its failure."""
    return [each.values["score"] if isinstance(each, Score) else each.kind for each in outcomes]
