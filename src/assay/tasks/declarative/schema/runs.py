"""Evaluations and run files: tasks, models and datasets that are run together."""

from __future__ import annotations

from assay.tasks.declarative.schema.datasets import DATASET
from assay.tasks.declarative.schema.fields import REFERENCED_KEY, USER_KEY, text, word
from assay.tasks.declarative.schema.models import ADAPTER
from assay.tasks.declarative.schema.parameters import CONFIG_PARAMETER
from assay.tasks.declarative.schema.tasks import TASK, TRIALS
from assay.tasks.declarative.shape import Anything, Either, Field, ListOf, MapOf, Number, Shaped, Tagged, Text

_SUBSAMPLING = Field(Text(words=("head", "random")), None, "The first samples, or a fixed random choice.")
_COUNT = Field(Number(whole=True, least=1), None, "How many samples; all when absent.")
TASK_SPECIFICATION = Shaped(
    "a task specification",
    "One task of an evaluation, with its configuration, model or dataset.",
    {
        "type": Field(Text(words=("standard",)), "standard"),
        "key": Field(USER_KEY, None),
        "task_key": Field(REFERENCED_KEY),
        "task_config": Field(MapOf(Anything()), {}),
        "model_key": Field(REFERENCED_KEY, None),
        "dataset_key": Field(REFERENCED_KEY, None),
        "num_samples": _COUNT,
        "subsampling": _SUBSAMPLING,
        "trials": TRIALS,
        "display_name": text(default=None),
    },
)
SPECIFICATIONS = ListOf(TASK_SPECIFICATION, least=1)
EVALUATION = Shaped(
    "an evaluation",
    "Tasks that are run together.",
    {
        "key": Field(USER_KEY),
        "display_name": text(min_length=1),
        "description": text(default=None),
        "long_description": text(default=None),
        "config_spec": Field(ListOf(CONFIG_PARAMETER), []),
        "task_specifications": Field(SPECIFICATIONS),
        "num_samples": _COUNT,
        "subsampling": _SUBSAMPLING,
        "cache_policy": Field(Text(words=("reuse", "update", "no-cache")), "reuse"),
        "tags": Field(ListOf(Text()), []),
        "mode": Field(Text(words=("debug", "full")), None, "Old: debug is 10 samples."),
    },
)
RUN_SETTINGS = Shaped(
    "run settings",
    "How much is run.",
    {
        "num_samples": _COUNT,
        "subsampling": _SUBSAMPLING,
        "cache_policy": Field(Text(words=("reuse", "update", "no-cache")), "reuse"),
        "trials_config": TRIALS,
    },
)
_RULE = Tagged(
    "policy rule",
    {
        "threshold": Shaped(
            "a threshold rule",
            "A number of the tasks in its scope must lie on the right side of a threshold.",
            {
                "type": word("threshold"),
                "metric": text("The name of the number.", min_length=1),
                "operator": Field(Text(words=(">", ">=", "=", "<", "<="))),
                "threshold": Field(Number()),
            },
        ),
        "exists": Shaped(
            "an exists rule",
            "A number must have been computed.",
            {"type": word("exists"), "metric": text("The name of the number.", min_length=1)},
        ),
    },
)
_SCOPE = Shaped(
    "a policy scope",
    "Which tasks a rule is about.",
    {
        "evaluation_keys": Field(ListOf(Text()), None),
        "task_specification_keys": Field(ListOf(Text()), None),
    },
)
POLICY = Shaped(
    "a policy",
    "What must hold of the numbers of a run: its rules are gates.",
    {
        "key": Field(USER_KEY),
        "display_name": text(min_length=1),
        "description": text(default=None),
        "long_description": text(default=None),
        "rules": Field(
            ListOf(
                Shaped(
                    "a policy's rule",
                    "One thing that must hold.",
                    {
                        "key": Field(USER_KEY),
                        "display_name": text(default=None),
                        "description": text(default=None),
                        "definition": Field(_RULE),
                        "scope": Field(Either(Text(words=("all_latest",)), _SCOPE), "all_latest"),
                    },
                ),
                least=1,
            )
        ),
    },
)
RUN_FILE = Shaped(
    "a run file",
    "Models, datasets and tasks with the evaluation that uses them.",
    {
        "secrets": Field(Anything(), None),
        "model_adapters": Field(ListOf(ADAPTER), [], "Templates for models of another shape."),
        "models": Field(
            ListOf(Anything()), [], "Model files, `$provider: openai/gpt-4.1-nano`, or names as after `--model`."
        ),
        "prompts": Field(
            ListOf(Text(min_length=1)),
            [],
            "Text files, each in turn the parameter `prompt` of the tasks, or their last user message.",
        ),
        "datasets": Field(ListOf(DATASET), []),
        "tasks": Field(ListOf(TASK), []),
        "evaluation": Field(EVALUATION, None, "What is run; every task, with every model, when absent."),
        "policies": Field(ListOf(POLICY), [], "Gates of the run."),
        "config": Field(MapOf(Anything()), {}),
        "run_config": Field(RUN_SETTINGS, None),
    },
)
