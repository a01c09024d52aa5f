"""One process that scores: reads a scorer's description, then lists of samples with their traces; answers with scores.

    python -m assay.scorers.worker_process

Every message is four bytes of length and JSON; nothing is unpickled. The process ends when its input does, so it never
outlives whoever started it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from assay import catalog
from assay.core.attempt import failure_of, of_a_part, overdue
from assay.core.seams import BuildContext, Scorer
from assay.core.types import Failure, PartSpec, Sample, Score, Trace
from assay.scorers.watch import Watch


class Question(Struct, frozen=True):
    """What one scorer is asked to look at."""

    sample: Sample
    trace: Trace


class Order(Struct, frozen=True):
    """What the process is to build, and how long it may take for one score."""

    part: PartSpec
    limit_seconds: float


class LooseScore(Struct, frozen=True, omit_defaults=True):
    """A score as a process tells it: values keep the type they had, as they do where no process is between."""

    name: str
    values: dict[str, Any]
    answer: str | None = None
    extracted: bool = True
    reason: str | None = None
    metadata: dict[str, Any] | None = None

    @classmethod
    def of(cls, score: Score) -> LooseScore:
        return cls(**{name: getattr(score, name) for name in cls.__struct_fields__})

    def score(self) -> Score:
        return Score(**{name: getattr(self, name) for name in self.__struct_fields__})


class Answer(Struct, frozen=True, omit_defaults=True):
    """What it made of it: a score, or why there is none."""

    score: LooseScore | None = None
    failure: Failure | None = None


def main() -> None:
    # whatever a metric prints must not come between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    order = msgspec.json.decode(_message(sys.stdin.buffer) or b"", type=Order)
    part = order.part
    # whoever started us has built the same scorer, so its code is trusted
    make = catalog.resolve("scorer", part.use, own_code=True)
    scorer: Scorer = make(key=part.key, **part.options, context=BuildContext(own_code=True))
    _answer(answers, b"")  # ready
    decode = msgspec.json.Decoder(list[Question]).decode
    with asyncio.Runner() as runner:
        while (message := _message(sys.stdin.buffer)) is not None:
            _answer(answers, msgspec.json.encode(runner.run(_score(scorer, decode(message), order.limit_seconds))))


async def _score(scorer: Scorer, questions: list[Question], limit_seconds: float) -> list[Answer]:
    with Watch(limit_seconds, scoring=_answer_to.__code__):
        return [await _answer_to(scorer, question.sample, question.trace) for question in questions]


async def _answer_to(scorer: Scorer, sample: Sample, trace: Trace) -> Answer:
    try:
        score = await scorer(sample, trace)
        if late := overdue.get(id(trace)):
            raise late  # as in `score_trace`
        return Answer(score=LooseScore.of(score))
    except BaseException as error:
        overdue.pop(id(trace), None)
        return Answer(failure=failure_of(of_a_part(error), "scorer", scorer.name))


def _answer(stream: BinaryIO, data: bytes) -> None:
    stream.write(len(data).to_bytes(4, "big") + data)
    stream.flush()


def _message(stream: BinaryIO) -> bytes | None:
    size = stream.read(4)
    return stream.read(int.from_bytes(size, "big")) if len(size) == 4 else None


if __name__ == "__main__":
    main()
