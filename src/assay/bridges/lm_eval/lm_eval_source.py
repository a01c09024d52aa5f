"""`lm-eval:NAME` -> task definitions: the files are inspected first, and built only if their code may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.bridges.lm_eval.lm_eval_process import LIBRARY
from assay.bridges.process.names import LM_EVAL
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.formats.task_source import SourceContext
from assay.task_records import GroupMetric, Provenance, TaskGroup, TaskLabels, TaskPlan
from assay.trust.consent import require_trust
from assay.trust.project import is_of_this_project

SCORER = "lm_eval"
SHARES = frozenset(
    ("acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em", "f1", "likelihood", "contains", "pass@1")
)
"""Metrics of lm_eval whose values lie in [0, 1]."""


class LmEvalOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tasks of lm_eval are set up; its own command has flags for the same."""

    chat_template: bool = False
    include_path: str | None = None


NO_OPTIONS = LmEvalOptions()
NO_CONTEXT = SourceContext()


class LmEvalSource:
    """The source of `lm-eval:NAME` and `lm-eval:NAME@FILE`."""

    Options = LmEvalOptions
    uses_shots = True
    uses_data = True

    def read(self, text: str, options: LmEvalOptions, context: SourceContext) -> list[TaskDefinition]:
        return read_lm_eval(text, options, context)

    def names(self, search: str, options: LmEvalOptions) -> dict[str, str]:
        """The tasks, groups and tags whose names contain the search text: name -> kind."""
        order: dict[str, Any] = {"search": search}
        if options.include_path is not None:
            order["include_path"] = options.include_path
        names: dict[str, str] = LIBRARY.ask("names", **order)["names"]
        if not names:
            raise UsageError(f"lm_eval has no task, group or tag whose name contains `{search}`")
        return names


def is_given(value: object) -> bool:
    """Whether a flag was given; zero few-shot examples is a valid request."""
    return value is not None and value is not False and value != {}


def read_lm_eval(
    source: str, options: LmEvalOptions = NO_OPTIONS, context: SourceContext = NO_CONTEXT
) -> list[TaskDefinition]:
    """The tasks behind a name; `UsageError` where their Python may not run.

    With `only_looks` nothing is built: one definition that shows what would run, and cannot be run itself.
    """
    name, at, file = source.removeprefix(LM_EVAL).partition("@")
    if not name:
        raise UsageError("name a task, group or tag of lm_eval: `lm-eval:piqa`; `assay list lm-eval` lists them")
    order = _order(name, file if at else None, options, context)
    seen = LIBRARY.ask("describe", **order)
    if seen["unsafe"]:
        raise UsageError(
            f"`{source}` executes the model's code in the process that scores it. assay does that only in its "
            "sandbox: `assay recipe humaneval` and `assay recipe mbpp` have the same problems"
        )
    looked_at = _looked_at(source, name, seen, order)
    if context.only_looks:
        return [looked_at]
    require_trust([looked_at], trust=context.trust)
    built = LIBRARY.ask("build", **order)
    return [_definition(task, built, looked_at, order) for task in built["tasks"]]


def _order(name: str, file: str | None, options: LmEvalOptions, context: SourceContext) -> dict[str, Any]:
    shots = context.shots
    order: dict[str, Any] = {
        "name": name,
        "num_fewshot": shots.count,
        "fewshot_as_turns": shots.as_turns,
        "chat_template": options.chat_template or shots.as_turns,
        "system": context.system,
        "include_path": options.include_path,
        "data": dict(context.data),
        "file": file,
    }
    for path in (options.include_path, file):
        if path is not None and not Path(path).exists():
            raise UsageError(f"{path}: no such file or folder")
    return {key: value for key, value in order.items() if is_given(value)}


def _looked_at(source: str, name: str, seen: Mapping[str, Any], order: Mapping[str, Any]) -> TaskDefinition:
    """The files behind a name as a definition that lists what would run or be read, before any of it runs."""
    files = [Path(each) for each in seen["files"]]
    package = Path(seen["package"])

    def is_own(file: str) -> bool:
        return bool(file) and not Path(file).is_relative_to(package) and is_of_this_project(Path(file))

    code = [shown for shown, file in seen["code"] if not is_own(file)]
    for each in files:
        # lm_eval renders templates without a sandbox, so those of an untrusted file are code too
        if each.suffix != ".py" and not each.is_relative_to(package) and not is_own(str(each)):
            code.append(f"{each}: its templates")
    return TaskDefinition(
        name=name,
        format="lm_eval",
        dataset=DatasetSpec(use="lm_eval"),
        solver=PartSpec(key="requests", use="lm_eval", options={}),
        scorers=(PartSpec(key=SCORER, use="lm_eval", options={"task": name, "library": dict(order), "code": code}),),
        aggregates=(),
        metric="",
        source=seen["main"] or source,
        provenance=Provenance(
            lists_code=True,
            files=tuple(str(each) for each in files if str(each) != seen["main"]),
            versions={"lm_eval": seen["version"]},
        ),
    )


def _definition(
    task: Mapping[str, Any], built: Mapping[str, Any], looked_at: TaskDefinition, order: Mapping[str, Any]
) -> TaskDefinition:
    name = str(task["name"])
    options = {**looked_at.scorers[0].options, "task": name}
    kind = task["output_type"]
    greedy = kind == "loglikelihood" or any(metric["metric"] == "exact_match" for metric in task["metrics"])
    if kind in ("loglikelihood", "multiple_choice") and greedy:
        options["asks_greedy"] = True
    metrics = task["metrics"]
    if not metrics:
        raise UsageError(f"`{LM_EVAL}{name}` reports no metric")
    return TaskDefinition(
        name=name,
        format="lm_eval",
        dataset=DatasetSpec(
            use="lm_eval",
            options={"path": task["path"], "size": task["size"], "sha256": task["sha256"]},
            sha256=task["sha256"],
            size=task["size"],
        ),
        solver=PartSpec(
            key="requests",
            use="lm_eval",
            options={"likelihoods": task["likelihoods"], **({"turns": True} if order.get("chat_template") else {})},
        ),
        scorers=(PartSpec(key=SCORER, use="lm_eval", options=options),),
        aggregates=tuple(_aggregates(name, metrics, order)),
        metric=_shown(metrics[0]),
        source=looked_at.source,
        provenance=msgspec.structs.replace(
            looked_at.provenance,
            versions={
                **looked_at.provenance.versions,
                "task": str(task["task_version"]),
                **({"data": str(task["revision"])} if task["revision"] else {}),
            },
            recorded={"num_fewshot": task["num_fewshot"]},
        ),
        plan=TaskPlan(system=order.get("system"), system_in_requests=True),
        shown=TaskLabels(groups=tuple(_groups(name, built["groups"]))),
    )


def _aggregates(name: str, metrics: Sequence[Mapping[str, Any]], order: Mapping[str, Any]) -> list[PartSpec]:
    """Means are our own `mean`, in the task's order; the other metrics share one part, the task's own aggregation."""
    means = [_shown(each) for each in metrics if each["mean"] and not each["own"]]
    others = [each for each in metrics if _shown(each) not in means]
    aggregates = []
    for each in metrics:
        shown = _shown(each)
        if shown in means:
            options: dict[str, Any] = {"scorer": SCORER, "field": shown, "name": shown, **_described(each)}
            aggregates.append(PartSpec(key=shown, use="mean", options=options))
        elif others and each is others[0]:
            options = {"scorer": SCORER, "task": name, "library": dict(order), "means": means, **_described(each)}
            aggregates.append(PartSpec(key=shown, use="lm_eval", options=options))
    return aggregates


def _described(metric: Mapping[str, Any]) -> dict[str, Any]:
    """What the library says of a metric: whether it is a share, and whether lower is better."""
    said: dict[str, Any] = {"bounds": [0.0, 1.0]} if metric["metric"] in SHARES else {}
    return said if metric["higher_is_better"] else {**said, "lower_is_better": True}


def _shown(metric: Mapping[str, Any]) -> str:
    """The name of a metric, as `worker.results.shown_name` writes it."""
    return metric["metric"] if metric["filter"] == "none" else f"{metric['metric']},{metric['filter']}"


def _groups(name: str, groups: Sequence[Mapping[str, Any]]) -> list[TaskGroup]:
    """The groups that a task is in, at any depth, and the means that each reports."""
    return [
        TaskGroup(name=group["name"], metrics=tuple(_group_metric(metric) for metric in group["metrics"]))
        for group in groups
        if name in group["tasks"] and group["metrics"]
    ]


def _group_metric(given: Mapping[str, Any]) -> GroupMetric:
    filters = given["filters"]
    return GroupMetric(
        metric=str(given["metric"]),
        filters=tuple(filters) if isinstance(filters, list) else None,
        weight_by_size=given["weight_by_size"],
    )
