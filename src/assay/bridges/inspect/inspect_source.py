"""`inspect:PACKAGE/TASK` and `inspect:FILE.py@TASK` -> a task definition: inspected first, built if it may run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.bridges.inspect.inspect_process import LIBRARY
from assay.bridges.process.names import INSPECT
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.formats.models_by_key import grader_behind
from assay.formats.task_source import NoOptions, SourceContext
from assay.task_records import Provenance, TaskPlan
from assay.trust.consent import require_trust
from assay.trust.project import is_of_this_project

GRADER = "grader"


class InspectSource:
    """The source of `inspect:PACKAGE/TASK` and `inspect:FILE.py@TASK`."""

    Options = NoOptions
    uses_data = True
    uses_config = True

    def read(self, text: str, options: NoOptions, context: SourceContext) -> list[TaskDefinition]:
        definition = read_inspect(
            text,
            arguments=context.config,
            data=context.data,
            models=context.models,
            judge=context.judge,
            trust=context.trust,
            only_looks=context.only_looks,
        )
        return [definition]

    def names(self, search: str, options: NoOptions) -> dict[str, str]:
        """The tasks of installed packages whose names contain the search text: name -> summary."""
        names: dict[str, str] = LIBRARY.ask("names", search=search)["names"]
        if not names:
            condition = f" whose name holds `{search}`" if search else ""
            raise UsageError(f"no installed package has an Inspect task{condition}; inspect_evals has many")
        return names


def read_inspect(
    source: str,
    *,
    arguments: Mapping[str, Any] | None = None,
    data: Mapping[str, str] | None = None,
    models: Mapping[str, str] | None = None,
    judge: str | None = None,
    trust: bool = False,
    only_looks: bool = False,
) -> TaskDefinition:
    """The task behind a name; `UsageError` where its Python may not run, or where it needs what is not supported.

    `arguments` are parameters of its function (`--config`), `data` files in place of the hub's, `models` has the
    grader, or else it is the `judge`. With `only_looks` nothing is built: the definition shows what would run, and
    cannot be run itself.
    """
    order = _order(source, arguments or {}, data or {})
    seen = LIBRARY.ask("describe", **order)
    looked_at = _looked_at(source, seen, order)
    if only_looks:
        return looked_at
    require_trust([looked_at], trust=trust)
    return _definition(LIBRARY.ask("build", **order), looked_at, {} if models is None else models, judge)


def _order(source: str, arguments: Mapping[str, Any], data: Mapping[str, str]) -> dict[str, Any]:
    named = source.removeprefix(INSPECT)
    order: dict[str, Any] = {"name": named}
    if ".py@" in named:
        file, _, name = named.rpartition("@")
        if not Path(file).is_file():
            raise UsageError(f"{file}: no such file")
        order = {"name": name, "file": file}
    if not order["name"]:
        raise UsageError(f"name an Inspect task: `{INSPECT}PACKAGE/TASK`; `assay list inspect` lists them")
    if arguments:
        order["arguments"] = {name: str(value) for name, value in arguments.items()}
    return order | ({"data": dict(data)} if data else {})


def _looked_at(source: str, seen: Mapping[str, Any], order: Mapping[str, Any]) -> TaskDefinition:
    """The files behind a name as a definition that lists what would run, before any of it runs."""
    main = str(seen["main"])
    is_own = "file" in order and is_of_this_project(Path(main))
    code = [] if is_own else [seen["code"]]
    return TaskDefinition(
        name=str(order["name"]).rpartition("/")[2],
        format="inspect",
        dataset=DatasetSpec(use="built"),
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=(PartSpec(key="inspect", use="inspect", options={"library": dict(order), "code": code}),),
        aggregates=(),
        metric="",
        source=main,
        provenance=Provenance(
            lists_code=True,
            config=dict(order.get("arguments") or {}),
            files=tuple(file for file in seen["files"] if file != main),
            versions={"inspect_ai": seen["version"]},
        ),
    )


def _definition(
    built: Mapping[str, Any], looked_at: TaskDefinition, models: Mapping[str, str], judge: str | None
) -> TaskDefinition:
    scorers = []
    means = []
    plan = TaskPlan(trials=built["epochs"] if built["epochs"] > 1 else None)
    versions = {**looked_at.provenance.versions, "task": built["task_version"]}
    for place, each in enumerate(built["scorers"]):
        key = each["name"]
        options = {**looked_at.scorers[0].options, "scorer": place}
        if each["graded"]:
            grader = grader_behind(GRADER, models, judge)
            options |= {"model_key": GRADER, **({"model": {"model": grader}} if grader else {})}
            plan = msgspec.structs.replace(plan, **_grading(looked_at, grader))
        scorers.append(PartSpec(key=key, use="inspect", options=options))
        # one mean under the scorer's name, as in a run read from Inspect's log, whatever the metric's own name
        means.append(PartSpec(key=key, use="mean", options={"scorer": key, "field": "score", "name": key}))
    return TaskDefinition(
        name=built["name"],
        format="inspect",
        dataset=DatasetSpec(
            use="built",
            options={"path": built["path"], "size": built["size"], "sha256": built["sha256"]},
            sha256=built["sha256"],
            size=built["size"],
        ),
        solver=looked_at.solver,
        scorers=tuple(scorers),
        aggregates=tuple(means),
        metric=means[0].key,
        source=looked_at.source,
        plan=plan,
        provenance=msgspec.structs.replace(looked_at.provenance, versions=versions),
    )


def _grading(looked_at: TaskDefinition, grader: str | None) -> dict[str, Any]:
    """The grader must be named: Inspect itself would default to the evaluated model."""
    if grader is not None:
        return {"typed_models": (GRADER,)}
    return {"refused": f"task `{looked_at.name}`: its scorer calls a model: name it with --model-for {GRADER}=MODEL"}
