"""The protocols: each seam is one method wide, and behaviour is added by wrapping.

A metric is a plain function. A wrapper of a `Model` is a `Model`. Nothing here is registered or inherited from:
an object that fits is enough. What a part may offer beyond its one method is listed at the end: `Capabilities`, and
optional protocols.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from assay.core.errors import FailureError, UsageError
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
    """What scorers, solvers and actions may need beyond their options: each of their factories is given one."""

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
    """The rate limits of each other model, by the key the task has for it."""
    dataset: Dataset | None = None
    """Its samples, for scorers that look at all of them."""
    cost_of: Callable[[Sequence[Completion]], float | None] | None = None
    """What answers of the measured model cost, if that is known."""

    def model_behind(self, key: str, found: Mapping[str, Any] | None = None, **limits: Any) -> Model | None:
        """The model behind a key: what the task's reader found for it, else the key as a model's own name.

        None where the task is only built and displayed. `limits` are `model_for`'s own.
        """
        if self.model_for is None:
            return None
        named = found or {"model": key}
        how = {"generation": named["generation"]} if named.get("generation") else {}
        limits = {**self.paces.get(key, {}), **how, **limits}
        return self.model_for(named["model"], named.get("options") or {}, **limits)


NO_CONTEXT = BuildContext()
"""For a part that is built on its own: none of the task's code runs, and no other model is available."""


class Work(NamedTuple):
    """One remaining attempt: what an executor hands to `make_attempt`."""

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


# -- what a part may also offer -------------------------------------------------------------------------------------


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a part declares of itself, as its attribute `capabilities`. A part without them has none."""

    remote: bool = False
    """A model called over a network: outages are waited out, and concurrency adapts to the server."""
    cacheable: bool = False
    """A model whose settings and request decide the answer, so that an answer may be kept and given again."""
    scores_continuations: bool = False
    """A model that answers a `Request.continuation` with its log-likelihood."""
    unproven_likelihoods: bool = False
    """They are checked before the first sample: not every server that returns likelihoods returns the right ones."""
    embeds: bool = False
    """A model that answers a `Request.embed` with the embedding of its prompt."""
    only_text: bool = False
    """A model that takes one text and has no chat template."""
    needs_continuations: bool = False
    """A solver that needs likelihoods, which most models cannot give."""
    only_computes: bool = False
    """A scorer that needs nothing but the sample and the trace, so that it may move to another process."""


@runtime_checkable
class Capable(Protocol):
    @property
    def capabilities(self) -> Capabilities: ...


def capabilities_of(part: object) -> Capabilities:
    """What the part declares, or nothing."""
    found = part.capabilities if isinstance(part, Capable) else Capabilities()
    if not isinstance(found, Capabilities):
        raise UsageError(f"{type(part).__name__}.capabilities must be an assay.Capabilities(…), got {found!r}")
    return found


@runtime_checkable
class Closable(Protocol):
    """Any part that holds something: a connection, a process. Closed once, after its last use."""

    async def aclose(self) -> None: ...


async def close_part(part: object) -> None:
    """Close a part if it has anything to close."""
    if isinstance(part, Closable):
        await part.aclose()


@runtime_checkable
class HasSettings(Protocol):
    """A model whose settings, as plain data without secrets, distinguish it from others of the same name."""

    @property
    def settings(self) -> Mapping[str, Any]: ...


def identity_of(model: Model) -> dict[str, Any]:
    """What distinguishes this model from every other: its name and its settings, never a secret."""
    return {"name": model.name, **(model.settings if isinstance(model, HasSettings) else {})}


@runtime_checkable
class TakesBatches(Model, Protocol):
    """A model that takes many requests in one call."""

    async def generate_batch(self, requests: Sequence[Request]) -> Sequence[Completion | FailureError]:
        """One outcome per request, in their order: one bad answer fails only itself."""
        ...


@runtime_checkable
class FillsBatches(Protocol):
    """A model that fills its batches itself, as answers come and go."""

    def set_batch_size(self, size: int) -> None: ...


class RateLimits(NamedTuple):
    """What a server last reported about how many more requests it will accept."""

    remaining: int
    """Requests it will still accept before the reset."""
    reset_seconds: float


@runtime_checkable
class HasRateLimits(Protocol):
    """A model whose server reports how many more requests it will accept."""

    @property
    def limits(self) -> RateLimits | None: ...


@runtime_checkable
class Seekable(Protocol):
    """A dataset that need not be read from its beginning."""

    def walk_from(self, position: int) -> Iterator[Sample]: ...


def walk_from(dataset: Dataset, position: int) -> Iterator[Sample]:
    """The samples from a position on."""
    return dataset.walk_from(position) if isinstance(dataset, Seekable) else islice(dataset, position, None)


@runtime_checkable
class Previewable(Protocol):
    """A solver that makes one request and can show it without a model."""

    def request(self, sample: Sample) -> Request: ...


@runtime_checkable
class Rehearsable(Protocol):
    """A solver whose possible traces can be tried without a model: one for each choice being the likeliest."""

    def traces_without_a_model(self, sample: Sample) -> list[Trace]: ...


@runtime_checkable
class Preparable(Protocol):
    """A scorer with something to start before the first attempt. Raises `FailureError` where this machine cannot."""

    def start_here(self) -> Any:
        """Start it, and report what it is."""
        ...
