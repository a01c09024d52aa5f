"""What a run file says: tasks, models and datasets that are run together, and what must hold of their numbers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from assay.formats.declarative.records import (
    Description,
    LongDescription,
    Name,
    Options,
    OtherName,
    Parameter,
    Tags,
    TrialsOption,
    UserKey,
)
from assay.formats.declarative.yaml_reader import Plain
from assay.part_options import Choice, Doc, ModelKey, PathOption, Placeholders, part

SampleCount = Annotated[Annotated[int, Meta(ge=1)] | None, Doc("How many samples; all when absent.")]
Subsampling = Annotated[Literal["head", "random"] | None, Doc("The first samples, or a fixed random choice.")]
CachePolicy = Literal["reuse", "update", "no-cache"] | None


@part(
    "How often the whole task is run, to see how steady its numbers are.",
    name="a repeatability",
    example="{num_runs: 3}\n",
)
class Repeatability(Struct, frozen=True, kw_only=True):
    num_runs: Annotated[int, Meta(ge=2), Doc("How many runs: attempts at each sample here, with their consistency.")]


@part(
    "One task of an evaluation, with its configuration, model or dataset.",
    name="a task specification",
    example="{task_key: sums, model_key: toy, task_config: {best: 5}}\n",
)
class TaskSpecification(Struct, frozen=True, kw_only=True):
    type: Annotated[Literal["standard"], Doc("Or `repeatability`.")] = "standard"
    key: Annotated[UserKey | None, Doc("The task's name in this run; that of the task when absent.")] = None
    task_key: Annotated[str, ModelKey("Which task of the file.")]
    task_config: Annotated[Options, Doc("Values of its parameters.")] = {}
    model_key: Annotated[str | None, ModelKey("The evaluated model.")] = None
    dataset_key: Annotated[str | None, ModelKey("The dataset that is evaluated, of a task that names none.")] = None
    num_samples: SampleCount = None
    subsampling: Subsampling = None
    trials: TrialsOption = None
    repeatability: Annotated[
        Repeatability | None, Doc("The whole task several times: as `trials` with so many attempts.")
    ] = None
    task_result_log_path: Annotated[
        str | None,
        PathOption(
            "A finished log of this task, whose answers are scored; no model is called.", "task_result_log_path"
        ),
    ] = None
    display_name: OtherName = None


@part(
    "Task specifications of an evaluation, which are to be run again.",
    name="a repeatability input",
    example="{evaluation_key: first-look, task_specification_key: sums}\n",
)
class RepeatabilityInput(Struct, frozen=True, kw_only=True):
    evaluation_key: Annotated[str, ModelKey("The evaluation: of this file, or of a run file next to it.")]
    task_specification_key: Annotated[str | None, ModelKey("One of its task specifications; all when absent.")] = None


@part(
    "Task specifications of an evaluation, run several times.",
    name="a repeatability specification",
    example="{type: repeatability, repeatability_config: {num_runs: 3}, inputs: [{evaluation_key: first-look}]}\n",
)
class RepeatabilitySpecification(Struct, frozen=True, kw_only=True):
    type: Annotated[Literal["repeatability"], Doc("Specifications, run several times.")] = "repeatability"
    key: Annotated[UserKey | None, Doc("The name of the task in this run, or what the names begin with.")] = None
    repeatability_config: Annotated[Repeatability, Doc("How often.")]
    inputs: Annotated[tuple[RepeatabilityInput, ...], Meta(min_length=1), Doc("What is run again.")]
    num_samples: SampleCount = None
    subsampling: Subsampling = None


@part(
    "Tasks that are run together.",
    name="an evaluation",
    example="""\
key: first-look
display_name: A first look
task_specifications:
  - {task_key: sums, model_key: toy, num_samples: 100}
""",
)
class EvaluationEntry(Struct, frozen=True, kw_only=True):
    key: Annotated[UserKey, Doc("The evaluation's identity.")]
    display_name: Name
    description: Description = None
    long_description: LongDescription = None
    config_spec: Annotated[
        tuple[Parameter, ...], Doc("Parameters, used as `<< config.… >>` in the specifications.")
    ] = ()
    task_specifications: Annotated[Any, Doc("What is run."), Placeholders(inside=True)]
    """With placeholders; `checked_specifications` reads them."""
    num_samples: SampleCount = None
    subsampling: Subsampling = None
    cache_policy: Annotated[
        CachePolicy,
        Doc(
            "`reuse` takes answers of earlier runs, `update` replaces them, `no-cache` does neither. "
            "Absent: as the command line says."
        ),
    ] = None
    tags: Tags = ()
    mode: Annotated[Literal["debug", "full"] | None, Doc("Deprecated: debug is 10 samples.")] = None


@part("How much is run.", name="run settings", example="{num_samples: 100, subsampling: random}\n")
class RunConfigEntry(Struct, frozen=True, kw_only=True):
    num_samples: SampleCount = None
    subsampling: Subsampling = None
    cache_policy: Annotated[CachePolicy, Doc("As for an evaluation, whose policy it replaces.")] = None
    trials_config: TrialsOption = None


@part(
    "Which tasks a rule is about, and which of their numbers.",
    name="a policy scope",
    example="{task_specification_keys: [sums]}\n",
)
class PolicyScope(Struct, frozen=True, kw_only=True):
    evaluation_keys: Annotated[list[str] | None, Doc("All evaluations when absent.")] = None
    task_specification_keys: Annotated[list[str] | None, Doc("All tasks when absent.")] = None
    scorer_keys: Annotated[list[str] | None, Doc("Numbers of these scorers; of all when absent.")] = None
    metric_keys: Annotated[list[str] | None, Doc("Numbers of the `metrics` with these keys; of all when absent.")] = (
        None
    )

    def holds(self, evaluation: str, specification: str) -> bool:
        """Whether a rule of this scope is about this task of this evaluation."""
        of_evaluation = self.evaluation_keys is None or evaluation in self.evaluation_keys
        return of_evaluation and (self.task_specification_keys is None or specification in self.task_specification_keys)


Metric = Annotated[str, Meta(min_length=1), Doc("The name of the number.")]


@part(
    "A number of the tasks in its scope must lie on the right side of a threshold.",
    example='metric: accuracy, operator: ">=", threshold: 0.7',
)
class ThresholdRule(Struct, frozen=True, kw_only=True, tag_field="type", tag="threshold"):
    metric: Metric
    operator: Annotated[Literal[">", ">=", "=", "<", "<="], Doc("How the number is compared.")]
    threshold: Annotated[int | float, Doc("What it is compared with.")]


@part("A number must have been computed.", example="metric: accuracy")
class ExistsRule(Struct, frozen=True, kw_only=True, tag_field="type", tag="exists"):
    metric: Metric


@part(
    "One thing that must hold.",
    name="a policy's rule",
    example="""\
key: accurate
definition: {type: threshold, metric: accuracy, operator: ">=", threshold: 0.7}
""",
)
class PolicyRule(Struct, frozen=True, kw_only=True):
    key: Annotated[UserKey, Doc("The rule's name.")]
    display_name: OtherName = None
    description: Description = None
    definition: Annotated[ThresholdRule | ExistsRule, Choice("policy rule", "{} rule"), Doc("What must hold.")]
    scope: Annotated[Literal["all_latest"] | PolicyScope, Doc("Of which tasks.")] = "all_latest"


@part(
    "What must hold of the numbers of a run: its rules are gates.",
    name="a policy",
    example="""\
key: quality
display_name: Quality
rules:
  - key: accurate
    definition: {type: threshold, metric: accuracy, operator: ">=", threshold: 0.7}
    scope: {task_specification_keys: [sums]}
""",
)
class PolicyEntry(Struct, frozen=True, kw_only=True):
    key: Annotated[UserKey, Doc("The policy's name, shown before its rules.")]
    display_name: Name
    description: Description = None
    long_description: LongDescription = None
    rules: Annotated[tuple[PolicyRule, ...], Meta(min_length=1), Doc("Each is a gate of the run.")]


@part(
    "Models, datasets and tasks with the evaluation that uses them.",
    name="a run file",
    example="""\
models: [toy]
tasks:
  - key: sums
    display_name: Sums
    description: Whether the model can add.
    definition:
      dataset: {key: sums}
      solver:
        type: single_turn_solver
        input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.sum }}"}]}
      scorers: [{type: exact_match, ground_truth: "{{ sample.total }}"}]
datasets:
  - {key: sums, display_name: Sums, source: {type: inline, samples: [{sum: "compute: 2 + 2", total: 4}]}}
evaluation:
  key: first-look
  display_name: A first look
  task_specifications: [{task_key: sums, model_key: toy}]
""",
)
class RunEntry(Struct, frozen=True, kw_only=True):
    """A run file; its models, datasets and tasks are checked one by one."""

    secrets: Annotated[Plain, Doc("Ignored: a key is named by its variable.")] = None
    model_adapters: Annotated[list[Plain], Doc("Templates for models of another shape.")] = []
    models: Annotated[
        list[Plain], Doc("Model files, `$provider: openai/gpt-4.1-nano`, or names as after `--model`.")
    ] = []
    prompts: Annotated[
        list[Annotated[str, Meta(min_length=1)]],
        Doc("Text files, each in turn the parameter `prompt` of the tasks, or their last user message."),
    ] = []
    datasets: Annotated[list[Plain], Doc("Datasets, or `$ref: FILE`; those in `datasets/` need not be named.")] = []
    tasks: Annotated[list[Plain], Doc("Tasks, or `$ref: FILE`.")] = []
    evaluation: Annotated[EvaluationEntry | None, Doc("What is run; every task, with every model, when absent.")] = None
    policies: Annotated[tuple[PolicyEntry, ...], Doc("Gates of the run.")] = ()
    dataset_generators: Annotated[Plain, Doc("Not used here, with a warning.")] = None
    config: Annotated[Options, Doc("Values of the evaluation's parameters.")] = {}
    run_config: Annotated[RunConfigEntry | None, Doc("How much is run.")] = None
