"""Which runs a request amounts to: tasks read with their run files and `.env`, settings completed, one run per model.

The command line and Python both come through here, so that they do the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import msgspec

from assay import catalog
from assay.catalog import dataset_info, resolve, solver_needs, unknown_name
from assay.core.describe import Whole
from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.seams import Model
from assay.core.task import task_fingerprint
from assay.core.types import DatasetSpec, TaskDefinition
from assay.costs.budget import SpendingLimits
from assay.datasets.content import awaited, content_hash, is_elsewhere
from assay.formats.project.discovery import current_project, project_file
from assay.models.model_names import check_options
from assay.reading import env_file
from assay.results.query.syntax import is_like
from assay.run_config import RunConfig
from assay.run_settings import RunSettings
from assay.runs.chosen_models import ChosenModel, as_models, chosen_models
from assay.runs.model_kinds import other_kinds
from assay.setting import AppliesTo, problems_of, settings_of
from assay.tasks.built_tasks import build_dataset
from assay.tasks.descriptions import runs_programs
from assay.tasks.load import load_tasks
from assay.tasks.task_settings import TaskSettings
from assay.text.redaction import cut_keys
from assay.trust.consent import untrusted

CACHE_VARIABLE = "ASSAY_CACHE_ANSWERS"
"""In the environment: 1 makes `--cache` the default of a project."""


class PlannedRun(NamedTuple):
    """The tasks of one run and all its settings."""

    definitions: list[TaskDefinition]
    config: RunConfig
    model: object | None = None
    """An object of the user's, in place of the model that the config names."""
    given: object | None = None
    """That object as it was passed."""
    key: str | None = None
    """Which of the several models of a file answers."""
    after: str | None = None
    """The task of another run whose result its tasks read."""


class TaskFiles(NamedTuple):
    """The requested tasks, and the notes of their readers."""

    definitions: list[TaskDefinition]
    warnings: list[str]


class RunKeywords(TypedDict, total=False):
    """The fields of `RunSettings`, for type checkers and editors, which cannot derive them.

    Without a `concurrency` it adapts to the server.
    """

    model_options: dict[str, Any]
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    stop: tuple[str, ...] | None
    seed: int | None
    logprobs: int | None
    reasoning_effort: str | None
    system: str | None
    prefill: str | None
    keep_thinking: bool
    repeat: int
    limit: int | None
    only: dict[str, tuple[str, ...]] | None
    task_config: dict[str, Any]
    canary: bool
    too_long: Literal["fail", "cut-left"] | None
    concurrency: int | None
    adaptive: bool
    batch_size: int
    timeout_seconds: float | None
    retries: int
    judge_retries: int
    patience_seconds: float
    requests_per_minute: float | None
    tokens_per_minute: float | None
    score_workers: int | None
    cache: bool | None
    cache_by_default: bool
    cache_reads: bool
    cache_path: str
    level: float
    budget_cost: float | None
    budget_tokens: int | None
    budget_minutes: float | None
    prices: str | None
    group_by: str | None
    by: tuple[str, ...]
    tag: str | None
    include_per_example: bool
    allow_bad_tasks: bool
    allow_broken_tests: bool
    min_sandbox: str | None
    sandbox: str | None
    trust: bool


def make_config(
    *,
    concurrency: int | None = None,
    score_workers: int | None = None,
    called: Callable[[str], str] = str,
    **settings: Any,
) -> RunConfig:
    """The settings of a run by their names, those left out as `assay run` has them.

    Without a `concurrency` servers get as many requests at once as they turn out to take; without `score_workers`
    scorers move to processes of their own where it pays. `called` is what messages call a setting.
    """
    known = ["model", *RunSettings.__struct_fields__]
    for name in settings:
        if name not in known:
            raise UsageError(unknown_name("setting of a run", name, known))
    given = {"adaptive": concurrency is None, "score_workers": score_workers, **settings}
    if concurrency is not None:
        given["concurrency"] = concurrency
    try:
        config = msgspec.convert(given, RunConfig)
    except msgspec.ValidationError as error:
        raise UsageError(f"a setting of the run is not what it must be: {error}") from error
    check_settings(config, called)
    return config


def check_settings(config: RunConfig, called: Callable[[str], str] = str) -> None:
    """Refuse values that no run can be made with."""
    for problem in problems_of(config, called):
        raise UsageError(problem)
    for name, value in config.task_config.items():
        if isinstance(value, str) and cut_keys(value) != value:
            raise UsageError(
                f"{called('task_config')} {name}: the value looks like a key, and a run keeps these values in clear; "
                "put it into a variable of the environment, and name that in a model file"
            )
    if config.min_sandbox is not None:
        from assay.sandbox.tiers import STRONGEST_FIRST

        if config.min_sandbox.upper() not in STRONGEST_FIRST:
            known = ", ".join(sorted(STRONGEST_FIRST))
            raise UsageError(f"{called('min_sandbox')} must be one of {known}, got {config.min_sandbox}")
    if config.sandbox is not None:
        resolve("sandbox", config.sandbox, own_code=True)


def read_tasks(
    sources: Sequence[str],
    config: RunConfig,
    *,
    evaluated: object = None,
    generative: bool = False,
    may_call_models: bool = True,
    locked: bool = False,
    cell: Mapping[str, Any] | None = None,
    **reading: Unpack[TaskSettings],
) -> TaskFiles:
    """The tasks of files, folders and built-in names, for a run with this config.

    `evaluated` are the evaluated models; `generative` lets the model write the letter where a task needs likelihoods;
    `may_call_models` is whether models may already be called, to write datasets; `locked` whether a dataset that
    `assay.lock` lacks is refused; `cell` is how a cell of a matrix reads them.
    """
    names = [model.name for model in chosen_models(evaluated) or () if model.name is not None]
    definitions = load_tasks(
        sources,
        allow_bad=config.allow_bad_tasks,
        leave_out_broken=config.allow_bad_tasks,
        config=config.task_config,
        trust=config.trust,
        evaluated=names,
        may_call_models=may_call_models,
        limits=SpendingLimits.of(config),
        system=config.system,
        **{**reading, **(cell or {})},
    )
    if generative:
        from assay.formats.likelihood_words import generative_variant

        written = [generative_variant(definition) for definition in definitions]
        if all(new is old for new, old in zip(written, definitions, strict=True)):
            raise UsageError("--generative: no task here asks for the likelihood of choices; leave it out")
        definitions = written
    notes = [*env_file.ignored_here(), *warnings_of(definitions, config.task_config), *other_kinds(definitions, names)]
    if locked or project_file() is not None:
        from assay.formats.project.dataset_lock import check_lock  # only projects have one

        notes += check_lock(definitions, asked=locked)
    return TaskFiles(definitions, notes)


def warnings_of(definitions: Sequence[TaskDefinition], given: Iterable[str] = ()) -> list[str]:
    """The notes of the files' readers, each once; `given` are parameters meant for some of them."""
    texts = dict.fromkeys(text for definition in definitions for text in definition.provenance.warnings)
    if texts and given:
        from assay.formats.declarative.config_spec import warnings_about_others

        meant_for_others = warnings_about_others(given, definitions)
        return [text for text in texts if text not in meant_for_others]
    return list(texts)


def pick_samples(
    definitions: Sequence[TaskDefinition], config: RunConfig, patterns: Sequence[str]
) -> tuple[list[TaskDefinition], RunConfig]:
    """The tasks that have samples of these ids, and the config that asks for just those; `*` is any characters."""
    only: dict[str, tuple[str, ...]] = {}
    matched: set[str] = set()
    for definition in definitions:
        if is_elsewhere(definition.dataset):
            raise UsageError(f"task `{definition.name}`: its samples are elsewhere, so none can be picked by id")
        ids, patterns_of_task = _ids_like(definition, patterns)
        matched |= patterns_of_task
        if ids:
            only[definition.name] = ids
    if unknown := [text for text in patterns if text not in matched]:
        tasks = ", ".join(f"`{each.name}`" for each in definitions)
        raise UsageError(f"--only {unknown[0]}: no sample of {tasks} has this id; `assay show TASKS` shows samples")
    return [each for each in definitions if each.name in only], msgspec.structs.replace(config, only=only)


def keep_picked(definitions: Sequence[TaskDefinition], config: RunConfig) -> tuple[list[TaskDefinition], RunConfig]:
    """The same for a config that names the samples of each task, as Python gives it."""
    if config.only is None:
        return [*definitions], config
    if not config.only:
        raise UsageError("only: names no task; leave it out to run all of them")
    tasks = {definition.name: definition for definition in definitions}
    only: dict[str, tuple[str, ...]] = {}
    for name, patterns in config.only.items():
        if name not in tasks:
            raise UsageError(f"only: {unknown_name('task', name, tasks)}")
        if is_elsewhere(tasks[name].dataset):
            only[name] = patterns  # its ids are known when the run fetches them
            continue
        only[name], matched = _ids_like(tasks[name], patterns)
        if unknown := [text for text in patterns if text not in matched]:
            raise UsageError(f"only: no sample of `{name}` has the id `{unknown[0]}`; `assay show TASKS` shows samples")
    return [definition for definition in definitions if definition.name in only], msgspec.structs.replace(
        config, only=only
    )


def _ids_like(definition: TaskDefinition, patterns: Sequence[str]) -> tuple[tuple[str, ...], set[str]]:
    """The ids of a task's samples that match, and the patterns that they match."""
    ids: dict[str, None] = {}
    matched: set[str] = set()
    for sample in build_dataset(definition):
        holds = [
            text for text in patterns if text == sample.id or ("*" in text and is_like(sample.id, text.split("*")))
        ]
        matched.update(holds)
        if holds:
            ids[sample.id] = None
    return tuple(ids), matched


def plan_runs(
    definitions: Sequence[TaskDefinition], config: RunConfig, models: object = None, *, given: Collection[str] = ()
) -> list[PlannedRun]:
    """One run for each model, by name (twice the same is one) or as an object; without any, for each of the run files.

    Where a file names no model, the config's model is used. `given` are the settings that the user gave: those take
    precedence over a file's even where they are the default.
    """
    if not definitions:
        raise UsageError("there is no task to run")
    config = _with_project_default(_without_system_of_tasks(definitions, config))
    chosen = chosen_models(models)
    if chosen is None:
        runs = [
            run._replace(config=_without_a_model_to_ask(run.definitions, run.config))
            for run in _by_model(definitions, config, given=given)
        ]
    else:
        paid = [_without_generation(definition) for definition in definitions]
        runs = [
            run
            for number, (model, made) in enumerate(zip(chosen, as_models(chosen), strict=True))
            for run in _of_model(definitions if number == 0 else paid, config, model, made, given)
        ]
    if config.model_options:
        _refuse_unknown_options(runs)
    runs = _with_permissions_where_used(runs)
    if len(runs) > 1:
        refuse_same_runs([(run, _known_identity(run)) for run in runs])
    return _in_order(runs)


def _in_order(runs: list[PlannedRun]) -> list[PlannedRun]:
    """Each run after those whose results its tasks read."""
    made = {each.name: awaited(each.dataset) for run in runs for each in run.definitions}

    def depth(run: PlannedRun) -> int:
        count, task = 0, run.after
        while task is not None:
            if task not in made:
                raise UsageError(
                    f"the task `{run.definitions[0].name}` reads the result of `{task}`, which is not run here"
                )
            count, task = count + 1, made[task]
        return count

    return sorted(runs, key=depth)


def with_results(run: PlannedRun, folders: Mapping[str, Sequence[Path]]) -> PlannedRun:
    """The run over the results of the one before it, which has been made; `folders` are those of the runs, by task."""
    if run.after is None:
        return run
    here = folders.get(run.after, ())
    if len(here) != 1:
        raise UsageError(
            f"the task `{run.definitions[0].name}` reads the result of `{run.after}`, which {len(here)} runs here "
            "have: evaluate one model at a time"
        )
    return run._replace(definitions=[_over_result(each, here[0]) for each in run.definitions], after=None)


def _over_result(definition: TaskDefinition, folder: Path) -> TaskDefinition:
    options = {**definition.dataset.options, "path": str(folder)}
    made = catalog.make("dataset", "task_result", options)
    spec = DatasetSpec(use="task_result", options=options, sha256=content_hash(made), size=len(made))
    return msgspec.structs.replace(definition, dataset=spec)


def for_checks(run: PlannedRun) -> PlannedRun:
    """The run with an empty row in place of results that are not there yet, to check all else of it."""
    if run.after is None:
        return run
    row = DatasetSpec(use="inline", options={"name": run.after, "samples": [{}]}, size=1)
    return run._replace(definitions=[msgspec.structs.replace(each, dataset=row) for each in run.definitions])


def _with_permissions_where_used(runs: list[PlannedRun]) -> list[PlannedRun]:
    """A permission for model-written code is for the whole command: runs without such a task are not refused for it."""
    using = [any(map(runs_programs, run.definitions)) for run in runs]
    if not any(using) or all(using):
        return runs
    settings = settings_of(RunConfig).values()
    permissions = [setting.name for setting in settings if setting.setting.applies_to is AppliesTo.PROGRAMS]
    default = {name: getattr(RunConfig(), name) for name in permissions}
    return [
        run if uses else run._replace(config=msgspec.structs.replace(run.config, **default))
        for run, uses in zip(runs, using, strict=True)
    ]


def _known_identity(run: PlannedRun) -> object:
    """What is known of a run's identity before its model is made; two objects are compared when they are chosen."""
    config, tasks = run.config, {definition.name: task_fingerprint(definition) for definition in run.definitions}
    return fingerprint([config.model, id(run.model), config.model_options, config.identity(), tasks])


def refuse_same_runs(runs: Iterable[tuple[PlannedRun, object]]) -> None:
    """`UsageError` when two runs have the same identity: they would be one run, and the second would only repeat it."""
    known: dict[object, PlannedRun] = {}
    for run, identity in runs:
        if (same := known.setdefault(identity, run)) is not run:
            one, other = (item.key or item.config.label or item.config.model for item in (same, run))
            raise UsageError(
                f"the models `{one}` and `{other}` are one model with the same settings, and would be one run. Leave "
                "one out, or give each its own address or settings: --model-arg and --model-for replace those of a file"
            )


def _refuse_unknown_options(runs: Sequence[PlannedRun]) -> None:
    """`--model-arg` is for every model: what one of them does not know is refused before any is called."""
    for run in runs:
        if run.model is not None:
            raise UsageError(
                f"--model-arg: `{run.config.model}` is an object that has been made already; give it its options there"
            )
        try:
            check_options(run.config.model, run.config.model_options)
        except UsageError as error:
            if len(runs) == 1:
                raise
            raise UsageError(
                f"{error}\n--model-arg is for each of the {len(runs)} evaluated models; an option of one is written "
                "where it is described: promptfoo: `config` of its provider; a model file, or `models` of a run file: "
                "`config: {model: NAME, options: {…}}`. Judges get none of it: --model-for KEY=MODEL"
            ) from error


def _without_system_of_tasks(definitions: Sequence[TaskDefinition], config: RunConfig) -> RunConfig:
    """What tasks have built into their requests is not put around them once more."""
    own = [definition for definition in definitions if definition.plan.system_in_requests]
    if not config.system or not own:
        return config
    if len(own) < len(definitions):
        names = ", ".join(f"`{item.name}`" for item in own)
        raise UsageError(f"--system: {names} has its own place for it; run it apart from the other tasks")
    if any(item.plan.system != config.system for item in own):
        raise UsageError(f"--system: `{own[0].name}` is read with it: load_tasks(…, system=…)")
    return msgspec.structs.replace(config, system=None)


def _without_generation(definition: TaskDefinition) -> TaskDefinition:
    """Samples are written once, however many models are evaluated on them: the first run has their cost."""
    return msgspec.structs.replace(definition, generation=()) if definition.generation else definition


def _without_a_model_to_ask(definitions: Sequence[TaskDefinition], config: RunConfig) -> RunConfig:
    """A run that calls no evaluated model is not attributed to the default one: over recorded answers it is that of the
    model that gave them, over data alone of none.
    """
    if config.model != RunConfig().model or any(definition.plan.model is not None for definition in definitions):
        return config
    own_code = config.trust or not any(map(untrusted, definitions))
    needs = [solver_needs(definition.solver, own_code=own_code) for definition in definitions]
    if any(each.asks_model for each in needs):
        return config
    if not all(each.replays for each in needs):
        return msgspec.structs.replace(config, model="no-model")
    names = {name for definition in definitions for name in _recorded_models(definition, own_code=own_code)}
    return msgspec.structs.replace(config, model=f"recorded:{names.pop()}" if len(names) == 1 else "recorded")


def _recorded_models(definition: TaskDefinition, *, own_code: bool) -> set[str]:
    """Whose answers a dataset holds, as far as it says it; two are enough to know that it is not one."""
    names: set[str] = set()
    info = dataset_info(definition.dataset.use, definition.dataset.options, own_code=own_code)
    if info is not None and info.recorded_models:
        for sample in build_dataset(definition, own_code=own_code):
            names.add(str((sample.row or {}).get("model", "")))
            if len(names) > 1:
                break
    return names - {""}


def _of_model(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    chosen: ChosenModel,
    made: Model | None,
    given: Collection[str],
) -> list[PlannedRun]:
    name = str(chosen.name) if made is None else made.name
    own = msgspec.structs.replace(config, model=name, label=chosen.label)
    runs = _by_model(definitions, own, chosen=True, given=given)
    return runs if made is None else [run._replace(model=made, given=chosen.given) for run in runs]


def _by_model(
    definitions: Sequence[TaskDefinition], config: RunConfig, *, chosen: bool = False, given: Collection[str] = ()
) -> list[PlannedRun]:
    """The tasks of each model: a run file may name several; one that was chosen is meant for all of them."""
    runs: dict[str, PlannedRun] = {}
    for definition in definitions:
        plan = definition.plan
        named = plan.asked_models.get(config.model) if chosen else plan.model
        _refuse_without_models(definition, chosen=chosen)
        own = config
        if named is not None:
            chosen_width = None if config.adaptive or "concurrency" not in given else config.concurrency
            own = msgspec.structs.replace(
                config,
                model=named.model,
                label=config.label or named.label,
                model_options={**named.options, **config.model_options},
                requests_per_minute=config.requests_per_minute or named.requests_per_minute,
                concurrency=chosen_width or min(config.concurrency, named.concurrency or config.concurrency),
                adaptive=config.adaptive and named.concurrency is None,
            )
            own = _settled(own, named.generation)
        if "repeat" not in given and config.repeat == 1 and plan.trials:
            own = msgspec.structs.replace(own, repeat=plan.trials)
        _refuse_too_few_attempts(definition, own.repeat)
        own = _cached_as_written(own, definition)
        key = None
        if plan.variant:
            own = msgspec.structs.replace(own, prompt=plan.variant.prompt)
            key = None if chosen else plan.variant.model
        after = awaited(definition.dataset)
        run = runs.setdefault(repr((own, key, after)), PlannedRun([], own, key=key, after=after))
        # one model in place of a file's several makes one of their tasks
        if not plan.variant or all(each.name != definition.name for each in run.definitions):
            run.definitions.append(definition)
    return list(runs.values())


def _refuse_too_few_attempts(definition: TaskDefinition, repeat: int) -> None:
    """A number over k attempts at each sample would have no value."""
    for part in definition.aggregates:
        about = catalog.describe("aggregate", part.use, part.options, {}) if "trials" in part.options else None
        if isinstance(about, Whole) and about.attempts > repeat:
            raise UsageError(
                f"task `{definition.name}`: `{part.options.get('name') or part.key}` is over {about.attempts} "
                f"attempts at each sample, and --repeat makes {repeat}; leave it out, or give {about.attempts} or more"
            )


def _cached_as_written(config: RunConfig, definition: TaskDefinition) -> RunConfig:
    """The cache as a run file's `cache_policy` has it; `--no-cache` overrides it, and `--cache` cannot."""
    policy = definition.plan.cache
    if policy is None or config.cache is False:
        return config
    if policy == "no-cache":
        if config.cache:
            raise UsageError(
                f"--cache: the file of task `{definition.name}` says that answers are not cached; leave out --cache, "
                "or change `cache_policy` (`evaluateOptions.cache` in a promptfoo configuration)"
            )
        return msgspec.structs.replace(config, cache=False)
    return msgspec.structs.replace(config, cache_by_default=True, cache_reads=config.cache_reads and policy == "reuse")


def _with_project_default(config: RunConfig) -> RunConfig:
    """The cache as it is usual here, where neither the command nor a run file says it."""
    return msgspec.structs.replace(config, cache_by_default=True) if usual_cache()[0] else config


def usual_cache() -> tuple[bool, str]:
    """Whether answers are cached where nothing else says it, and who says so; the environment comes first."""
    setting = os.environ.get(CACHE_VARIABLE, "")
    if setting not in ("", "0", "1"):
        raise UsageError(f"{CACHE_VARIABLE} must be 1 (cache answers across runs) or 0, got {setting}")
    if setting:
        return setting == "1", f"{CACHE_VARIABLE}, the environment"
    project = current_project()
    if project is None or not project.entry.cache:
        return False, ""
    return True, project.place(("cache",))


def _refuse_without_models(definition: TaskDefinition, *, chosen: bool) -> None:
    """A file of another program may name models that assay does not have: another must be chosen for each."""
    problem = definition.plan.refused or (None if chosen else definition.plan.refused_without_choice)
    if problem:
        raise UsageError(problem)


def _settled(config: RunConfig, generation: Mapping[str, Any]) -> RunConfig:
    """A model file's generation settings, where the user gave none."""
    open_ones = {name: value for name, value in generation.items() if getattr(config, name) is None}
    if isinstance(stop := open_ones.get("stop"), list):
        open_ones["stop"] = tuple(stop)
    return msgspec.structs.replace(config, **open_ones)
