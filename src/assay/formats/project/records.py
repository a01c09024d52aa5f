"""What `assay.yaml` says, once it is checked: a record for each thing that can be written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from assay.formats.declarative.yaml_reader import Plain
from assay.part_options import Doc, Problem, part
from assay.solvers.conversation_options import GENERATION_DOC

Words = Annotated[str, Meta(min_length=1)]
Weight = Annotated[float, Doc("What it counts in the overall score, above 0; 1 where nothing is said.")]
Settings = Annotated[dict[str, Any], GENERATION_DOC]
Gates = Annotated[tuple[Words, ...], Doc("As after `--gate`.")]
Limit = Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Only the first samples of each task.")]
Repeat = Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Attempts at each sample.")]
Judge = Annotated[str | None, Doc("The model behind every judge key that nothing else describes.")]
Models = Annotated[
    str | list[Words] | None, Doc("The evaluated model, or several: aliases of `models`, or names as after `--model`.")
]
MAX_CELLS = 64
"""The cells that a matrix may have without saying so."""

_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d|w)\s*\Z")


def _limits(options: Mapping[str, Any]) -> list[Problem]:
    return [((), "sets no limit: give `rpm` or `concurrency`")] if set(options.values()) == {None} else []


@part("How fast a model may be called.", name="limits", example="{rpm: 600, concurrency: 16}\n", check=_limits)
class ModelLimits(Struct, frozen=True, kw_only=True):
    rpm: Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Requests per minute.")] = None
    concurrency: Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Requests at once.")] = None


@part("Money for a million tokens.", name="a price", example="{input: 0.15, output: 0.60}\n")
class ModelPrice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    input: Annotated[float, Meta(ge=0), Doc("Of prompts; 0 on a machine of your own.")]
    output: Annotated[float, Meta(ge=0), Doc("Of answers.")]
    cached_input: Annotated[
        Annotated[float, Meta(ge=0)] | None, Doc("Of prompt tokens that the server had in its cache.")
    ] = None


@part(
    "A model under a name of your own.",
    name="a model",
    example="""\
model: vllm:qwen-2.5
base_url: http://localhost:8000/v1
label: Qwen, ours
api_key: $OUR_KEY
settings: {temperature: 0}
limits: {rpm: 600, concurrency: 16}
price: {input: 0, output: 0}
""",
)
class ProjectModel(Struct, frozen=True, kw_only=True):
    model: Annotated[Words, Doc("As after `--model`, or another alias.")]
    label: Annotated[Words | None, Doc("What tables call it; the alias when absent.")] = None
    api_key: Annotated[Words | None, Doc("`$NAME` of the variable that holds the key.")] = None
    base_url: Annotated[Words | None, Doc("The server's address, or `$NAME` of the variable with the address.")] = None
    args: Annotated[dict[str, Any], Doc("What `--model-arg` takes.")] = {}
    settings: Settings = {}
    limits: Annotated[ModelLimits | None, Doc("How fast it may be called.")] = None
    price: Annotated[ModelPrice | None, Doc("What its tokens cost.")] = None


class TaskDefaults(Struct, frozen=True, kw_only=True):
    """What `defaults` and `folders` set."""

    tags: Annotated[tuple[Words, ...], Doc("Added to those of the task; `!x` takes `x` away.")] = ()
    owner: Annotated[Words | None, Doc("Who answers questions about the task.")] = None
    config: Annotated[dict[str, Any], Doc("Values of parameters, for the tasks that have them.")] = {}
    settings: Settings = {}
    repeat: Repeat = None
    limit: Limit = None
    timeout: Annotated[Annotated[float, Meta(gt=0)] | None, Doc("Seconds for one answer, and for scoring it.")] = None
    judge: Judge = None
    weight: Annotated[float | None, Doc("What a task counts in the overall score, above 0.")] = None


_ONE_SOURCE = ("path", "hub", "source")


@part(
    "A dataset that tasks name by its key.",
    name="a dataset of the project",
    example="{path: data/tickets.parquet}\n",
    one_of=(_ONE_SOURCE,),
)
class ProjectDataset(Struct, frozen=True, kw_only=True):
    path: Annotated[Words | None, Doc("A data file, relative to this file.")] = None
    hub: Annotated[Words | None, Doc("The name of a dataset on the Hugging Face hub.")] = None
    config: Annotated[Words | None, Doc("Which configuration of a hub dataset.")] = None
    split: Annotated[Words | None, Doc("Which split of a hub dataset.")] = None
    revision: Annotated[Words | None, Doc("Which commit, tag or branch of a hub dataset; `assay.lock` pins it.")] = None
    source: Annotated[Plain, Doc("The `source` of a dataset file, for anything else.")] = None


def _age(options: Mapping[str, Any]) -> list[Problem]:
    given = options["max_age"]
    if given is None or _AGE.match(given):
        return []
    return [(("max_age",), f"`{given}` is not an age: write a number and s, min, h, d or w, such as `14 d`")]


@part("What `--changed` may take from earlier runs.", name="reuse", example="{max_age: 14 d}\n", check=_age)
class Reuse(Struct, frozen=True, kw_only=True):
    max_age: Annotated[Words | None, Doc("How old a result may be, such as `14 d`.")] = None
    sampled: Annotated[bool, Doc("Also answers that were sampled at another temperature than 0.")] = False

    @property
    def max_age_seconds(self) -> float | None:
        match = None if self.max_age is None else _AGE.match(self.max_age)
        return None if match is None else float(match[1]) * _SECONDS[match[2]]


def _budget(options: Mapping[str, Any]) -> list[Problem]:
    return [((), "sets no budget: give `cost`, `tokens` or `minutes`")] if set(options.values()) == {None} else []


@part("What a suite may spend.", name="a budget", example="{cost: 0.50, minutes: 5}\n", check=_budget)
class SuiteBudget(Struct, frozen=True, kw_only=True):
    cost: Annotated[Annotated[float, Meta(gt=0)] | None, Doc("Money.")] = None
    tokens: Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Tokens in and out.")] = None
    minutes: Annotated[Annotated[float, Meta(gt=0)] | None, Doc("Time.")] = None


def _matrix(options: Mapping[str, Any]) -> list[Problem]:
    if options["matrix"] is None:
        return [((name,), "has no effect without `matrix`") for name in ("leave_out", "max_cells") if options[name]]
    known = "model, prompt, judge, dataset, config.KEY, settings.KEY"
    axes = options["matrix"]
    problems: list[Problem] = [
        (("matrix", axis), f"unknown axis; known: {known}") for axis in axes if not _is_axis(str(axis))
    ]
    for at, cell in enumerate(options["leave_out"]):
        for axis in cell:
            if axis not in axes:
                problems.append((("leave_out", at, axis), f"`{axis}` is no axis of the matrix: {', '.join(axes)}"))
    return problems


def _is_axis(axis: str) -> bool:
    kind, dot, key = axis.partition(".")
    return axis in ("model", "prompt", "judge", "dataset") or (kind in ("config", "settings") and bool(dot and key))


@part(
    "Tasks that are run together, and what must hold of them.",
    name="a suite",
    example="{select: [support], where: [smoke, '!slow'], limit: 20, budget: {cost: 0.50}}\n",
    check=_matrix,
)
class Suite(Struct, frozen=True, kw_only=True):
    select: Annotated[tuple[Words, ...], Meta(min_length=1), Doc("Tasks, folders, patterns, or suites as `@name`.")]
    where: Annotated[tuple[Words, ...], Doc("Each as after `-t`: all must hold.")] = ()
    description: Annotated[Words | None, Doc("What it is for.")] = None
    model: Models = None
    limit: Limit = None
    repeat: Repeat = None
    weights: Annotated[
        Literal["by_size"] | dict[str, float],
        Doc("What tasks count in the suite's score, by name or pattern; `by_size` pools all samples."),
    ] = {}
    gates: Gates = ()
    gate_left_out: Annotated[
        Literal["count", "ignore"], Doc("What gates make of samples that `limit` leaves out, as `--gate-left-out`.")
    ] = "count"
    budget: Annotated[SuiteBudget | None, Doc("What it may spend; the rest is then not run.")] = None
    matrix: Annotated[
        dict[str, Annotated[list[Plain], Meta(min_length=1)]] | None,
        Doc(
            "Each cell is a run: `model`, `prompt`, `judge`, `dataset`, `config.KEY`, `settings.KEY` with their values."
        ),
    ] = None
    leave_out: Annotated[tuple[dict[str, Plain], ...], Doc("Cells that are not run.")] = ()
    max_cells: Annotated[Annotated[int, Meta(ge=1)] | None, Doc(f"How many cells are meant, above {MAX_CELLS}.")] = None


@part(
    "The tasks of a project, their models, and what is run together.",
    name="the project file",
    example="""\
version: 1
name: shop-evals
model: prod
models:
  prod: openai:gpt-4o-mini
folders:
  "support/**": {owner: support, tags: [pii]}
suites:
  smoke: {select: ["*"], where: [smoke], limit: 20}
""",
)
class ProjectEntry(Struct, frozen=True, kw_only=True):
    version: Annotated[Literal[1], Doc("1.")]
    name: Annotated[Words | None, Doc("What reports call the project; its folder's name when absent.")] = None
    tasks: Annotated[tuple[Words, ...], Meta(min_length=1), Doc("Folders or patterns, searched recursively.")] = (
        "tasks",
    )
    exclude: Annotated[
        tuple[Words, ...], Doc("Files and folders that are left out; an explicit path still works.")
    ] = ()
    python: Annotated[tuple[Words, ...], Doc("Folders of modules that snippets and scorers may import.")] = ()
    baseline: Annotated[Words | None, Doc("A run folder, a leaderboard or a git ref: what gates compare with.")] = None
    model: Models = None
    judge: Judge = None
    models: Annotated[dict[str, Words | ProjectModel], Doc("Models by names of your own.")] = {}
    defaults: Annotated[TaskDefaults, Doc("For every task.")] = TaskDefaults()
    folders: Annotated[
        dict[str, TaskDefaults], Doc("For tasks by name or pattern, in this order: later ones win, tags add up.")
    ] = {}
    scorers: Annotated[Words | None, Doc("A file of scorers that tasks name by key.")] = None
    datasets: Annotated[dict[str, ProjectDataset], Doc("Datasets that tasks name by key.")] = {}
    gates: Annotated[tuple[Words, ...], Doc("Gates of every run, as after `--gate`.")] = ()
    reuse: Annotated[Reuse, Doc("What `--changed` may take from earlier runs.")] = Reuse()
    cache: Annotated[bool, Doc("Reuse answers of earlier runs, of models that cannot have changed.")] = False
    suites: Annotated[dict[str, Suite], Doc("Tasks that are run together: `assay run @NAME`.")] = {}
