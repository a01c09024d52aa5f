"""Evaluations and run files: tasks, models and datasets that are run together."""

from __future__ import annotations

from assay.formats.declarative.from_annotations import object_of
from assay.formats.declarative.run_records import (
    EvaluationEntry,
    RepeatabilitySpecification,
    RunEntry,
    TaskSpecification,
)
from assay.formats.declarative.schema.datasets import DATASET
from assay.formats.declarative.schema.models import ADAPTER, ANY_MODEL
from assay.formats.declarative.schema.parameters import CONFIG_PARAMETER
from assay.formats.declarative.schema.tasks import TASK
from assay.formats.declarative.shape import ListOf, Tagged, Text, TextOr

SPECIFICATIONS = ListOf(
    Tagged(
        "task specification",
        {"standard": object_of(TaskSpecification), "repeatability": object_of(RepeatabilitySpecification)},
        default="standard",
    ),
    least=1,
)
EVALUATION = object_of(
    EvaluationEntry, shapes={"config_spec": ListOf(CONFIG_PARAMETER), "task_specifications": SPECIFICATIONS}
)
RUN_FILE = object_of(
    RunEntry,
    shapes={
        "model_adapters": ListOf(ADAPTER),
        "models": ListOf(TextOr(Text(min_length=1), ANY_MODEL)),
        "datasets": ListOf(DATASET),
        "tasks": ListOf(TASK),
        "evaluation": EVALUATION,
    },
)
