"""What the reader of a task knows: how it is planned, where it comes from, what reports show and compute of it."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

ModelTask = Literal["chat_completion", "embeddings", "custom"]
"""What a model is, and what tasks are for."""


class AskedModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model that a file names: as after `--model`, with its options and limits."""

    model: str
    options: dict[str, Any] = {}
    key: str = ""
    """Its name in the file, which `--model-for` replaces."""
    label: str | None = None
    """What tables call it."""
    generation: dict[str, Any] = {}
    """How it answers, where neither a task nor the user says otherwise: settings of a run."""
    requests_per_minute: float | None = None
    concurrency: int | None = None
    task: ModelTask = "chat_completion"


class Variant(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which cell of a file's matrix of models and prompts a task is."""

    model: str | None = None
    prompt: str | None = None

    @property
    def label(self) -> str:
        return ", ".join(filter(None, (self.model, self.prompt)))


class Policy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule of a file that a number of the task must meet; without an operator the number must be there."""

    rule: str
    metric: str
    scorer_keys: tuple[str, ...] | None = None
    metric_keys: tuple[str, ...] | None = None
    operator: str | None = None
    threshold: int | float | None = None


class TaskPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a file says about the runs of its task; the user's own settings come first."""

    model: AskedModel | None = None
    """The model that the file evaluates; None: the user chooses."""
    for_models: tuple[ModelTask, ...] = ()
    """What kinds of models it is for, where it says so."""
    asked_models: dict[str, AskedModel] = {}
    """What the keys after `--model` stand for."""
    own_models: tuple[str, ...] = ()
    """Those of them whose model files are of the current project."""
    typed_models: tuple[str, ...] = ()
    """Keys of models that the user chose on the command line."""
    missing_models: tuple[str, ...] = ()
    """Keys of models that no file describes."""
    refused: str | None = None
    """Why it cannot be run as it is: a grader that assay does not have."""
    refused_without_choice: str | None = None
    """The same, unless the user chooses the evaluated model."""
    trials: int | None = None
    cache: str | None = None
    """`reuse`, `update` or `no-cache`; None: as for other tasks."""
    variant: Variant | None = None
    system_in_requests: bool = False
    """Whether its requests were written with the system message, `system`; it is then not put around them too."""
    system: str | None = None
    policies: tuple[Policy, ...] = ()
    paces: dict[str, dict[str, Any]] = {}
    """The limits of the models behind keys."""


class TableColumns(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The columns that show which row it is, and what is right."""

    text: str | None = None
    target: str | None = None


class Declared(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a file declares, and what it became."""

    kind: str
    """`parameter`, `dataset`, `column`, `solver`, `scorer`, `metric`, `model`, `rule` or `file`."""
    name: str
    became: str
    place: str
    """File, line and column."""
    unused: bool = False
    """Whether nothing of the task reads it."""


class Provenance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a task was read from. Consent goes by it: no user agreed to a file that is not listed."""

    files: tuple[str, ...] = ()
    """Files that were read in addition to its source."""
    model_files: tuple[str, ...] = ()
    """The files of models that the user chose for a task whose own files name none."""
    lists_code: bool = False
    """Whether the options of its parts list the code of an installed package that they run, and where it lies."""
    variables: tuple[str, ...] = ()
    """Variables of the environment that the files name."""
    versions: dict[str, str] = {}
    """Of the program it belongs to, of the task, of its data."""
    warnings: tuple[str, ...] = ()
    not_carried_over: tuple[str, ...] = ()
    """What an import of another program's task lacks."""
    config: dict[str, Any] | None = None
    """The values of its parameters; None: it can have none."""
    over_rows: bool = False
    """Whether its file is written over the rows of a dataset, and may be given others: a YAML task."""
    table: TableColumns | None = None
    """Of a task that was made from a table: its columns that are shown next to the answers."""
    sample_field: str | None = None
    """Where its file has a sample on each line: the field that names it."""
    functions: dict[str, str | None] = {}
    """The source of functions that were passed from Python, by name; None where Python has none."""
    from_log: bool = False
    """Whether it stands for the task of another program's log, which has no file here."""
    declared: tuple[Declared, ...] = ()
    """Everything that its file declares, with what it became."""
    recorded: dict[str, Any] = {}
    """What its reader keeps with the run. Only that reader looks inside."""


class ScorerTitle(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a file says about one of its scorers."""

    purpose: str = "score"
    display_name: str | None = None


class GroupMetric(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number that a group of tasks reports the mean of."""

    metric: str
    filters: tuple[str, ...] | None = None
    """The filters that it is taken under; None: all."""
    weight_by_size: bool = True


class TaskGroup(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A group that the task is in, at any depth."""

    name: str
    metrics: tuple[GroupMetric, ...] = ()


class TaskLabels(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What reports show of a task in addition to its numbers."""

    display_name: str | None = None
    scorers: dict[str, ScorerTitle] = {}
    groups: tuple[TaskGroup, ...] = ()
    tags: tuple[str, ...] = ()
    long_description: str | None = None
    """Markdown."""
    owner: str | None = None
    """Who answers questions about it."""
    weight: float = 1.0
    """What it counts in the overall score."""


class RatioOfSums(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="ratio"):
    """A number made of sums over the attempts: the weights of values in one, and in the one that it is divided by."""

    of: dict[str, float]
    over: dict[str, float]
    scorer: str | None = None


class FormulaOfSums(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="formula"):
    """A number that a known formula makes of sums over the attempts, of the values that it is known to need."""

    formula: Literal["bleu", "chrf"]
    scorer: str | None = None


class QuantileOf(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="quantile"):
    """The number that a share `q` of the attempts' values lies below."""

    value: str
    q: float
    scorer: str | None = None


Sums = RatioOfSums | FormulaOfSums
MadeOf = Sums | QuantileOf
