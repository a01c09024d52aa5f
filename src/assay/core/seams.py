"""The protocols: each has one method, and behaviour is added by wrapping.

A metric is a plain function. A wrapper of a `Model` is a `Model`. Parts are not registered and inherit from nothing:
an object with the right methods is enough. Optional protocols are listed at the end; what a part says about itself is
in `describe.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Record, Request, Sample, Score, Summary, Trace

JUDGE_RETRIES = 2
"""How often a judge is called again, with the reason, when its verdict cannot be used."""
Metric = Callable[[str, Sequence[str], Mapping[str, Any]], float]
"""`(prediction, targets, extras) -> float in [0, 1]`, pure."""


@runtime_checkable
class Model(Protocol):
    """Answers requests. Raises `FailureError` when it cannot."""

    @property
    def name(self) -> str: ...

    async def generate(self, request: Request) -> Completion: ...


@runtime_checkable
class ModelAdapter(Protocol):
    """The smallest adapter: a name, and texts in, texts out. Accepted wherever a model is."""

    @property
    def name(self) -> str: ...

    def generate(self, prompts: Sequence[str]) -> list[str]: ...


class Solver(Protocol):
    """How the model is called: one turn, many turns, or the task author's Python."""

    async def __call__(self, sample: Sample, model: Model) -> Trace: ...


class Scorer(Protocol):
    """Turns a sample and its trace into a score. Raises `FailureError` when it cannot."""

    @property
    def name(self) -> str: ...

    async def __call__(self, sample: Sample, trace: Trace) -> Score: ...


class Aggregate(Protocol):
    """Scores of many samples (a `stats.score_table.ScoreTable`) -> named numbers with their uncertainty."""

    def __call__(self, table: Any, *, level: float, **options: Any) -> list[Summary]: ...


class Dataset(Protocol):
    """Samples that can be iterated over repeatedly without being kept in memory."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sample]: ...


class ReadsColumns(Protocol):
    """A template in a field of a task; `columns` are those that every sample must have."""

    task: str
    field: str
    source: str

    def columns(self) -> Collection[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """What scorers, solvers and actions may need beyond their options; passed to each of their factories."""

    own_code: bool = False
    """Whether the task's own Python and programs may run: the user wrote the file, or trusts it."""
    model_for: Callable[..., Model] | None = None
    """Builds another model, such as a judge or a user simulator, from its name and options."""
    min_sandbox: str | None = None
    sandbox: str | None = None
    timeout_seconds: float | None = None
    """The user's time limit for one answer, and for scoring it; None: the part's own default."""
    judge_retries: int = JUDGE_RETRIES
    task: str = ""
    """The name of the task being built, for messages."""
    paces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The label and the rate limits of each other model, by its key in the task."""
    dataset: Dataset | None = None
    """The task's samples, for scorers that need all of them."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """The author's own modules that the task's Python imports: file -> source."""
    loading: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    """Loads the task's own code and reaches for its evaluators before any request; raises for what cannot work."""
    templates: list[ReadsColumns] = field(default_factory=list)
    """The templates over the rows of the tasks: a column that no sample has is refused before any request."""
    cost_of: Callable[[Sequence[Completion]], float | None] | None = None
    """The cost of answers of the evaluated model, if it is known."""

    def model_behind(self, key: str, found: Mapping[str, Any] | None = None, **limits: Any) -> Model | None:
        """The model of a key: the one that the task describes in `found`, else the model with that name.

        None where the task is only built and displayed. `limits` are passed to `model_for`.
        """
        if self.model_for is None:
            return None
        spec = found or {"model": key}
        generation = {"generation": spec["generation"]} if spec.get("generation") else {}
        limits = {"key": key, **self.paces.get(key, {}), **generation, **limits}
        return self.model_for(spec["model"], spec.get("options") or {}, **limits)


NO_CONTEXT = BuildContext()
"""For a part that is built on its own: none of the task's code runs, and no other model is available."""


class Work(Struct, frozen=True):
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


@runtime_checkable
class Offering(Protocol):
    @property
    def offers(self) -> ModelOffers: ...


def offers_of(model: object) -> ModelOffers:
    """What the model, or its class, says that it offers; the defaults where it says nothing."""
    offered = model.offers if isinstance(model, Offering) else ModelOffers()
    if not isinstance(offered, ModelOffers):
        raise UsageError(f"{type(model).__name__}.offers must be an assay.ModelOffers(…), got {offered!r}")
    return offered


@runtime_checkable
class Closable(Protocol):
    """A part that holds a connection or a process. Closed once, after its last use."""

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


class Served(Struct, frozen=True, kw_only=True):
    """What a server or a model's files say about what answers, by name: `digest`, `revision`, `root`, …"""

    strong: dict[str, str] = {}
    weak: dict[str, str] = {}
    """Strong is what the weights determine; weak signs may change without them, or stay when they change."""


@runtime_checkable
class Identified(Protocol):
    """A model that can say what it serves; None where it does not say. Never raises because of a server's answer."""

    async def served(self) -> Served | None: ...


@runtime_checkable
class TakesBatches(Model, Protocol):
    """A model that takes many requests in one call: one outcome each, in order, so one bad answer fails only itself."""

    async def generate_batch(self, requests: Sequence[Request]) -> Sequence[Completion | FailureError]: ...


@runtime_checkable
class FillsBatches(Protocol):
    """A model that fills its batches itself, as answers come and go."""

    def set_batch_size(self, size: int) -> None: ...


@runtime_checkable
class HasUsualTimeLimit(Protocol):
    """A model that gives up on an answer after its usual time; a longer limit of the run takes its place."""

    def allow_seconds(self, seconds: float) -> None: ...


@runtime_checkable
class NeedsKey(Protocol):
    """A model that can be described without its key but not called: `require_key` raises a `UsageError` then."""

    def require_key(self) -> None: ...


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
    """A solver that can list its possible traces without a model: one for each choice being the likeliest."""

    def traces_without_a_model(self, sample: Sample) -> list[Trace]: ...


@runtime_checkable
class SaysIfPure(Protocol):
    """A scorer that says whether it needs only the sample and the trace, so that it may run in another process."""

    @property
    def only_computes(self) -> bool: ...


@runtime_checkable
class Preparable(Protocol):
    """A scorer that starts something, such as a sandbox, before the first attempt."""

    def start_here(self) -> Any:
        """Start it and return its description. Raises `FailureError` where this machine cannot run it."""
        ...
