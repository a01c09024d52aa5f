"""What a declarative file says, once it is checked: a record for each thing that can be written.

A part that the catalog knows (a solver, a scorer, a metric) has the fields that every such part has, and `options` for
its own: the tables of `schema/` say what they may be, the part itself what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

from assay.formats.declarative.shape import mappings
from assay.formats.declarative.yaml_reader import Plain
from assay.part_options import Choice, Doc, InFiles, ModelKey, Placeholders, Problem, PythonOption, TemplateOption, part
from assay.task_records import ModelTask

Options = dict[str, Plain]
Name = Annotated[str, Meta(min_length=1), Doc("Display name.")]
OtherName = Annotated[str | None, Doc("Display name.")]
Description = Annotated[str | None, Doc("One or two sentences.")]
LongDescription = Annotated[str | None, Doc("Markdown.")]
Tags = Annotated[tuple[str, ...], Doc("Words to search by.")]


UserKey = Annotated[str, Meta(min_length=1, max_length=250, pattern=r"[a-zA-Z0-9_\-]+")]
ResultKey = Annotated[str, Meta(min_length=1, max_length=250, pattern=r"[^./\\][^/\\]*")]
"""A dataset's key, or the name of a run folder: letters of all scripts and dots, but no path."""
ValueType = Literal["string", "integer", "float", "boolean"]
Entity = Literal["dataset", "model"]


@part("A value to try.", name="an example", example="{value: be brief, display_name: Brevity}\n")
class ParameterExample(Struct, frozen=True, kw_only=True):
    value: Annotated[str, Doc("The value.")]
    display_name: OtherName = None


class Parameter(Struct, frozen=True, kw_only=True):
    """One entry of a `config_spec`, of any type."""

    type: str
    key: Annotated[UserKey, Doc("The name in `<< config.… >>`."), Placeholders(whole=False)]
    display_name: Annotated[Name, InFiles()] = ""
    description: Description = None
    default_value: Annotated[Plain, Doc("Used when no value is given.")] = None
    nullable: Annotated[bool, Doc("Whether null is a value."), Placeholders(whole=False)] = False
    min: Annotated[int | float | None, Doc("Smallest value allowed.")] = None
    max: Annotated[int | float | None, Doc("Largest value.")] = None
    default_file_content: Annotated[
        str | None,
        Doc("What the file of a long value begins with, for people to fill in: shown where there is no value."),
    ] = None
    string_kind: Annotated[Literal["freeform", "python", "jinja"], Doc("How an editor treats it.")] = "freeform"
    examples: Annotated[tuple[ParameterExample, ...] | None, Doc("Values to try.")] = None
    usage: Annotated[
        Literal["model_under_test", "judge_model", "synthesizer_model", "productivity_assistant"] | None,
        Doc("What the model is for."),
    ] = None
    dtype: Annotated[ValueType, Doc("What its items are."), InFiles()] = "string"
    """The kind of the items of a `list`."""
    value_dtype: Annotated[ValueType, Doc("What its values are."), InFiles()] = "string"
    """The kind of the values of a `dict`."""
    allowed_values: Annotated[
        tuple[str, ...], Meta(min_length=1), Doc("The values that may be chosen."), InFiles()
    ] = ()
    multiple: Annotated[bool, Doc("Whether several may be chosen.")] = False
    values_mapping: Annotated[Plain, Doc("Ignored.")] = None


@part(
    "One declarative task.",
    name="a task",
    example="""\
key: capitals
display_name: Capitals
description: One question for each country.
definition:
  dataset: {key: countries}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "What is the capital of {{ sample.country }}?"}]
  scorers:
    - {type: contains, value: "{{ sample.capital }}"}
""",
)
class TaskEntry(Struct, frozen=True, kw_only=True):
    """A task before it is configured."""

    key: Annotated[UserKey, Doc("The task's identity."), Placeholders(whole=False)]
    display_name: Name
    description: Annotated[str, Doc("One or two sentences.")]
    long_description: LongDescription = None
    tasks: Annotated[tuple[ModelTask, ...], Doc("What models it is for; a run warns where the model is another.")] = ()
    evaluated_entity_type: Annotated[Entity | None, Doc("Deprecated here; belongs in `definition`.")] = None
    config_spec: Annotated[tuple[Parameter, ...], Doc("The parameters of the task.")] = ()
    definition: Annotated[
        Options, Doc("The input of the model, and how answers are scored."), Placeholders(inside=True)
    ]
    """With placeholders, so that any field may hold a text; `checked_definition` makes a `Definition` of it."""
    tags: Tags = ()


def _one_dataset_or_several(options: Mapping[str, Any]) -> list[Problem]:
    keys = options["keys"]
    twice = isinstance(keys, list) and len({str(key) for key in keys}) < len(keys)
    return [(("keys",), "the same dataset is named twice")] if twice else []


@part(
    "The dataset of a task, or several side by side.",
    name="a task dataset",
    example="{key: countries}\n",
    one_of=(("key", "keys"),),
    check=_one_dataset_or_several,
)
class TaskDataset(Struct, frozen=True, kw_only=True):
    key: Annotated[ResultKey | None, Doc("The key of the dataset.")] = None
    keys: Annotated[
        Annotated[tuple[Annotated[str, ModelKey("")], ...], Meta(min_length=2)] | None,
        Doc("Several datasets, aligned by position: `sample.KEY.COLUMN`, or `sample.x.COLUMN` for `<< config.x >>`."),
    ] = None
    source: Annotated[
        Literal["dataset", "task_result"],
        Doc("`task_result`: the key is that of a run's result, or the name of its folder in `runs/`."),
    ] = "dataset"
    fast_subset_size: Annotated[Plain, Doc("Old; ignored.")] = None


@part(
    "The author's Python that splits an answer into parts before it is scored.",
    name="a postprocessor",
    example="""\
type: python
postprocess_snippet: |
  def postprocess(sample, solver_output):
      answers = str(solver_output.output).splitlines()
      return [({"target": target}, answer) for target, answer in zip(sample["targets"], answers, strict=True)]
""",
)
class PostprocessorEntry(TypedDict):
    """What stands between a solver and the scorers."""

    type: Annotated[Literal["python"], Doc("`python`"), Placeholders(whole=False)]
    postprocess_snippet: Annotated[
        str,
        PythonOption(
            "`postprocess(sample, solver_output)` returns a list of pairs (sample, solver output).",
            "postprocess",
            ("sample", "solver_output"),
        ),
    ]


class SolverEntry(Struct, frozen=True, kw_only=True):
    type: str
    message_format: str | None = None
    """Both views are always there; nothing depends on it."""
    options: Options


class MetricEntry(Struct, frozen=True, kw_only=True):
    type: str
    key: Annotated[UserKey | None, Doc("Unique within the scorer.")] = None
    options: Options = {}


class ScorerEntry(Struct, frozen=True, kw_only=True):
    type: str
    key: Annotated[UserKey | None, Doc("The scorer's name inside the task.")] = None
    purpose: Annotated[Literal["score", "qa"], Doc("`qa` feeds actions and evidence, not the metrics.")] = "score"
    metrics: Annotated[tuple[MetricEntry, ...] | None, Doc("What is computed over all samples.")] = None
    display_name: OtherName = None
    options: Options


@part(
    "What happens to samples that match a filter.",
    name="an action rule",
    example="""\
key: no-refusals
action: exclude_from_metrics
filter: {op: equals, expression: "{{ scores.kind.label }}", value: refusal}
""",
)
class ActionEntry(Struct, frozen=True, kw_only=True):
    key: Annotated[UserKey, Doc("The rule's name, as shown in reports.")]
    action: Annotated[Literal["exclude_from_metrics"], Doc("What happens to the samples that match.")]
    filter: Annotated[Options, Doc("Which samples; may read `sample`, `solver_output`, `scores.KEY.VALUE`.")]


def _k_where_it_belongs(options: Mapping[str, Any]) -> list[Problem]:
    counts = str(options["function"]).endswith("k")
    if counts and options["k"] is None:
        return [((), f"`{options['function']}` needs `k`, the number of attempts")]
    return [] if counts or options["k"] is None else [(("k",), f"`{options['function']}` has no `k`")]


@part(
    "A number of each sample, over the attempts at it.",
    name="a trial aggregator",
    example='{function: "pass^k", k: 3, score_name: "pass^3"}\n',
    check=_k_where_it_belongs,
)
class TrialAggregator(Struct, frozen=True, kw_only=True):
    function: Annotated[Literal["mean", "min", "max", "pass@k", "pass^k"], Doc("What is computed.")]
    k: Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Of so many attempts, for `pass@k` and `pass^k`.")] = None
    score_name: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Doc("What it is called; `pass^3`, or `mean_` and the score value, when absent."),
    ] = None


@part(
    "A number of each sample over its trials, which metrics read by its name.",
    name="a score aggregator",
    example='{score_name: is_correct, aggregator: {function: "pass^k", k: 3, score_name: "pass^3"}}\n',
)
class ScoreAggregator(Struct, frozen=True, kw_only=True):
    score_name: Annotated[str, Meta(min_length=1), Doc("The score value of each attempt.")]
    aggregator: Annotated[TrialAggregator, Doc("What is made of it.")]

    @property
    def name(self) -> str:
        own = self.aggregator
        if own.score_name is not None:
            return own.score_name
        return (
            own.function.replace("@k", f"@{own.k}").replace("^k", f"^{own.k}")
            if own.k
            else f"{own.function}_{self.score_name}"
        )


def _trials_problems(options: Mapping[str, Any]) -> list[Problem]:
    """No aggregator needs more attempts than are made, and no two have one name."""
    given = options["score_aggregators"]
    problems: list[Problem] = []
    names: set[str] = set()
    for at, each in enumerate(given if isinstance(given, list) else ()):
        place = ("score_aggregators", at, "aggregator")
        try:
            made = msgspec.convert(each, ScoreAggregator)
        except msgspec.ValidationError:  # a placeholder stands in it
            continue
        if made.name in names:
            problems.append((place, f"the name `{made.name}` is given twice; give each its `score_name`"))
        names.add(made.name)
        wanted, made_times = made.aggregator.k, options["num_trials"]
        if wanted is not None and isinstance(made_times, int) and wanted > made_times:
            problems.append(
                ((*place, "k"), f"`{made.name}` is over {wanted} attempts, and `num_trials` is {made_times}")
            )
    return problems


@part(
    "How often each sample is attempted; the leaderboard then has pass@k, pass^k and the consistency of answers.",
    name="trials",
    example="{num_trials: 5}\n",
    check=_trials_problems,
)
class Trials(Struct, frozen=True, kw_only=True):
    num_trials: Annotated[int, Meta(ge=2), Doc("Attempts at each sample.")]
    score_aggregators: Annotated[
        tuple[ScoreAggregator, ...] | None, Doc("Numbers of each sample over its trials, which metrics read.")
    ] = None


TrialsOption = Annotated[Trials | None, Doc("How often each sample is attempted.")]


@part(
    "Dataset, solver, scorers and actions of a task.",
    name="a benchmark_task definition",
    example="""\
type: benchmark_task
evaluated_entity_type: dataset
dataset: {key: people}
scorers:
  - {type: not_equals, value: "", text: "{{ sample.name }}"}
""",
)
class BenchmarkTask(Struct, frozen=True, kw_only=True, tag_field="type", tag="benchmark_task"):
    """What a task does, with every value known."""

    evaluated_entity_type: Annotated[Entity, Doc("What is evaluated.")] = "model"
    dataset: Annotated[
        TaskDataset | None,
        Doc("Where the samples come from; a task about datasets may leave it to `--dataset-key`."),
    ] = None
    solver: Annotated[SolverEntry | None, Doc("How the model is called; a task about datasets has none.")] = None
    scorers: Annotated[
        tuple[ScorerEntry, ...], Doc("How answers are scored; the first number is the task's score.")
    ] = ()
    actions: Annotated[tuple[ActionEntry, ...] | None, Doc("Rules that keep samples out of the numbers.")] = None
    trials: TrialsOption = None


@part(
    "Evidence computed without model or dataset.",
    name="a system_task definition",
    example="""\
type: system_task
compute_evidence_snippet: |
  import sys

  def compute_evidence():
      return {"metrics": {"supported": {"value": int(sys.version_info >= (3, 11)), "reason": sys.version}}}
""",
)
class SystemTask(Struct, frozen=True, kw_only=True, tag_field="type", tag="system_task"):
    compute_evidence_snippet: Annotated[
        str, PythonOption("Returns `{metrics: {name: {value, reason}}}`.", "compute_evidence", ())
    ]


Definition = BenchmarkTask | SystemTask


class OtherModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model behind a key, for models that a task calls in addition to the one it measures."""

    model: str
    options: Options
    generation: Options = {}


_ROW = ("sample", "index")


@part(
    "Columns by templates over the row so far.",
    example="""\
type: template
columns: {question: "What is {{ sample.a }} + {{ sample.b }}?"}
""",
)
class TemplateStep(Struct, frozen=True, kw_only=True, tag_field="type", tag="template"):
    columns: Annotated[
        dict[str, Annotated[str, TemplateOption("", _ROW)]], Meta(min_length=1), Doc("Each column with its template.")
    ]


@part(
    "Columns that `generate(sample, index, seed)` returns.",
    example="""\
type: python
generate_snippet: |
  def generate(sample, index, seed):
      return {"answer": sample["a"] + sample["b"]}
""",
)
class PythonStep(Struct, frozen=True, kw_only=True, tag_field="type", tag="python"):
    generate_snippet: Annotated[
        str, PythonOption("Returns a mapping of columns.", "generate", ("row", "index", "seed"), 0)
    ]


@part(
    "What a model writes.",
    example="""\
type: model
model_key: writer
user_prompt: "Write a question about {{ sample.topic }}."
column: question
""",
)
class ModelStep(Struct, frozen=True, kw_only=True, tag_field="type", tag="model"):
    model_key: Annotated[str, ModelKey("The key of the model that writes.")]
    system_prompt: Annotated[str | None, TemplateOption("Over the row so far.", _ROW)] = None
    user_prompt: Annotated[str, Meta(min_length=1), TemplateOption("Over the row so far.", _ROW)]
    column: Annotated[str, Meta(min_length=1), Doc("The column that holds the answer.")] = "output"
    json: Annotated[bool, Doc("The answer is a JSON object, whose fields are the columns.")] = False
    model: OtherModel | None = None
    """What is behind the key, in a recipe."""


GeneratorStep = Annotated[TemplateStep | PythonStep | ModelStep, Choice("generator step", "{} step")]
MAX_GENERATED_ROWS = 1_000_000


@part(
    "Rows made by templates, Python or a model, written to a file before anything is scored.",
    example="""\
type: generated
num_samples: 4
seed: 7
draw: {a: [1, 2, 3], b: [10, 20]}
steps:
  - {type: template, columns: {question: "What is {{ sample.a }} + {{ sample.b }}?"}}
""",
)
class GeneratedSource(Struct, frozen=True, kw_only=True):
    """The options of a `generated` source."""

    num_samples: Annotated[int, Meta(ge=1, le=MAX_GENERATED_ROWS), Doc("How many rows.")]
    seed: Annotated[int, Doc("Another seed is another dataset.")] = 0
    dataset_key: Annotated[str | None, ModelKey("Rows to begin with, in an order that the seed decides.")] = None
    draw: Annotated[
        dict[str, Annotated[list[Plain], Meta(min_length=1)]],
        Doc("Columns, each one of these values, chosen by the seed."),
    ] = {}
    steps: Annotated[list[GeneratorStep], Meta(min_length=1), Doc("What is done to each row, one after the other.")]


class SourceRows(Struct, frozen=True, kw_only=True):
    """How to read the rows that generated ones begin with."""

    use: str
    options: Options


class RowRecipe(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How rows are made, with everything known that a key only names."""

    num_samples: int
    seed: int
    draw: dict[str, list[Plain]]
    steps: list[GeneratorStep]
    rows: SourceRows | None = None


class SourceEntry(Struct, frozen=True, kw_only=True):
    """Where rows come from: a source that assay reads, or a dataset of an installed package or your own."""

    type: str
    options: Options


@part(
    "Where samples come from.",
    name="a dataset",
    example="""\
key: countries
display_name: Countries
source:
  type: inline
  samples:
    - {country: France, capital: Paris}
    - {country: Peru, capital: Lima}
""",
)
class DatasetEntry(Struct, frozen=True, kw_only=True):
    key: Annotated[str, ModelKey("The key that tasks use.")]
    display_name: Name
    description: Description = None
    long_description: LongDescription = None
    tags: Tags = ()
    source: Annotated[SourceEntry, Doc("Where the rows are."), InFiles(None)]
    file_path: Annotated[str | None, Doc("Old; use `source`.")] = None
    generator_specification: Annotated[None, Doc("Refused: write `source: {type: generated, …}`.")] = None


def dataset_record(checked: Options) -> DatasetEntry:
    """A checked dataset as its record: all fields of its source but the type become `options`."""
    source = checked["source"]
    assert isinstance(source, dict)  # noqa: S101 - a dataset without one is refused
    options = {name: value for name, value in source.items() if name != "type"}
    return record({**checked, "source": {"type": source["type"], "options": options}}, DatasetEntry)


T = TypeVar("T")


def record(checked: Plain, kind: type[T]) -> T:
    """A checked mapping as its record."""
    return msgspec.convert(checked, kind)


def without_nulls(options: Mapping[str, Any]) -> Options:
    """The options that have a value: what was left out is not part of a task's identity."""
    return {name: value for name, value in options.items() if value is not None}


def definition_record(checked: Options) -> Definition:
    """A checked definition as its record: fields that only one type of part has become its `options`."""
    if checked["type"] == "system_task":
        return record(checked, SystemTask)
    solver = checked["solver"]
    scorers: list[Plain] = []
    for scorer in mappings(checked["scorers"]):
        metrics: list[Plain] = [_with_options(metric, MetricEntry) for metric in mappings(scorer["metrics"])]
        given = scorer["metrics"] is not None
        scorers.append(_with_options({**scorer, "metrics": metrics if given else None}, ScorerEntry))
    made = _with_options(solver, SolverEntry) if isinstance(solver, dict) else None
    return record({**checked, "solver": made, "scorers": scorers}, BenchmarkTask)


def _with_options(part: Options, kind: type[Struct]) -> Options:
    own: Options = {name: value for name, value in part.items() if name not in kind.__struct_fields__}
    return {**part, "options": own}
