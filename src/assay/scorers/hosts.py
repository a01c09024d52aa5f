"""What supervisor and hosts say to each other: a scorer that scores elsewhere, a call of it, and where it is made."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, Protocol

from assay.core.seams import NO_CONTEXT, BuildContext, Model, Scorer
from assay.core.types import Failure, PartSpec, Sample, Score, Trace


@dataclass(slots=True, eq=False, kw_only=True)
class MovedScorer:
    """A scorer as hosts need it: the object for a thread, its description for a process."""

    scorer: Scorer
    part: PartSpec
    context: BuildContext = NO_CONTEXT
    models: Sequence[Model] = ()
    """Those that it was built with, in the order it asked for them."""
    computes: bool = True
    """It waits for nothing and keeps nothing open, so any number of processes may have one."""
    reads_answer_only: bool = False
    """Of a trace it reads only the prediction, of a sample only targets and extras: nothing else is sent."""
    importable: bool = True
    """Whether a process can have it; a function that was passed from Python exists in this one only."""
    was_in_thread: bool = False
    """A thread has run the object itself, so what it opened belongs to that thread's loop, which closes it."""


class ScoreCall:
    """One sample to be scored, without an answer so far."""

    __slots__ = ("answer", "context", "deaths", "moved", "number", "sample", "trace")

    def __init__(
        self, number: int, moved: MovedScorer, sample: Sample, trace: Trace, answer: asyncio.Future[Score]
    ) -> None:
        self.number, self.moved, self.sample, self.trace, self.answer = number, moved, sample, trace, answer
        self.context: Context | None = None if moved.computes else copy_context()
        """That of the attempt, for requests to models."""
        self.deaths = 0
        """Processes that died while scoring it."""


class RunningCode(NamedTuple):
    """Whose code a host is running: the number of a call, 0 while idle, a negative one where a scorer is being built;
    and at which of its steps."""

    number: int
    step: int


IDLE = RunningCode(0, 0)


class ScoringHost(ABC):
    """Where scorers run. It knows of no limits, and may be given up at any time."""

    def __init__(self) -> None:
        self.calls: dict[int, ScoreCall] = {}
        """Those without an answer."""
        self.unsent: list[ScoreCall] = []
        self.has_answered = False
        self.seen = IDLE
        self.blocked_seconds = self.ending_seconds = 0.0

    @abstractmethod
    def send(self, calls: list[ScoreCall]) -> None:
        """Make these calls."""

    @abstractmethod
    def position(self) -> RunningCode: ...

    @abstractmethod
    def give_up(self) -> str:
        """End whatever runs there, as far as that can be done; what a failure has to say of that."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the scorers that are there, then the host."""


class HearsHosts(Protocol):
    """What a host reports to its supervisor, always in the supervisor's loop."""

    def answered(self, host: ScoringHost, number: int, outcome: Score | Failure) -> None: ...

    def timed(self, seconds: float, scores: int) -> None:
        """How long this many scores took to compute."""
        ...

    def cannot_move(self, moved: MovedScorer, why: str) -> None:
        """No process can have this scorer."""
        ...

    def returned(self, host: ScoringHost, number: int) -> None:
        """The host cannot make this call."""
        ...

    def died(self, host: ScoringHost, how: str) -> None: ...


def is_plain(value: Any) -> bool:
    """Whether JSON gives back what it is given, types included: a scorer must see what it would see here."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is float:
        return isfinite(value)
    if kind is dict:
        return all(type(key) is str and (type(each) in _SCALARS or is_plain(each)) for key, each in value.items())
    return kind is list and all(map(is_plain, value))


_SCALARS = frozenset((str, int, bool, type(None)))
