"""Evaluations and run files: tasks, models and datasets that are run together."""

from __future__ import annotations

from assay.tasks.declarative.schema.datasets import DATASET
from assay.tasks.declarative.schema.fields import REFERENCED_KEY, USER_KEY, text
from assay.tasks.declarative.schema.parameters import CONFIG_PARAMETER
from assay.tasks.declarative.schema.tasks import TASK
from assay.tasks.declarative.shape import Anything, Field, ListOf, MapOf, Number, Shaped, Text

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
        "display_name": text(default=None),
    },
)
EVALUATION = Shaped(
    "an evaluation",
    "Tasks that are run together.",
    {
        "key": Field(USER_KEY),
        "display_name": text(min_length=1),
        "description": text(default=None),
        "long_description": text(default=None),
        "config_spec": Field(ListOf(CONFIG_PARAMETER), []),
        "task_specifications": Field(ListOf(TASK_SPECIFICATION, least=1)),
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
    },
)
RUN_FILE = Shaped(
    "a run file",
    "Models, datasets and tasks with the evaluation that uses them.",
    {
        "secrets": Field(Anything(), None),
        "models": Field(ListOf(Anything()), [], "Model files, or `$provider: openai/gpt-4.1-nano`."),
        "datasets": Field(ListOf(DATASET), []),
        "tasks": Field(ListOf(TASK), []),
        "evaluation": Field(EVALUATION),
        "config": Field(MapOf(Anything()), {}),
        "run_config": Field(RUN_SETTINGS, None),
    },
)
