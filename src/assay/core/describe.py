"""What a part says of itself, as plain data: the numbers it gives, what it averages, what it needs and what it offers.

A factory says it once, with `describes`; a task asks once, when it is built, and the answer is stored with the run. Who
shows, tests, ranks or plans reads the answer and imports no part. A part that says nothing is unknown, which is not no:
its numbers are shown, and nothing is concluded from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct

from assay.task_records import MadeOf

Range = tuple[float, float]
Runs = Literal["here", "snippet", "program", "library", "sandbox"]
"""Where a part computes: in assay, the author's Python or program, another program's library, or models' sandbox."""

Reached = tuple[Literal["program", "address", "variable", "file"], str, str]
"""What is reached, its name, and the option that names it."""


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value of a score."""

    name: str
    kind: Literal["share", "number", "count", "label"] = "number"
    range: Range | None = None
    """The smallest and the largest one possible; None: unknown, or none."""
    lower_is_better: bool | None = False
    """None: neither is better, as for a number of words."""
    labels: tuple[str, ...] = ()
    """The labels that it may be; empty: any text."""


def share(name: str, *, lower_is_better: bool = False) -> Value:
    """A value from 0 to 1, or true and false."""
    return Value(name=name, kind="share", range=(0.0, 1.0), lower_is_better=lower_is_better)


def count(name: str, *, lower_is_better: bool | None = None) -> Value:
    """A whole number of things; without a direction, neither more nor fewer are better."""
    return Value(name=name, kind="count", lower_is_better=lower_is_better)


class DefaultAggregate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An aggregate that a scorer has where its task names none."""

    use: str
    key: str | None = None
    options: dict[str, Any] = {}


def mean_of(field: str, *, key: str | None = None, name: str | None = None) -> DefaultAggregate:
    return DefaultAggregate(use="mean", key=key, options={"field": field} | ({"name": name} if name else {}))


class ScorerInfo(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="scorer"):
    """What a scorer gives and does."""

    values: tuple[Value, ...] = ()
    """Empty: not known before it has scored."""
    more_values: bool = False
    """Whether it may give others too."""
    aggregates: tuple[DefaultAggregate, ...] | None = None
    """None: the mean of `score`."""
    judges_answers: bool = False
    """A judge whose verdicts can be rehearsed with made-up answers."""
    needs_answer: bool = False
    """Whether no option of it can take the place of an answer, so that a task without a solver has no use for it."""
    empty_may_score: bool = False
    """Whether an empty answer may be right, as where only mistakes are counted."""
    sees_all: bool = False
    """Whether it is called once, with all samples."""
    verdict: str | None = None
    """Of a judge: the value that people who label answers give too, so that the two can be compared."""
    calls: str = ""
    """Of a judge: how often it calls its model for a sample, in words."""
    prompt: str = ""
    """Of a judge whose prompt is ours: its name and version."""
    reads_verdicts_itself: bool = False
    """It calls a judge, and whether a verdict is usable is known only to the other program that it belongs to."""
    task_of_library: str | None = None
    """The task of an installed package whose code it runs, as the user names it; consent lists it."""
    reaches: tuple[Reached, ...] = ()
    """What it starts, connects to or reads outside of assay; consent lists it."""
    runs: Runs = "here"


class Mean(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="mean"):
    """An aggregate that averages one number of each attempt: paired tests subtract exactly that number."""

    value: Value
    """With `weights`, its name is that of the label; range and direction are those of the number."""
    weights: dict[str, float] | None = None
    """The number of each label of the value."""
    other: float | None = None
    """The number of all other labels; None: they have none."""
    same_as: tuple[str, str] | None = None
    """Two values whose agreement is the number."""
    answers: tuple[str, ...] = ()
    """The only labels that count for `same_as`; empty: all."""
    rising: tuple[str, ...] = ("*",)
    """Patterns of the names of its numbers that never fall as the number of an attempt rises."""
    numbers: tuple[str, ...] = ()
    """Patterns of the names of numbers that depend on the answers: `*_precision`."""


class Whole(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="whole"):
    """An aggregate that is no mean over attempts: F1, a maximum, a perplexity, the author's own."""

    lower_is_better: bool | None = None
    """None: no better, no worse, no rank."""
    range: Range | None = None
    smooth: bool = True
    """False, as for `max` and `min`: one attempt decides, and two of them are not compared by a test."""
    proxy: Value | None = None
    """The number of an attempt that stands for the aggregate in tests, as bits per byte for a perplexity."""
    rises_with: Value | None = None
    """The number of an attempt that it never falls with."""
    made_of: MadeOf | None = None
    """What it is computed from, so that reports can compare it; None: only its own code knows."""
    runs: Runs = "here"
    task_of_library: str | None = None
    """The task of an installed package whose code it runs, as the user names it; consent lists it."""
    numbers: tuple[str, ...] = ()
    attempts: int = 1
    """How many attempts at each sample it takes."""


class Shares(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="shares"):
    """An aggregate that lists the shares of labels, none of which is the score."""

    numbers: tuple[str, ...] = ()


class SolverNeeds(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="solver"):
    """What a solver needs from the model and gives to scorers."""

    likelihoods: bool = False
    asks_model: bool = True
    """False: it has the answer already, or needs none."""
    answers: bool = True
    """False: its traces have no answer."""
    turns: Literal["one", "many"] = "one"
    runs: Runs = "here"
    plain_variant: str | None = None
    """The solver that takes its place for models that only write."""

    @property
    def replays(self) -> bool:
        """Whether its answers were recorded before: another model than the run's gave them."""
        return self.answers and not self.asks_model


class ModelOffers(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model offers: its attribute `offers`, which it may leave out."""

    remote: bool = False
    """Called over a network: the run waits out its outages, and concurrency adapts to the server."""
    cacheable: bool = False
    """Its answers are determined by its settings and the request, so that they may be cached."""
    cache: bool | None = None
    """Whether to cache its answers, whatever it serves and whatever the run does; None: as the run does."""
    likelihoods: Literal["no", "unproven", "yes"] = "no"
    """Whether it answers a `Request.continuation` with its log-likelihood; unproven ones are checked first."""
    embeddings: bool = False
    """It answers a `Request.embed` with the embedding of its prompt."""
    chat: bool = True
    """False: it takes one text and has no chat template."""
    custom: bool = False
    """It takes any JSON in place of a chat, and answers with any JSON."""
    renders_prompts: bool = False
    """assay renders its prompts and counts them in tokens: they can be plain text, and cut to its context."""
    notes: tuple[str, ...] = ()
    """What its user should know before it is called."""
    answers: bool = True
    """False: it stands for answers that are recorded already, or for no model at all."""
    applies: tuple[str, ...] | None = None
    """Of a run's settings for requests (`temperature`, `system`, …) those that it applies; None: all of them."""


class DatasetInfo(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="dataset"):
    """What a dataset is read from."""

    recorded_models: bool = False
    """Whether its samples have answers, and say which model gave them."""
    elsewhere: bool = False
    """Whether reading it calls another machine, a model, or code that is not assay's."""
    parts: tuple[tuple[str, dict[str, Any]], ...] = ()
    """The datasets whose rows it puts side by side: the name and the options of each."""
    made_from: tuple[tuple[str, dict[str, Any]], ...] = ()
    """The datasets that its rows were generated from."""
    made_by: Any = None
    """What generated them, as options of parts: models and code."""
    addresses: dict[str, str] = {}
    """Where it connects to, each with the option that says so. Consent lists them, like the files."""
    files: dict[str, str] = {}
    """Files that it reads in addition to its `path`."""
    awaits: str | None = None
    """The task of the same evaluation whose result it stands for, until that has been made."""


About = ScorerInfo | Mean | Whole | Shares | SolverNeeds | DatasetInfo
Describe = Callable[[Mapping[str, Any], Mapping[str, Value]], About]
"""From a part's options, and for an aggregate the values of its scorer by name, to what it is."""
Factory = TypeVar("Factory", bound=Callable[..., Any])


def describes(about: About | Describe) -> Callable[[Factory], Factory]:
    """Say what a factory makes: always the same, or as its options say. The factory itself is unchanged."""

    def described(factory: Factory) -> Factory:
        setattr(factory, _SAID, about)
        return factory

    return described


def about(factory: Any, options: Mapping[str, Any], values: Mapping[str, Value] | None = None) -> About | None:
    """What a factory says of itself with these options, by its own decorator; None where it says nothing."""
    description = vars(factory).get(_SAID) if hasattr(factory, "__dict__") else None
    return description(options, values or {}) if callable(description) else description


_SAID = "__assay_description__"
