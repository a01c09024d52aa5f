"""A scoring process: reads a scorer's description, then batches of samples with their traces; answers with scores.

    python -m assay.scorers.worker_process

Every message is a line of JSON: a number and a payload. Nothing is unpickled. The process ends when its input
does, so it never outlives the process that started it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from assay import catalog
from assay.core.attempt import failure_of, overdue, raise_unless_part_error
from assay.core.seams import BuildContext, Scorer
from assay.core.types import Failure, PartSpec, Sample, Trace
from assay.scorers.watch import Watch


class ScoreRequest(Struct, frozen=True):
    """A sample and the trace to score."""

    sample: Sample
    trace: Trace


class Order(Struct, frozen=True):
    """The scorer to build, and the time limit for one score."""

    part: PartSpec
    limit_seconds: float


class Answer(Struct, frozen=True, omit_defaults=True):
    """The outcome: a score, or why there is none."""

    score: dict[str, Any] | None = None
    """Its fields: values keep their types, as they would within one process."""
    failure: Failure | None = None


def main() -> None:
    # what a metric prints must not mix with the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    number, order = msgspec.json.decode(sys.stdin.buffer.readline(), type=tuple[int, Order])
    part = order.part
    # the parent process has built the same scorer, so its code is trusted
    trusting = BuildContext(own_code=True)
    scorer: Scorer = catalog.make("scorer", part.use, part.options, own_code=True, key=part.key, context=trusting)
    _answer(answers, number, [])  # ready
    decode = msgspec.json.Decoder(tuple[int, list[ScoreRequest]]).decode
    with asyncio.Runner() as runner:
        for line in sys.stdin.buffer:
            number, requests = decode(line)
            _answer(answers, number, runner.run(_score(scorer, requests, order.limit_seconds)))


async def _score(scorer: Scorer, requests: list[ScoreRequest], limit_seconds: float) -> list[Answer]:
    with Watch(limit_seconds, scoring=_answer_to.__code__):
        return [await _answer_to(scorer, request.sample, request.trace) for request in requests]


async def _answer_to(scorer: Scorer, sample: Sample, trace: Trace) -> Answer:
    try:
        score = await scorer(sample, trace)
        if late := overdue.get(id(trace)):
            raise late  # as in `score_trace`
        return Answer(score=msgspec.structs.asdict(score))
    except BaseException as error:
        overdue.pop(id(trace), None)
        return Answer(failure=failure_of(raise_unless_part_error(error), "scorer", scorer.name))


def _answer(stream: BinaryIO, number: int, answers: list[Answer]) -> None:
    stream.write(msgspec.json.encode((number, answers)) + b"\n")
    stream.flush()


if __name__ == "__main__":
    main()
