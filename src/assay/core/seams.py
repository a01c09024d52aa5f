"""The protocols: each seam is one method wide, and behaviour is added by wrapping.

A metric is a plain function. A wrapper of a `Model` is a `Model`. Nothing here is registered or inherited from:
an object that fits is enough.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from assay.core.types import Completion, Record, Request, Sample, Score, Summary, Trace

Metric = Callable[[str, Sequence[str], Mapping[str, Any]], float]
"""`(prediction, targets, extras) -> float in [0, 1]`, pure."""


@runtime_checkable
class Model(Protocol):
    """Something that answers a request. Raises `FailureError` when it cannot."""

    @property
    def name(self) -> str: ...

    async def generate(self, request: Request) -> Completion: ...


@runtime_checkable
class ModelAdapter(Protocol):
    """The smallest adapter anyone may write: a name, and texts in, texts out. Accepted wherever a model is."""

    @property
    def name(self) -> str: ...

    def generate(self, prompts: Sequence[str]) -> list[str]: ...


class Solver(Protocol):
    """How the model is asked: one turn, many turns, or the author's Python."""

    async def __call__(self, sample: Sample, model: Model) -> Trace: ...


class Scorer(Protocol):
    """Turns a sample and its trace into a score. Raises `FailureError` when it cannot."""

    @property
    def name(self) -> str: ...

    async def __call__(self, sample: Sample, trace: Trace) -> Score: ...


class Aggregate(Protocol):
    """Scores of many samples (one scorer's `stats.score_table.ScoreTable`) -> named numbers with their uncertainty."""

    def __call__(self, table: Any, *, level: float, **options: Any) -> list[Summary]: ...


class Dataset(Protocol):
    """Samples that can be walked over again and again without being kept in memory."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sample]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """What scorers, solvers and actions may need besides their options: every factory of theirs is given one."""

    own_code: bool = False
    """Whether the task's own Python and programs may run: the user wrote the file, or trusts it."""
    model_for: Callable[..., Model] | None = None
    """Another model by what a user writes for it, and its options: judges, user simulators."""
    min_sandbox: str | None = None
    timeout_seconds: float | None = None
    """What the user allows for one answer and for scoring it; None: whatever a part thinks right."""
    task: str = ""
    """The name of the task being built, for messages."""
    paces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How fast each other model may be asked, by the key the task has for it."""
    dataset: Dataset | None = None
    """Its samples, for scorers that look at all of them."""


class Work(NamedTuple):
    """One attempt that is still owed: what an executor hands to `make_attempt`."""

    task: Any
    position: int
    sample: Sample
    attempt: int
    key: str


class Executor(Protocol):
    """Keeps attempts in flight and yields finished records in batches, in any order."""

    def run(
        self, make_attempt: Callable[[Work], Awaitable[Record]], work: Iterable[Work]
    ) -> AsyncIterator[list[Record]]: ...
