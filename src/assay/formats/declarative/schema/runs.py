"""Evaluations and run files: tasks, models and datasets that are run together."""

from __future__ import annotations

from assay.formats.declarative.from_annotations import REFERENCED_KEY, USER_KEY
from assay.formats.declarative.schema.datasets import DATASET
from assay.formats.declarative.schema.fields import (
    DESCRIPTION,
    LONG_DESCRIPTION,
    NAME,
    TAGS,
    kind,
    kinds,
    mapping,
    text,
)
from assay.formats.declarative.schema.models import ADAPTER, ANY_MODEL
from assay.formats.declarative.schema.parameters import CONFIG_PARAMETER
from assay.formats.declarative.schema.tasks import TASK, TRIALS
from assay.formats.declarative.shape import (
    Anything,
    Field,
    ListOf,
    MapOf,
    Number,
    OrMapping,
    Tagged,
    Text,
    TextOr,
)

_SUBSAMPLING = Field(Text(words=("head", "random")), None, "The first samples, or a fixed random choice.")
_POLICIES = Text(words=("reuse", "update", "no-cache"))
_CACHED = (
    "`reuse` takes answers of earlier runs, `update` replaces them, `no-cache` does neither. "
    "Absent: as the command line says."
)
_COUNT = Field(Number(whole=True, least=1), None, "How many samples; all when absent.")
TASK_SPECIFICATION = mapping(
    "a task specification",
    "One task of an evaluation, with its configuration, model or dataset.",
    type=Field(
        Text(
            words=("standard",),
            refused={
                "repeatability": "Give the task `trials: {num_trials: N}`: reports hold how consistent answers are."
            },
        ),
        "standard",
        "The only type here.",
    ),
    key=Field(USER_KEY, None, "The task's name in this run; that of the task when absent."),
    task_key=Field(REFERENCED_KEY, doc="Which task of the file."),
    task_config=Field(MapOf(Anything()), {}, "Values of its parameters."),
    model_key=Field(REFERENCED_KEY, None, "The evaluated model."),
    dataset_key=Field(REFERENCED_KEY, None, "The dataset that is evaluated, of a task that names none."),
    num_samples=_COUNT,
    subsampling=_SUBSAMPLING,
    trials=TRIALS,
    display_name=text("Display name.", None),
)
SPECIFICATIONS = ListOf(TASK_SPECIFICATION, least=1)
EVALUATION = mapping(
    "an evaluation",
    "Tasks that are run together.",
    key=Field(USER_KEY, doc="The evaluation's identity."),
    display_name=NAME,
    description=DESCRIPTION,
    long_description=LONG_DESCRIPTION,
    config_spec=Field(ListOf(CONFIG_PARAMETER), [], "Parameters, used as `<< config.… >>` in the specifications."),
    task_specifications=Field(SPECIFICATIONS, doc="What is run.", configured=True),
    num_samples=_COUNT,
    subsampling=_SUBSAMPLING,
    cache_policy=Field(_POLICIES, None, _CACHED),
    tags=TAGS,
    mode=Field(Text(words=("debug", "full")), None, "Deprecated: debug is 10 samples."),
)
RUN_SETTINGS = mapping(
    "run settings",
    "How much is run.",
    num_samples=_COUNT,
    subsampling=_SUBSAMPLING,
    cache_policy=Field(_POLICIES, None, "As for an evaluation, whose policy it replaces."),
    trials_config=TRIALS,
)
_RULE = Tagged(
    "policy rule",
    kinds(
        "{} rule",
        {
            "threshold": kind(
                "A number of the tasks in its scope must lie on the right side of a threshold.",
                operator=Field(Text(words=(">", ">=", "=", "<", "<=")), doc="How the number is compared."),
                threshold=Field(Number(), doc="What it is compared with."),
            ),
            "exists": kind("A number must have been computed."),
        },
        metric=text("The name of the number.", min_length=1),
    ),
)
_SCOPE = mapping(
    "a policy scope",
    "Which tasks a rule is about, and which of their numbers.",
    evaluation_keys=Field(ListOf(Text()), None, "All evaluations when absent."),
    task_specification_keys=Field(ListOf(Text()), None, "All tasks when absent."),
    scorer_keys=Field(ListOf(Text()), None, "Numbers of these scorers; of all when absent."),
    metric_keys=Field(ListOf(Text()), None, "Numbers of the `metrics` with these keys; of all when absent."),
)
POLICY = mapping(
    "a policy",
    "What must hold of the numbers of a run: its rules are gates.",
    key=Field(USER_KEY, doc="The policy's name, shown before its rules."),
    display_name=NAME,
    description=DESCRIPTION,
    long_description=LONG_DESCRIPTION,
    rules=Field(
        ListOf(
            mapping(
                "a policy's rule",
                "One thing that must hold.",
                key=Field(USER_KEY, doc="The rule's name."),
                display_name=text("Display name.", None),
                description=DESCRIPTION,
                definition=Field(_RULE, doc="What must hold."),
                scope=Field(OrMapping(Text(words=("all_latest",)), _SCOPE), "all_latest", "Of which tasks."),
            ),
            least=1,
        ),
        doc="Each is a gate of the run.",
    ),
)
RUN_FILE = mapping(
    "a run file",
    "Models, datasets and tasks with the evaluation that uses them.",
    secrets=Field(Anything(), None, "Ignored: a key is named by its variable."),
    model_adapters=Field(ListOf(ADAPTER), [], "Templates for models of another shape."),
    models=Field(
        ListOf(TextOr(Text(min_length=1), ANY_MODEL)),
        [],
        "Model files, `$provider: openai/gpt-4.1-nano`, or names as after `--model`.",
    ),
    prompts=Field(
        ListOf(Text(min_length=1)),
        [],
        "Text files, each in turn the parameter `prompt` of the tasks, or their last user message.",
    ),
    datasets=Field(ListOf(DATASET), [], "Datasets, or `$ref: FILE`; those in `datasets/` need not be named."),
    tasks=Field(ListOf(TASK), [], "Tasks, or `$ref: FILE`."),
    evaluation=Field(EVALUATION, None, "What is run; every task, with every model, when absent."),
    policies=Field(ListOf(POLICY), [], "Gates of the run."),
    dataset_generators=Field(Anything(), None, "Not used here, with a warning."),
    config=Field(MapOf(Anything()), {}, "Values of the evaluation's parameters."),
    run_config=Field(RUN_SETTINGS, None, "How much is run."),
)
