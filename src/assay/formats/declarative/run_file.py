"""A run file -> its tasks: one for every task specification, model and prompt, with what the file brings along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from assay.catalog import models_named, solver_needs
from assay.formats.declarative.checked import (
    checked_adapter,
    checked_dataset,
    checked_model,
    checked_run,
    checked_specifications,
    checked_task,
    trial_names,
)
from assay.formats.declarative.config_spec import refuse_unknown, resolve_config, substitute, typed_config
from assay.formats.declarative.definition import placed_at, task_definition
from assay.formats.declarative.library import Library
from assay.formats.declarative.model_specs import model_spec
from assay.formats.declarative.places import Places
from assay.formats.declarative.policies import check_scopes, policy_rules
from assay.formats.declarative.prompt_texts import PromptText, prompt_texts, with_prompt
from assay.formats.declarative.recorded_results import with_recorded_answers
from assay.formats.declarative.records import Options, TaskEntry, Trials, without_nulls
from assay.formats.declarative.repeatability import (
    evaluations_near,
    has_repeatability,
    only,
    run_again,
    siblings_of,
)
from assay.formats.declarative.run_records import (
    EvaluationEntry,
    PolicyEntry,
    RepeatabilitySpecification,
    RunConfigEntry,
    RunEntry,
    TaskSpecification,
)
from assay.formats.declarative.shape import mappings
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain, hint_here, inside
from assay.formats.task_source import LoadedTask
from assay.task_records import Variant

PLACEHOLDER_MODEL = "latticeflow$placeholder"
"""The key of no model, where answers that were recorded are scored."""
_SPECIFICATIONS = ("evaluation", "task_specifications")
Tasks = Mapping[str, tuple[FieldPath, TaskEntry]]
"""The tasks of a run file by key, each with where it stands."""


def tasks_of_run(document: Document, library: Library, flags: Mapping[str, Plain]) -> list[LoadedTask]:
    """The tasks of a run file; `flags` are the parameters of the command line."""
    run = checked_run(document)
    if run.evaluation is not None and has_repeatability(document.value):
        return list(_with_repeated(document, run, run.evaluation, library, flags))
    if run.evaluation is None and not run.tasks:
        raise document.error((), "there is nothing to run: give `tasks`")
    keys = _collect(document, run, library)
    tasks = _tasks(document, run)
    judges = {key for _, task in tasks.values() for key in _models_asked_by(task.definition)}
    # the specifications of an evaluation name their models, unless there are several prompts
    models = [key for key in keys if key not in judges] if run.evaluation is None or run.prompts else []
    evaluation = run.evaluation or _all_of(document, tasks)
    specifications = [
        spec for spec in _configured(document, run, evaluation, flags, library) if isinstance(spec, TaskSpecification)
    ]
    names = _names(document, specifications)
    check_scopes(document, run.policies, evaluation.key, names)
    evaluation = _with_settings(evaluation, run.run_config)
    times = run.run_config.trials_config if run.run_config is not None else None
    names_models = any(key not in judges for key in keys)
    shared = _Shared(document, library, evaluation, tasks, times, run.policies, names_models)
    prompts = prompt_texts(document, ("prompts",), run.prompts, library.nearby)
    library.own_results = _results(specifications, names)
    _refuse_circles(document, specifications, names, tasks, library.own_results)
    return [
        _specified(shared, at, variant, name=name, prompt=prompt, matrix=matrix)
        for at, (spec, name) in enumerate(zip(specifications, names, strict=True))
        for variant, prompt, matrix in _variants(document, at, spec, tasks, models, prompts)
    ]


def _with_repeated(
    document: Document, run: RunEntry, evaluation: EvaluationEntry, library: Library, flags: Mapping[str, Plain]
) -> Iterator[LoadedTask]:
    """The tasks of a run file that has others run again: its own first."""
    beside = [file for path in siblings_of(document.path) if (file := library.nearby.read_beside(path)) is not None]
    near = evaluations_near(document, beside)
    specifications = list(enumerate(_configured(document, run, evaluation, flags, library)))
    own = [at for at, spec in specifications if isinstance(spec, TaskSpecification)]
    files = [only(document, own, {})] if own else []
    for at, spec in specifications:
        if isinstance(spec, RepeatabilitySpecification):
            files += run_again(document, (*_SPECIFICATIONS, at), spec, near)
    library.nearby.used.append(document.path)
    for file in files:
        yield from tasks_of_run(file, Library(library.nearby), flags)


def _results(specifications: Sequence[TaskSpecification], names: Sequence[str]) -> dict[str, str]:
    """The specifications by the names under which other tasks may read their results: their own, and that of their
    task where it is run once.
    """
    times = Counter(spec.task_key for spec in specifications)
    by_task = {
        spec.task_key: name for spec, name in zip(specifications, names, strict=True) if times[spec.task_key] == 1
    }
    return by_task | {name: name for name in names}


def _refuse_circles(
    document: Document,
    specifications: Sequence[TaskSpecification],
    names: Sequence[str],
    tasks: Tasks,
    results: Mapping[str, str],
) -> None:
    """A task cannot read its own result, however many tasks lie between."""
    read: dict[str, str] = {}
    for spec, name in zip(specifications, names, strict=True):
        dataset = tasks[spec.task_key][1].definition.get("dataset") if spec.task_key in tasks else None
        if isinstance(dataset, dict) and dataset.get("source") == "task_result" and dataset.get("key") in results:
            read[name] = results[str(dataset["key"])]
    for name in read:
        way, at = [name], read.get(name)
        while at is not None and at not in way:
            way.append(at)
            at = read.get(at)
        if at == name:
            where = (*tasks[specifications[names.index(name)].task_key][0], "definition", "dataset", "key")
            circle = " reads ".join(f"`{each}`" for each in (*way, name))
            raise document.error(where, f"the tasks read each other's results: {circle}")


def _models_asked_by(value: Plain) -> Iterator[str]:
    """The keys of judges and other models in a definition."""
    for at, item in inside(value):
        if keys := models_named(str(at[-1]), item):
            yield from keys
        else:
            yield from _models_asked_by(item)


def _variants(
    document: Document,
    at: int,
    spec: TaskSpecification,
    tasks: Tasks,
    models: Sequence[str],
    prompts: Sequence[PromptText],
) -> Iterator[tuple[TaskSpecification, PromptText | None, bool]]:
    """A task about models with each of the file's models and each of its prompts, unless it names its own.

    Each comes with whether it is one of several.
    """
    where = (*_SPECIFICATIONS, at)
    if spec.task_key not in tasks:
        raise document.error(
            (*where, "task_key"), f"there is no task `{spec.task_key}` in this file. {hint_here(spec.task_key, tasks)}"
        )
    if _evaluates(tasks[spec.task_key][1].definition) != "model":
        yield spec, None, False
        return
    keys = [spec.model_key] if spec.model_key is not None or not models else list(models)
    if "prompt" in spec.task_config:
        prompts = ()
    matrix = bool(prompts) or len(keys) > 1
    for key in keys:
        for prompt in prompts or (None,):
            yield msgspec.structs.replace(spec, model_key=key), prompt, matrix


def _all_of(document: Document, tasks: Tasks) -> EvaluationEntry:
    """The evaluation of a run file without one: every task."""
    written: list[Plain] = [{"task_key": key} for key in tasks]
    return EvaluationEntry(key="all", display_name="all", task_specifications=written)


def _collect(document: Document, run: RunEntry, library: Library) -> list[str]:
    """Add the run file's own adapters, models and datasets to the library; return the keys of its models.

    A model given on the command line stays.
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
        key, spec = model_spec(document, where, model, library.adapter)
        if isinstance(entry, str):  # it is called what it is
            key, spec = entry, msgspec.structs.replace(spec, label=None)
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


def _tasks(document: Document, run: RunEntry) -> Tasks:
    tasks: dict[str, tuple[FieldPath, TaskEntry]] = {}
    specifications = run.evaluation.task_specifications if run.evaluation is not None else None
    settings = document.value.get("run_config") if isinstance(document.value, dict) else None
    of_trials = [name for each in (*mappings(specifications), settings) for name in trial_names(each)]
    for at, entry in enumerate(run.tasks):
        task = checked_task(document, entry, ("tasks", at), of_trials=of_trials)
        if task.key in tasks:
            raise document.error(("tasks", at, "key"), f"`{task.key}` is given twice")
        tasks[task.key] = (("tasks", at), task)
    return tasks


def _configured(
    document: Document, run: RunEntry, evaluation: EvaluationEntry, flags: Mapping[str, Plain], library: Library
) -> Sequence[TaskSpecification | RepeatabilitySpecification]:
    """The task specifications with the evaluation's parameters filled in: models and datasets of later run files."""
    refuse_unknown(run.config, evaluation.config_spec, document, ("config",))
    given = {**run.config, **typed_config(flags, evaluation.config_spec)}
    config = resolve_config(evaluation.config_spec, given, task=evaluation.key, warnings=library.warnings)
    written = substitute(evaluation.task_specifications, config, document, _SPECIFICATIONS)
    return checked_specifications(document, written, _SPECIFICATIONS)


def _with_settings(evaluation: EvaluationEntry, settings: RunConfigEntry | None) -> EvaluationEntry:
    """The evaluation with the `run_config` of later run files, which takes precedence."""
    if settings is None:
        return evaluation
    given = without_nulls(msgspec.structs.asdict(settings))
    given.pop("trials_config", None)
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


class _Shared(NamedTuple):
    """What the task specifications of a run file have in common."""

    document: Document
    library: Library
    evaluation: EvaluationEntry
    tasks: Tasks
    trials: Trials | None
    policies: Sequence[PolicyEntry]
    names_models: bool
    """Whether it has models to evaluate; else they are those of the command."""


def _specified(
    shared: _Shared, at: int, spec: TaskSpecification, *, name: str, prompt: PromptText | None, matrix: bool
) -> LoadedTask:
    document, library, evaluation, tasks, trials, policies, names_models = shared
    where = (*_SPECIFICATIONS, at)
    task_at, task = tasks[spec.task_key]
    for_any_model = matrix or (_evaluates(task.definition) == "model" and not names_models)
    if spec.model_key is not None or not for_any_model:
        _check_named(document, where, spec, task.definition)
    prompt_file = None
    if prompt is not None:
        task, config, prompt_file = with_prompt(task, prompt)
        spec = msgspec.structs.replace(spec, task_config={**spec.task_config, **config})
    model = None
    if spec.model_key not in (None, PLACEHOLDER_MODEL):
        with placed_at(document, (*where, "model_key")):
            model = library.model(str(spec.model_key))
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
        trials=_attempts(document, where, spec, task, trials),
    )
    if spec.task_result_log_path is not None:
        log = library.nearby.path("file", document, (*where, "task_result_log_path"), spec.task_result_log_path)
        count = spec.num_samples or evaluation.num_samples or debug
        choice: Options = {} if count is None else {"num_samples": count, "subsampling": spec.subsampling or "head"}
        with placed_at(document, (*where, "task_result_log_path")):
            definition = with_recorded_answers(definition, log, choice)
        model = None
    if spec.model_key == PLACEHOLDER_MODEL and not solver_needs(definition.solver).replays:
        message = f"`{PLACEHOLDER_MODEL}` answers nothing: it is for tasks with a `pass_through_solver`"
        raise document.error((*where, "model_key"), message)
    plan = msgspec.structs.replace(
        definition.plan,
        model=model.asked_as(str(spec.model_key)) if model is not None else None,
        variant=Variant(model=spec.model_key, prompt=prompt.name if prompt is not None else None) if matrix else None,
        policies=tuple(policy_rules(policies, evaluation.key, name)),
        cache=evaluation.cache_policy,
    )
    return LoadedTask(
        msgspec.structs.replace(definition, plan=plan),
        Places(document, task_at, prompt_file),
        takes_judge=bool(library.judged_by_default),
    )


def _attempts(
    document: Document, where: FieldPath, spec: TaskSpecification, task: TaskEntry, trials: Trials | None
) -> Trials | None:
    """How often each sample is attempted: by the specification, else by the run's settings."""
    if spec.repeatability is None:
        given = spec.trials if spec.trials is not None else trials
        if given is not None and given.score_aggregators is None:
            place = (*where, "trials", "num_trials") if spec.trials is not None else ("run_config", "trials_config")
            _refuse_too_few(document, place, given.num_trials, task.definition.get("trials"))
        return given
    if spec.trials is not None or task.definition.get("trials") is not None:
        message = "the task has `trials` too, and runs of trials cannot be repeated here; keep one of the two"
        raise document.error((*where, "repeatability"), message)
    return Trials(num_trials=spec.repeatability.num_runs)


def _refuse_too_few(document: Document, where: FieldPath, attempts: int, of_task: Plain) -> None:
    """Fewer attempts than a number of the task is over: its file is right, and this one is not."""
    for each in mappings(of_task.get("score_aggregators")) if isinstance(of_task, dict) else ():
        aggregator = each.get("aggregator")
        k = aggregator.get("k") if isinstance(aggregator, dict) else None
        if isinstance(k, int) and k > attempts:
            raise document.error(where, f"the task has a number over {k} attempts, and these are {attempts}")


def _evaluates(definition: Options) -> str:
    """What the task is about: `model`, `dataset` or `system`."""
    return "system" if definition["type"] == "system_task" else str(definition["evaluated_entity_type"])


def _check_named(document: Document, where: FieldPath, spec: TaskSpecification, definition: Options) -> None:
    """A model task names a model, a dataset task a dataset, a system task neither."""
    kind = _evaluates(definition)
    wanted = {"model": "model_key", "dataset": "dataset_key"}.get(kind)
    for name, key in (("model_key", spec.model_key), ("dataset_key", spec.dataset_key)):
        if name == wanted and key is None and not (kind == "dataset" and definition["dataset"]):
            raise document.error(where, f"a task that evaluates a {kind} needs `{name}`")
        if name != wanted and key is not None:
            raise document.error((*where, name), f"a {kind} task takes no `{name}`")
