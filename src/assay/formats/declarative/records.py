"""What a declarative file says, once it is checked: a record for each thing that can be written.

A part that the catalog knows (a solver, a scorer, a metric) has the fields that every such part has, and `options` for
its own: the tables of `schema/` say what they may be, the part itself what they mean.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

from assay.formats.declarative.shape import mappings
from assay.formats.declarative.yaml_reader import Plain
from assay.part_options import Choice, Doc, InFiles, ModelKey, Placeholders, PythonOption, TemplateOption, part

Options = dict[str, Plain]
Name = Annotated[str, Meta(min_length=1), Doc("Display name.")]
OtherName = Annotated[str | None, Doc("Display name.")]
Description = Annotated[str | None, Doc("One or two sentences.")]
LongDescription = Annotated[str | None, Doc("Markdown.")]
Tags = Annotated[tuple[str, ...], Doc("Words to search by.")]


class Parameter(Struct, frozen=True, kw_only=True):
    """One entry of a `config_spec`."""

    type: str
    key: str
    default_value: Plain = None
    nullable: bool = False
    min: int | float | None = None
    max: int | float | None = None
    dtype: str = "string"
    """The kind of the items of a `list`."""
    value_dtype: str = "string"
    """The kind of the values of a `dict`."""
    allowed_values: tuple[str, ...] = ()
    multiple: bool = False


class TaskEntry(Struct, frozen=True, kw_only=True):
    """A task before it is configured."""

    key: str
    display_name: str
    description: str
    config_spec: tuple[Parameter, ...]
    tags: tuple[str, ...]
    definition: Options
    """With placeholders, so that any field may hold a text; `schema.checked_definition` makes a `Definition` of it."""


class TaskDataset(Struct, frozen=True, kw_only=True):
    key: str | None
    keys: tuple[str, ...] | None
    """Several, whose rows stand side by side."""
    source: Literal["dataset", "task_result"]
    """What the key names."""
    fast_subset_size: Plain = None


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
            "`postprocess(sample, solver_output)` returns a list of pairs (sample, solver output).", "postprocess"
        ),
    ]


class SolverEntry(Struct, frozen=True, kw_only=True):
    type: str
    message_format: str | None = None
    """Both views are always there; nothing depends on it."""
    options: Options


class MetricEntry(Struct, frozen=True, kw_only=True):
    type: str
    key: str | None = None
    options: Options = {}


class ScorerEntry(Struct, frozen=True, kw_only=True):
    type: str
    key: str | None
    purpose: Literal["score", "qa"]
    metrics: tuple[MetricEntry, ...] | None
    display_name: str | None
    options: Options


class ActionEntry(Struct, frozen=True, kw_only=True):
    key: str
    action: str
    filter: Options


class Trials(Struct, frozen=True, kw_only=True):
    """How often each sample is attempted."""

    num_trials: int


class BenchmarkTask(Struct, frozen=True, kw_only=True, tag_field="type", tag="benchmark_task"):
    """What a task does, with every value known."""

    evaluated_entity_type: Literal["model", "dataset"]
    dataset: TaskDataset | None
    solver: SolverEntry | None
    scorers: tuple[ScorerEntry, ...]
    actions: tuple[ActionEntry, ...] | None
    trials: Trials | None


class SystemTask(Struct, frozen=True, kw_only=True, tag_field="type", tag="system_task"):
    compute_evidence_snippet: str


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
    generate_snippet: Annotated[str, PythonOption("Returns a mapping of columns.", "generate")]


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


class AdapterCode(Struct, frozen=True, kw_only=True):
    source_code: str


class AdapterReference(Struct, frozen=True, kw_only=True):
    """The key of an adapter, or its templates."""

    key: str | None = None
    process_input: AdapterCode | None = None
    process_output: AdapterCode | None = None


class CustomInference(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="custom_inference"):
    adapter: AdapterReference | None
    run_inference_snippet: str
    environment: dict[str, str]
    timeout: int | float
    model_key: str | None


class CustomConnection(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="custom_connection"):
    adapter: AdapterReference | None
    url: str
    api_key: str | None
    model_key: str | None
    tls_context: Plain
    custom_headers: dict[str, str] | None


class ProviderConnection(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="provider_connection"):
    provider_id: str
    model_key: str
    api_key: str | None


class NamedModel(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="assay"):
    model: str
    options: Options


class ModelEntry(Struct, frozen=True, kw_only=True):
    key: str
    display_name: str
    rate_limit: int | None
    max_concurrent_requests: int | None
    cache: bool | None
    generation: Options | None
    config: CustomConnection | CustomInference | ProviderConnection | NamedModel


class ProvidedModel(Struct, frozen=True, kw_only=True, rename={"provider": "$provider"}):
    provider: str
    """`openai/gpt-4.1-nano`."""


class TaskSpecification(Struct, frozen=True, kw_only=True):
    key: str | None
    task_key: str
    task_config: Options
    model_key: str | None
    dataset_key: str | None
    num_samples: int | None
    subsampling: str | None
    trials: Trials | None


class EvaluationEntry(Struct, frozen=True, kw_only=True):
    key: str
    config_spec: tuple[Parameter, ...]
    task_specifications: Plain
    """With placeholders; `schema.checked_specifications` reads them."""
    num_samples: int | None
    subsampling: str | None
    cache_policy: str | None
    mode: str | None


class RunConfigEntry(Struct, frozen=True, kw_only=True):
    num_samples: int | None
    subsampling: str | None
    cache_policy: str | None
    trials_config: Trials | None


class PolicyScope(Struct, frozen=True, kw_only=True):
    evaluation_keys: list[str] | None = None
    task_specification_keys: list[str] | None = None
    scorer_keys: list[str] | None = None
    metric_keys: list[str] | None = None

    def holds(self, evaluation: str, specification: str) -> bool:
        """Whether a rule of this scope is about this task of this evaluation."""
        of_evaluation = self.evaluation_keys is None or evaluation in self.evaluation_keys
        return of_evaluation and (self.task_specification_keys is None or specification in self.task_specification_keys)


class ThresholdRule(Struct, frozen=True, kw_only=True, tag_field="type", tag="threshold"):
    metric: str
    operator: str
    threshold: int | float


class ExistsRule(Struct, frozen=True, kw_only=True, tag_field="type", tag="exists"):
    metric: str


class PolicyRule(Struct, frozen=True, kw_only=True):
    key: str
    definition: ThresholdRule | ExistsRule
    scope: PolicyScope | Literal["all_latest"]


class PolicyEntry(Struct, frozen=True, kw_only=True):
    key: str
    rules: tuple[PolicyRule, ...]


class RunEntry(Struct, frozen=True, kw_only=True):
    """A run file; its models, datasets and tasks are checked one by one."""

    model_adapters: list[Plain]
    models: list[Plain]
    datasets: list[Plain]
    tasks: list[Plain]
    prompts: list[str]
    evaluation: EvaluationEntry | None
    policies: tuple[PolicyEntry, ...]
    config: Options
    run_config: RunConfigEntry | None


T = TypeVar("T")


def record(checked: Plain, kind: type[T]) -> T:
    """A checked mapping as its record."""
    return msgspec.convert(checked, kind)


def without_nulls(options: Options) -> Options:
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
