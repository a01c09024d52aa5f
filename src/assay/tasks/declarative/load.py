"""YAML files -> TaskDefinitions: a task file is one task, a run file one for every task specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.env_file import variables
from assay.tasks.declarative.config_spec import resolve_config, substitute, typed_config
from assay.tasks.declarative.definition import check_only, task_definition
from assay.tasks.declarative.library import Library, ModelSpec, model_spec, provider_key, provider_model
from assay.tasks.declarative.schema import (
    checked_dataset,
    checked_evaluation,
    checked_model,
    checked_run,
    checked_task,
    kind_of,
)
from assay.tasks.declarative.yaml_reader import Document, FieldPath, nearest, read_yaml
from assay.tasks.project import is_of_this_project, root_of
from assay.tasks.trust import untrusted


def read_yaml_tasks(
    path: Path,
    *,
    config: Mapping[str, Any] | None = None,
    trust: bool = False,
    models: Mapping[str, str] | None = None,
    dataset: str | None = None,
    allow_outside: bool = False,
    models_needed: bool = True,
    only_reads: bool = False,
) -> list[TaskDefinition]:
    """The tasks of a YAML file. `models` says what stands behind model keys, `dataset` what a dataset task is about.

    With `models_needed` false, where no model is going to be asked, a model key without a model is no error; with
    `only_reads` nobody else is asked for anything either, so a dataset of the hub has no size.

    Nothing is executed here; whether snippets may run is decided when they are to run (see `tasks/trust.py`). Variables
    are put in for a file of this project, or one that the user trusts; any other file keeps its `$NAME`s as they stand.
    """
    how: dict[str, Any] = {
        "config": config,
        "models": models,
        "dataset": dataset,
        "allow_outside": allow_outside,
        "models_needed": models_needed and not only_reads,
        "only_reads": only_reads,
    }
    if trust or (is_of_this_project(path) and not allow_outside):
        return _read_tasks(path, variables(), **how)
    # looked at first: neither a variable nor a server is asked before the user is
    definitions = _read_tasks(path, None, **{**how, "only_reads": True})
    asks = any(each.metadata.get("variables") or each.dataset.use == "hub" for each in definitions)
    if not asks or any(untrusted(each) for each in definitions):
        return definitions
    return _read_tasks(path, variables(), **how)


def _read_tasks(
    path: Path,
    environ: Mapping[str, str] | None,
    *,
    config: Mapping[str, Any] | None,
    models: Mapping[str, str] | None,
    dataset: str | None,
    allow_outside: bool,
    models_needed: bool,
    only_reads: bool,
) -> list[TaskDefinition]:
    document = read_yaml(path, allow_outside=allow_outside, environ=environ)
    library = Library(
        home=path.parent,
        root=root_of(path).resolve(),
        allow_outside=allow_outside,
        environ=environ,
        models={key: {"model": spec, "options": {}} for key, spec in (models or {}).items()},
        typed=frozenset(models or ()),
        models_needed=models_needed,
        only_reads=only_reads,
    )
    kind = kind_of(document.value)
    if kind == "run":
        return _run_file(document, library, config or {})
    if kind != "task":
        raise document.error((), f"this is a {kind} file; a run needs a task or a run file")
    task = checked_task(document, document.value)
    given = typed_config(config or {}, task["config_spec"])
    return [task_definition(document, (), task, library, config=given, dataset_key=dataset)]


def only_tasks(files: list[Path]) -> list[Path]:
    """The task files of a folder that also holds datasets, models and run files, which are named by their keys.

    A YAML file that cannot be read stays, so that its reader says what is wrong; a data file of a folder with YAML
    tasks is a dataset, not a task.
    """
    kinds: dict[Path, str] = {}
    for path in files:
        if path.suffix in (".yaml", ".yml"):
            try:
                kinds[path] = kind_of(read_yaml(path, environ=None).value)
            except UsageError:
                kinds[path] = "task"
    tasks = [path for path, kind in kinds.items() if kind == "task"]
    return tasks if tasks else [path for path in files if path not in kinds]


def check_yaml_file(path: Path, *, allow_outside: bool = False) -> tuple[str, int, list[str]]:
    """What the file is, how many tasks it holds, and its warnings; `UsageError` with everything that is wrong.

    A task is checked by itself, so the datasets and models it names need not be here; a run file is checked whole.
    """
    environ = variables() if is_of_this_project(path) else None
    document = read_yaml(path, allow_outside=allow_outside, environ=environ)
    kind = kind_of(document.value)
    if kind == "run":
        tasks = read_yaml_tasks(path, allow_outside=allow_outside, only_reads=True)
        return "run file", len(tasks), [text for each in tasks for text in each.metadata.get("warnings", [])]
    if kind == "task":
        check_only(document, (), document.value)
    else:
        check = {"dataset": checked_dataset, "model": checked_model, "evaluation": checked_evaluation}[kind]
        check(document, document.value)
    return f"{kind} file", int(kind == "task"), document.warnings


def _run_file(document: Document, library: Library, flags: Mapping[str, Any]) -> list[TaskDefinition]:
    run = checked_run(document)
    _collect(document, run, library)
    tasks = _tasks(document, run)
    run = {**run, "evaluation": _configured_evaluation(document, run, flags, library)}
    specifications = run["evaluation"]["task_specifications"]
    names = _names(document, specifications)
    return [
        _specified(
            document, ("evaluation", "task_specifications", at), spec, name=name, run=run, tasks=tasks, library=library
        )
        for at, (spec, name) in enumerate(zip(specifications, names, strict=True))
    ]


def _collect(document: Document, run: dict[str, Any], library: Library) -> None:
    """The run file's own models and datasets, by key. A key given on the command line stays."""
    for at, entry in enumerate(run["models"]):
        where: FieldPath = ("models", at)
        model = checked_model(document, entry, where)
        if "$provider" in model:
            key, provider, name = provider_key(model["$provider"])
            spec: ModelSpec = provider_model(document, where, provider, name)
        else:
            key, spec = model["key"], model_spec(document, where, model)
        library.models.setdefault(key, spec)
    for at, entry in enumerate(run["datasets"]):
        dataset = checked_dataset(document, entry, ("datasets", at))
        if dataset["key"] in library.datasets:
            raise document.error(("datasets", at, "key"), f"`{dataset['key']}` is given twice")
        library.datasets[dataset["key"]] = (document, ("datasets", at), dataset)


def _tasks(document: Document, run: dict[str, Any]) -> dict[str, tuple[FieldPath, dict[str, Any]]]:
    found: dict[str, tuple[FieldPath, dict[str, Any]]] = {}
    for at, entry in enumerate(run["tasks"]):
        task = checked_task(document, entry, ("tasks", at))
        if task["key"] in found:
            raise document.error(("tasks", at, "key"), f"`{task['key']}` is given twice")
        found[task["key"]] = (("tasks", at), task)
    return found


def _configured_evaluation(
    document: Document, run: dict[str, Any], flags: Mapping[str, Any], library: Library
) -> dict[str, Any]:
    """The evaluation with its own parameters put in: models and datasets of later run files."""
    evaluation: dict[str, Any] = run["evaluation"]
    given = {**run["config"], **typed_config(flags, evaluation["config_spec"])}
    config = resolve_config(evaluation["config_spec"], given, task=evaluation["key"], warnings=library.warnings)
    written = substitute(evaluation["task_specifications"], config, document, ("evaluation", "task_specifications"))
    settings = run["run_config"] or {}
    merged = {
        **evaluation,
        "task_specifications": written,
        **{name: value for name, value in settings.items() if value is not None},
    }
    return checked_evaluation(document, merged, ("evaluation",), placeholders=False)


def _names(document: Document, specifications: list[dict[str, Any]]) -> list[str]:
    """The keys of the specifications: given, else the task's, numbered when it occurs more than once."""
    times = Counter(spec["task_key"] for spec in specifications if spec["key"] is None)
    numbers: Counter[str] = Counter()
    names: list[str] = []
    for at, spec in enumerate(specifications):
        key, task = spec["key"], spec["task_key"]
        if key is None:
            numbers[task] += 1
            key = task if times[task] == 1 else f"{task}_{numbers[task]}"
        if key in names:
            raise document.error(("evaluation", "task_specifications", at), f"the key `{key}` is given twice")
        names.append(key)
    return names


def _specified(
    document: Document,
    where: FieldPath,
    spec: dict[str, Any],
    *,
    name: str,
    run: dict[str, Any],
    tasks: dict[str, tuple[FieldPath, dict[str, Any]]],
    library: Library,
) -> TaskDefinition:
    if spec["task_key"] not in tasks:
        raise document.error(
            (*where, "task_key"),
            f"there is no task `{spec['task_key']}` in this file. {nearest(spec['task_key'], tasks)}",
        )
    at, task = tasks[spec["task_key"]]
    _check_named(document, where, spec, task["definition"])
    evaluation = run["evaluation"]
    debug = 10 if evaluation["mode"] == "debug" else None
    definition = task_definition(
        document,
        at,
        task,
        library,
        config=spec["task_config"],
        name=name,
        dataset_key=spec["dataset_key"],
        num_samples=spec["num_samples"] or evaluation["num_samples"] or debug,
        subsampling=spec["subsampling"] or evaluation["subsampling"],
    )
    metadata = dict(definition.metadata)
    if spec["model_key"] is not None:
        metadata["model"] = {"key": spec["model_key"], **library.model(spec["model_key"])}
    if evaluation["cache_policy"] == "no-cache":
        metadata["cache"] = False
    return msgspec.structs.replace(definition, metadata=metadata)


def _check_named(document: Document, where: FieldPath, spec: dict[str, Any], definition: dict[str, Any]) -> None:
    """A model task names a model, a dataset task a dataset, a system task neither."""
    kind = "system" if definition["type"] == "system_task" else definition["evaluated_entity_type"]
    wanted = {"model": "model_key", "dataset": "dataset_key", "system": None}[kind]
    for name in ("model_key", "dataset_key"):
        if name == wanted and spec[name] is None and not (kind == "dataset" and definition["dataset"]):
            raise document.error(where, f"a task that evaluates a {kind} needs `{name}`")
        if name != wanted and spec[name] is not None:
            raise document.error((*where, name), f"a {kind} task takes no `{name}`")
