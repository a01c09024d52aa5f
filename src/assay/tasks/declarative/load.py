"""YAML files -> TaskDefinitions: a task file is one task, a run file one for every task specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec

from assay.catalog import OTHER_MODELS
from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.core.types import DatasetSpec, TaskDefinition
from assay.costs.budget import SpendingLimits
from assay.datasets.content import is_elsewhere
from assay.env_file import variables
from assay.tasks.declarative.config_spec import resolve_config, substitute, typed_config
from assay.tasks.declarative.definition import awaits_dataset, check_only, task_definition, unresolved
from assay.tasks.declarative.library import DATA_ENDINGS, Library, ModelSpec, NoDatasetError
from assay.tasks.declarative.places import Places
from assay.tasks.declarative.records import (
    EvaluationEntry,
    Options,
    PolicyEntry,
    RunEntry,
    RunSettings,
    TaskEntry,
    TaskSpecification,
    ThresholdRule,
)
from assay.tasks.declarative.schema import (
    checked_adapter,
    checked_dataset,
    checked_evaluation,
    checked_model,
    checked_run,
    checked_specifications,
    checked_task,
    kind_of,
    other_kind,
)
from assay.tasks.declarative.shape import mappings
from assay.tasks.declarative.yaml_reader import Document, FieldPath, PlacedError, Plain, hint_here, read_yaml
from assay.tasks.project import is_of_this_project, root_of
from assay.tasks.trust import untrusted

YAML = (".yaml", ".yml")
_SPECIFICATIONS = ("evaluation", "task_specifications")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """What the caller says about a file, and what may be asked for it."""

    config: Mapping[str, Plain] = field(default_factory=dict)
    trust: bool = False
    models: Mapping[str, str] = field(default_factory=dict)
    """What stands behind model keys."""
    dataset: str | None = None
    """What a dataset task is about."""
    replaces_dataset: bool = True
    """Whether it takes the place of the dataset that a task names; else it is for tasks that name none."""
    allow_outside: bool = False
    models_needed: bool = True
    """False where no model is going to be asked: a model key without a model is then no error."""
    only_reads: bool = False
    """Nobody else is asked for anything either, so a dataset of the hub has no size."""
    may_ask: bool = True
    """Whether models may be asked to write datasets."""
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    """What they may be paid for it."""


def read_yaml_tasks(path: Path, **how: Any) -> list[TaskDefinition]:
    """The tasks of a YAML file; `how` are the fields of `ReadingOptions`.

    Nothing is executed here; whether snippets may run is decided when they are to run (see `tasks/trust.py`). Variables
    are put in for a file of this project, or one that the user trusts; any other file keeps its `$NAME`s as they stand.
    """
    return [task.definition for task in read_located_tasks(path, ReadingOptions(**how))]


class LocatedTask(NamedTuple):
    """A task, and where its fields stand."""

    definition: TaskDefinition
    places: Places
    takes_dataset: bool = False
    """Whether the dataset that the caller named is its own."""


def read_located_tasks(path: Path, how: ReadingOptions) -> list[LocatedTask]:
    """The same, with the places of their fields."""
    how = replace(how, models_needed=how.models_needed and not how.only_reads)
    if how.trust or (is_of_this_project(path) and not how.allow_outside):
        return _read_tasks(path, variables(), how)
    # looked at first: neither a variable nor a server is asked before the user is
    located = _read_tasks(path, None, replace(how, only_reads=True))
    definitions = [task.definition for task in located]
    asks = any(each.metadata.get("variables") or is_elsewhere(each.dataset) for each in definitions)
    if not asks or any(untrusted(each) for each in definitions):
        return located
    return _read_tasks(path, variables(), how)


def _read_tasks(path: Path, environ: Mapping[str, str] | None, reading: ReadingOptions) -> list[LocatedTask]:
    document = read_yaml(path, allow_outside=reading.allow_outside, environ=environ)
    library = Library(
        home=path.parent,
        root=root_of(path).resolve(),
        allow_outside=reading.allow_outside,
        environ=environ,
        models={key: ModelSpec(model=model, options={}) for key, model in reading.models.items()},
        typed=frozenset(reading.models),
        models_needed=reading.models_needed,
        only_reads=reading.only_reads,
        may_ask=reading.may_ask,
        limits=reading.limits,
    )
    kind = kind_of(document.value)
    if kind == "run":
        return _run_file(document, library, reading.config)
    if kind != "task":
        raise document.error((), f"this is a {kind} file; a run needs a task or a run file")
    task = _task_of(document, library)
    given = typed_config(reading.config, task.config_spec)
    dataset = reading.dataset if reading.replaces_dataset or awaits_dataset(task) else None
    definition = task_definition(document, (), task, library, config=given, dataset_key=dataset)
    return [LocatedTask(definition, Places(document, ()), takes_dataset=dataset is not None)]


def _task_of(document: Document, library: Library) -> TaskEntry:
    """The task of a file; what is wrong with it comes with what is wrong with the files that it names."""
    try:
        return checked_task(document, document.value)
    except PlacedError as error:
        value = document.value.get("definition") if isinstance(document.value, dict) else None
        raise PlacedError("\n".join([str(error), *unresolved(document, ("definition",), value, library)])) from error


def only_tasks(files: list[Path]) -> list[Path]:
    """The task files of a folder that also holds datasets, models and run files, which are named by their keys.

    A YAML file that cannot be read stays, so that its reader says what is wrong; a data file of a folder with YAML
    tasks is a dataset, not a task.
    """
    kinds: dict[Path, str] = {}
    for path in files:
        if path.suffix in YAML:
            try:
                value = read_yaml(path, environ=None).value
                kinds[path] = other_kind(value) or kind_of(value)
            except UsageError:
                kinds[path] = "task"
    tasks = [path for path, kind in kinds.items() if kind == "task"]
    return tasks if tasks else [path for path in files if path not in kinds]


def read_dataset(what: str, *, allow_outside: bool = False) -> tuple[str, DatasetSpec] | None:
    """A dataset by its file, YAML or data, or by its key in the folders around; None when it is none of these.

    Nobody else is asked for anything, and no code but ours runs.
    """
    path = Path(what)
    home = path.parent if path.is_file() else Path()
    environ = variables() if path.is_file() and is_of_this_project(path) and not allow_outside else None
    library = Library(home=home, root=root_of(path if path.is_file() else Path()).resolve(), environ=environ)
    library.allow_outside, library.only_reads = allow_outside, True
    if path.suffix in YAML and path.is_file():
        document = read_yaml(path, allow_outside=allow_outside, environ=environ)
        if kind_of(document.value) != "dataset":
            return None
        dataset = checked_dataset(document, document.value)
        library.datasets[dataset.key] = (document, (), dataset)
        return dataset.key, library.dataset(dataset.key)
    if path.is_file():
        return (path.stem, library.dataset(what)) if _holds_rows(path) else None
    try:
        return what, library.dataset(what)
    except NoDatasetError:
        return None


def _holds_rows(path: Path) -> bool:
    """Whether a data file is a table, or JSON lines that are no task's."""
    if path.suffix != ".jsonl":
        return path.suffix in DATA_ENDINGS
    with open_regular(path) as file:
        first = file.readline(1 << 16)
    return b'"prompt"' not in first and b'"task_id"' not in first


def files_named_by_key(folder: Path) -> list[Path]:
    """The model and dataset files of a folder's tasks, which a task names by key."""
    places = [folder / "models", folder / "datasets"]
    return [path for place in places if place.is_dir() for path in sorted(place.iterdir()) if path.suffix in YAML]


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
    if other := other_kind(document.value):
        return f"file with {other}, which is not read by itself", 0, []
    if kind == "task":
        check_only(document, (), document.value)
    elif kind == "dataset":
        checked_dataset(document, document.value)
    elif kind == "model":
        checked_model(document, document.value)
    elif kind == "model_adapter":
        checked_adapter(document, document.value)
    else:
        checked_evaluation(document, document.value)
    return f"{kind} file", int(kind == "task"), document.warnings


def _run_file(document: Document, library: Library, flags: Mapping[str, Plain]) -> list[LocatedTask]:
    run = checked_run(document)
    keys = _collect(document, run, library)
    tasks = _tasks(document, run)
    judges = {key for _, task in tasks.values() for key in _models_asked_by(task.definition)}
    # the specifications of an evaluation name their models, unless they are to be asked with several prompts
    models = [key for key in keys if key not in judges] if run.evaluation is None or run.prompts else []
    evaluation = run.evaluation or _all_of(document, tasks)
    specifications = _configured(document, run, evaluation, flags, library)
    names = _names(document, specifications)
    evaluation = _with_settings(evaluation, run.run_config)
    times = run.run_config.trials_config if run.run_config is not None else None
    shared: _Shared = {
        "evaluation": evaluation,
        "tasks": tasks,
        "library": library,
        "trials": None if times is None else times.num_trials,
        "policies": run.policies,
    }
    prompts = _prompts(document, run, library)
    return [
        _specified(document, at, one, name=name, prompt=prompt, matrix=matrix, **shared)
        for at, (spec, name) in enumerate(zip(specifications, names, strict=True))
        for one, prompt, matrix in _variants(document, at, spec, tasks, models, prompts)
    ]


def _models_asked_by(value: Plain) -> Iterator[str]:
    """The keys of judges and other models in a definition."""
    if isinstance(value, list):
        for item in value:
            yield from _models_asked_by(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in OTHER_MODELS and isinstance(item, str):
                yield item
            else:
                yield from _models_asked_by(item)


class _Prompt(NamedTuple):
    """One of a run file's prompts."""

    name: str
    text: str
    where: FieldPath


def _prompts(document: Document, run: RunEntry, library: Library) -> list[_Prompt]:
    """Each is called by its file, without the ending where that is enough to tell them apart."""
    if twice := [named for named, times in Counter(run.prompts).items() if times > 1]:
        raise document.error(("prompts",), f"`{twice[0]}` is given twice")
    stems = Counter(Path(named).stem for named in run.prompts)
    found: list[_Prompt] = []
    for at, named in enumerate(run.prompts):
        text = library.text_file(document, ("prompts", at), named)
        stem = Path(named).stem
        found.append(_Prompt(stem if stems[stem] == 1 else named, text, ("prompts", at)))
    return found


def _variants(
    document: Document,
    at: int,
    spec: TaskSpecification,
    tasks: Mapping[str, tuple[FieldPath, TaskEntry]],
    models: Sequence[str],
    prompts: Sequence[_Prompt],
) -> Iterator[tuple[TaskSpecification, _Prompt | None, bool]]:
    """A task about models with each of the file's models, unless it names one, and with each of its prompts.

    Whether it is one of several comes with it.
    """
    where = (*_SPECIFICATIONS, at)
    if spec.task_key not in tasks:
        raise document.error(
            (*where, "task_key"), f"there is no task `{spec.task_key}` in this file. {hint_here(spec.task_key, tasks)}"
        )
    definition = tasks[spec.task_key][1].definition
    about_models = definition["type"] != "system_task" and definition["evaluated_entity_type"] == "model"
    if not about_models:
        yield spec, None, False
        return
    keys = [spec.model_key] if spec.model_key is not None or not models else list(models)
    matrix = bool(prompts) or len(keys) > 1
    asked_with: Sequence[_Prompt | None] = prompts or (None,)
    for key in keys:
        for prompt in asked_with:
            yield msgspec.structs.replace(spec, model_key=key), prompt, matrix


def _all_of(document: Document, tasks: Mapping[str, tuple[FieldPath, TaskEntry]]) -> EvaluationEntry:
    """The evaluation of a run file without one: every task."""
    if not tasks:
        raise document.error((), "there is nothing to run: give `tasks`")
    written: list[Plain] = [{"task_key": key} for key in tasks]
    return EvaluationEntry(
        key="all", config_spec=(), task_specifications=written, num_samples=None, subsampling=None,
        cache_policy="reuse", mode=None,
    )  # fmt: skip


def _collect(document: Document, run: RunEntry, library: Library) -> list[str]:
    """The run file's own adapters, models and datasets, by key; the keys of its models. One given on the command line
    stays.
    """
    for at, entry in enumerate(run.model_adapters):
        adapter = checked_adapter(document, entry, ("model_adapters", at))
        if adapter.key is not None:
            library.adapters[adapter.key] = adapter
    keys: list[str] = []
    for at, entry in enumerate(run.models):
        where: FieldPath = ("models", at)
        named: Plain = {"key": "named", "display_name": "named", "config": {"connection_type": "assay", "model": entry}}
        model = checked_model(document, named if isinstance(entry, str) else entry, where)
        key, spec = library.model_spec(document, where, model)
        key = entry if isinstance(entry, str) else key
        if key in keys:
            raise document.error((*where, "key"), f"`{key}` is given twice")
        keys.append(key)
        library.models.setdefault(key, spec)
    for at, entry in enumerate(run.datasets):
        dataset = checked_dataset(document, entry, ("datasets", at))
        if dataset.key in library.datasets:
            raise document.error(("datasets", at, "key"), f"`{dataset.key}` is given twice")
        library.datasets[dataset.key] = (document, ("datasets", at), dataset)
    return keys


def _tasks(document: Document, run: RunEntry) -> dict[str, tuple[FieldPath, TaskEntry]]:
    found: dict[str, tuple[FieldPath, TaskEntry]] = {}
    for at, entry in enumerate(run.tasks):
        task = checked_task(document, entry, ("tasks", at))
        if task.key in found:
            raise document.error(("tasks", at, "key"), f"`{task.key}` is given twice")
        found[task.key] = (("tasks", at), task)
    return found


def _configured(
    document: Document, run: RunEntry, evaluation: EvaluationEntry, flags: Mapping[str, Plain], library: Library
) -> Sequence[TaskSpecification]:
    """The task specifications with the evaluation's parameters put in: models and datasets of later run files."""
    given = {**run.config, **typed_config(flags, evaluation.config_spec)}
    config = resolve_config(evaluation.config_spec, given, task=evaluation.key, warnings=library.warnings)
    written = substitute(evaluation.task_specifications, config, document, _SPECIFICATIONS)
    return checked_specifications(document, written, _SPECIFICATIONS)


def _with_settings(evaluation: EvaluationEntry, settings: RunSettings | None) -> EvaluationEntry:
    """The `run_config` of later run files, which wins over the evaluation."""
    if settings is None:
        return evaluation
    known = EvaluationEntry.__struct_fields__
    said = msgspec.structs.asdict(settings).items()
    given = {name: value for name, value in said if value is not None and name in known}
    return msgspec.structs.replace(evaluation, **given)


def _names(document: Document, specifications: Sequence[TaskSpecification]) -> list[str]:
    """The keys of the specifications: given, else the task's, numbered when it occurs more than once."""
    times = Counter(spec.task_key for spec in specifications if spec.key is None)
    numbers: Counter[str] = Counter()
    names: list[str] = []
    for at, spec in enumerate(specifications):
        key, task = spec.key, spec.task_key
        if key is None:
            numbers[task] += 1
            key = task if times[task] == 1 else f"{task}_{numbers[task]}"
        if key in names:
            raise document.error((*_SPECIFICATIONS, at), f"the key `{key}` is given twice")
        names.append(key)
    return names


class _Shared(TypedDict):
    """What the task specifications of a run file have in common."""

    evaluation: EvaluationEntry
    tasks: Mapping[str, tuple[FieldPath, TaskEntry]]
    library: Library
    trials: int | None
    policies: Sequence[PolicyEntry]


def _policy_rules(policies: Sequence[PolicyEntry], evaluation: str, name: str) -> list[Options]:
    """The rules of policies that are about this task, as its gates are made of them (see `runs/gates.py`)."""
    found: list[Options] = []
    for policy in policies:
        for rule in policy.rules:
            if rule.scope != "all_latest" and not rule.scope.holds(evaluation, name):
                continue
            limits: Options = {}
            if isinstance(rule.definition, ThresholdRule):
                operator = "==" if rule.definition.operator == "=" else rule.definition.operator
                limits = {"operator": operator, "threshold": rule.definition.threshold}
            found.append({"rule": f"{policy.key}.{rule.key}", "metric": rule.definition.metric, **limits})
    return found


def _specified(
    document: Document,
    at: int,
    spec: TaskSpecification,
    *,
    name: str,
    prompt: _Prompt | None,
    matrix: bool,
    evaluation: EvaluationEntry,
    tasks: Mapping[str, tuple[FieldPath, TaskEntry]],
    library: Library,
    trials: int | None,
    policies: Sequence[PolicyEntry],
) -> LocatedTask:
    where = (*_SPECIFICATIONS, at)
    task_at, task = tasks[spec.task_key]
    if not (matrix and spec.model_key is None):  # several prompts may be for whatever model is asked
        _check_named(document, where, spec, task.definition)
    if prompt is not None:
        spec, task = _with_prompt(document, spec, task, prompt)
    debug = 10 if evaluation.mode == "debug" else None
    definition = task_definition(
        document,
        task_at,
        task,
        library,
        config=spec.task_config,
        config_at=(*where, "task_config"),
        name=name,
        dataset_key=spec.dataset_key,
        num_samples=spec.num_samples or evaluation.num_samples or debug,
        subsampling=spec.subsampling or evaluation.subsampling,
        trials=spec.trials.num_trials if spec.trials is not None else trials,
    )
    metadata = dict(definition.metadata)
    if spec.model_key is not None:
        metadata["model"] = {"key": spec.model_key, **library.model(spec.model_key).plain()}
    if matrix:
        metadata["variant"] = {"model": spec.model_key, **({} if prompt is None else {"prompt": prompt.name})}
    if rules := _policy_rules(policies, evaluation.key, name):
        metadata["policies"] = rules
    if evaluation.cache_policy == "no-cache":
        metadata["cache"] = False
    return LocatedTask(msgspec.structs.replace(definition, metadata=metadata), Places(document, task_at))


def _with_prompt(
    document: Document, spec: TaskSpecification, task: TaskEntry, prompt: _Prompt
) -> tuple[TaskSpecification, TaskEntry]:
    """The task asked with this prompt: its parameter `prompt`, or else the last thing that the user says."""
    if any(parameter.key == "prompt" for parameter in task.config_spec):
        config = {**spec.task_config, "prompt": prompt.text}
        return msgspec.structs.replace(spec, task_config=config), task
    solver = task.definition["solver"]
    builder = solver.get("input_builder") if isinstance(solver, dict) else None
    messages = mappings(builder.get("input_messages")) if isinstance(builder, dict) else []
    last = next((at for at in reversed(range(len(messages))) if messages[at].get("role") == "user"), None)
    if not isinstance(solver, dict) or not isinstance(builder, dict) or last is None:
        raise document.error(
            prompt.where,
            f"the task `{task.key}` has no place for a prompt: give it a parameter `prompt`, used as "
            "`<< config.prompt >>`, or a single_turn_solver whose `input_messages` end with a user's",
        )
    said: list[Plain] = [*messages[:last], {**messages[last], "content": prompt.text}, *messages[last + 1 :]]
    asked: Options = {**solver, "input_builder": {**builder, "input_messages": said}}
    return spec, msgspec.structs.replace(task, definition={**task.definition, "solver": asked})


def _check_named(document: Document, where: FieldPath, spec: TaskSpecification, definition: Options) -> None:
    """A model task names a model, a dataset task a dataset, a system task neither."""
    kind = "system" if definition["type"] == "system_task" else str(definition["evaluated_entity_type"])
    wanted = {"model": "model_key", "dataset": "dataset_key"}.get(kind)
    for name, key in (("model_key", spec.model_key), ("dataset_key", spec.dataset_key)):
        if name == wanted and key is None and not (kind == "dataset" and definition["dataset"]):
            raise document.error(where, f"a task that evaluates a {kind} needs `{name}`")
        if name != wanted and key is not None:
            raise document.error((*where, name), f"a {kind} task takes no `{name}`")
