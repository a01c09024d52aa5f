"""Tasks: dataset, solver, scorers and actions, and the rules between them."""

from __future__ import annotations

from typing import Any

from assay.tasks.declarative.schema.fields import REFERENCED_KEY, USER_KEY, text, word
from assay.tasks.declarative.schema.filters import ACTION
from assay.tasks.declarative.schema.parameters import CONFIG_PARAMETER
from assay.tasks.declarative.schema.scorers import SCORER
from assay.tasks.declarative.schema.solvers import LIKELIHOOD_SOLVERS, SOLVER
from assay.tasks.declarative.shape import Anything, Field, ListOf, Report, Shaped, Tagged, Text
from assay.tasks.declarative.yaml_reader import FieldPath

_ENTITY = Text(words=("dataset", "model"))


def _benchmark_rule(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    if result["evaluated_entity_type"] == "dataset":
        if result["solver"] is not None:
            report.wrong((*where, "solver"), "a task that evaluates a dataset has no `solver`")
    else:
        for name in ("dataset", "solver"):
            if result[name] is None:
                report.wrong(where, f"a task that evaluates models needs `{name}`")
    _likelihood_rule(result, where, report)
    _unique(result["scorers"], (*where, "scorers"), report)
    _unique(result["actions"] or [], (*where, "actions"), report)


def _likelihood_rule(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    """Solver and scorer of likelihoods go together."""
    solver = (result["solver"] or {}).get("type")
    for at, scorer in enumerate(result["scorers"]):
        for needed, kind in LIKELIHOOD_SOLVERS.items():
            if scorer["type"] == kind and solver != needed:
                report.wrong((*where, "scorers", at, "type"), f"a {kind} scorer needs the solver `{needed}`")
    if solver in LIKELIHOOD_SOLVERS and all(each["type"] != LIKELIHOOD_SOLVERS[solver] for each in result["scorers"]):
        report.wrong((*where, "scorers"), f"a {solver} needs a scorer of type `{LIKELIHOOD_SOLVERS[solver]}`")


def _unique(items: list[dict[str, Any]], where: FieldPath, report: Report) -> None:
    seen: set[str] = set()
    for at, item in enumerate(items):
        key = item.get("key")
        if key is not None and key in seen:
            report.wrong((*where, at, "key"), f"`{key}` is given twice")
        if key is not None:
            seen.add(key)


def _task_rule(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    _unique(result["config_spec"], (*where, "config_spec"), report)


BENCHMARK = Shaped(
    "a benchmark_task definition",
    "Dataset, solver, scorers and actions of a task.",
    {
        "type": Field(Text(words=("benchmark_task",)), "benchmark_task"),
        "evaluated_entity_type": Field(_ENTITY, "model", "What is evaluated."),
        "dataset": Field(
            Shaped(
                "a task dataset",
                "The dataset of a task.",
                {
                    "key": Field(REFERENCED_KEY, doc="The key of the dataset."),
                    "fast_subset_size": Field(Anything(), None, "Old; ignored."),
                },
            ),
            None,
        ),
        "solver": Field(SOLVER, None),
        "scorers": Field(ListOf(SCORER), []),
        "actions": Field(ListOf(ACTION), None),
    },
    _benchmark_rule,
)
SYSTEM = Shaped(
    "a system_task definition",
    "Evidence computed without model or dataset.",
    {"type": word("system_task"), "compute_evidence_snippet": text(min_length=1)},
)
TASK = Shaped(
    "a task",
    "One declarative task.",
    {
        "key": Field(USER_KEY, doc="The task's identity.", placeholder=False),
        "display_name": text("The name people see.", min_length=1),
        "description": text("One or two sentences."),
        "long_description": text("Markdown.", None),
        "tasks": Field(ListOf(Text(words=("chat_completion", "embeddings", "custom"))), []),
        "evaluated_entity_type": Field(_ENTITY, None, "Old place; belongs in `definition`."),
        "config_spec": Field(ListOf(CONFIG_PARAMETER), [], "The parameters of the task."),
        "definition": Field(
            Tagged(
                "task definition",
                {"benchmark_task": BENCHMARK, "system_task": SYSTEM},
                default="benchmark_task",
                aliases={"declarative_task": "benchmark_task"},
            )
        ),
        "tags": Field(ListOf(Text()), []),
    },
    _task_rule,
)
