"""A checked declarative task -> `TaskDefinition`: configuration put in, keys resolved, plain data out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from random import Random
from typing import Required, TypedDict

import msgspec

from assay import catalog
from assay.catalog import CATALOG, JUDGES, OTHER_MODELS, PANEL, POSTPROCESS, OptionError, models_named
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.datasets.inline import Inline
from assay.datasets.rows import RepeatedIdsError
from assay.formats.declarative.aggregates import aggregates_of, headline
from assay.formats.declarative.checked import check_definition, checked_definition, checked_task
from assay.formats.declarative.config_spec import (
    Need,
    NoValueError,
    parameters_needed,
    refuse_unknown,
    resolve_config,
    substitute,
    values_known,
)
from assay.formats.declarative.declared import declared_of
from assay.formats.declarative.library import Library, SampleChoice
from assay.formats.declarative.part_keys import scorer_keys
from assay.formats.declarative.places import located
from assay.formats.declarative.records import (
    ActionEntry,
    BenchmarkTask,
    Options,
    OtherModel,
    ScorerEntry,
    SolverEntry,
    SystemTask,
    TaskEntry,
    Trials,
    record,
    without_nulls,
)
from assay.formats.declarative.schema.scorers import METRIC_TYPES, described
from assay.formats.declarative.schema.solvers import LIKELIHOOD_SOLVERS
from assay.formats.declarative.shape import PLACEHOLDER, PLACEHOLDER_INSIDE, mappings
from assay.formats.declarative.yaml_reader import Document, FieldPath, PlacedError, Plain, all_of, hint_here, inside
from assay.models.model_names import known_offers
from assay.prompts.written_text import with_texts
from assay.scorers.assertions.assertion_kinds import ASSERTION_TYPES
from assay.scorers.embedding import lack_of_embeddings
from assay.snippets.imported_modules import OwnModules, own_modules, snippets_of
from assay.solvers.templated import CUSTOM
from assay.task_records import ModelTask, Provenance, ScorerTitle, TaskLabels, TaskPlan
from assay.trust.project import is_inside_this_project

_EVIDENCE = "evidence"


class _Parts(TypedDict, total=False):
    """The fields of a `TaskDefinition` that say what it is made of, as the catalog names it."""

    solver: Required[PartSpec]
    scorers: tuple[PartSpec, ...]
    aggregates: tuple[PartSpec, ...]
    metric: Required[str]
    actions: tuple[PartSpec, ...]


def task_definition(
    document: Document,
    where: FieldPath,
    task: TaskEntry,
    library: Library,
    *,
    config: Mapping[str, Plain],
    config_at: FieldPath | None = None,
    name: str | None = None,
    dataset_key: str | None = None,
    num_samples: int | None = None,
    subsampling: str | None = None,
    trials: Trials | None = None,
) -> TaskDefinition:
    """One task with its configuration, as every other format gives it too.

    `config_at` is the field that gives the configuration; None for the command line.
    """
    warnings: list[str] = []
    at = (*where, "definition")
    if config_at is None:
        _require_values(document, where, task, config, dataset_key)
    else:
        refuse_unknown(config, task.config_spec, document, config_at)
    with placed_at(document, config_at) if config_at is not None else nullcontext():
        parameters = resolve_config(task.config_spec, config, task=task.key, warnings=warnings)
    written = substitute(task.definition, parameters, document, at)
    if trials is not None and isinstance(written, dict):
        own = written.get("trials")
        given = without_nulls(msgspec.json.decode(msgspec.json.encode(trials)))  # lists, as in a file
        written = {**written, "trials": {**(own if isinstance(own, dict) else {}), **given}}
    definition = checked_definition(document, written, at)
    if isinstance(definition, SystemTask):
        parts = _system_parts(definition)
        dataset = _no_dataset(document, where, dataset_key)
    else:
        choice: SampleChoice = {"num_samples": num_samples, "subsampling": subsampling}
        try:
            parts = _benchmark_parts(document, at, definition, library)
            parts["solver"] = _for_kinds(parts["solver"], task.tasks)
            dataset = _dataset(document, at, definition, library, dataset_key, written=task.definition, choice=choice)
        except PlacedError as error:  # the errors of all keys of the definition are reported together
            raise all_of([error, *unresolved(document, at, written, library)]) from error
        _check_named(document, where, task, parameters, given=config, given_at=config_at, library=library, over=dataset)
        if dataset.sha256 and not dataset.size:
            raise document.error(
                (*at, "dataset", "key") if dataset_key is None else where,
                f"task `{name or task.key}` has no samples: its data is empty, or filters keep nothing",
            )
    modules = _modules(
        document,
        (*where, "definition"),
        (parts["solver"], *parts.get("scorers", ()), *parts.get("aggregates", ())),
        library,
    )
    generation = tuple(library.generation)
    library.generation.clear()  # reported once: the next task finds the dataset already made
    return TaskDefinition(
        name=name or task.key,
        format="declarative",
        dataset=dataset,
        **parts,
        description=task.description,
        source=document.mark(where).file,
        plan=TaskPlan(
            trials=definition.trials.num_trials
            if isinstance(definition, BenchmarkTask) and definition.trials
            else None,
            for_models=task.tasks,
            paces=dict(library.paces),
            typed_models=tuple(library.typed_models),
            missing_models=tuple(sorted(set(library.missing_models))),
        ),
        provenance=Provenance(
            files=tuple(sorted({str(path) for path in (*document.files, *library.nearby.used, *modules.files)})),
            variables=tuple(sorted({*document.variables, *library.nearby.variables})),
            warnings=tuple(dict.fromkeys([*document.warnings, *library.warnings, *warnings])),
            config=dict(parameters),
            over_rows=True,
            declared=declared_of(
                document,
                where,
                task,
                parameters=parameters,
                dataset=dataset,
                solver=parts["solver"],
                scorers=_keyed(definition.scorers) if isinstance(definition, BenchmarkTask) else [],
                parts=parts.get("scorers", ()),
                aggregates=parts.get("aggregates", ()),
                actions=(definition.actions or ()) if isinstance(definition, BenchmarkTask) else (),
            ),
        ),
        shown=_shown(task, definition),
        modules=modules.sources,
        generation=generation,
    )


def _modules(document: Document, where: FieldPath, parts: Sequence[PartSpec], library: Library) -> OwnModules:
    """The modules that the task's Python imports from next to its files, and from the project's folders of Python."""
    snippets = snippets_of(parts)
    if not snippets:
        return OwnModules({}, [])
    from assay.formats.project.discovery import current_project  # only Python needs its folders

    project = current_project()
    shared = [project.root / item for item in project.entry.python] if project is not None else []
    if not is_inside_this_project(document.path):
        shared = []
    folders = dict.fromkeys([*(path.parent for path in document.files), *shared])
    with placed_at(document, where):
        return own_modules(snippets, [*folders], lambda path: library.nearby.out_of_bounds(path, str(path)))


def _shown(task: TaskEntry, definition: BenchmarkTask | SystemTask) -> TaskLabels:
    """What reports show of the task and its scorers other than numbers."""
    scorers = _keyed(definition.scorers) if isinstance(definition, BenchmarkTask) else ()
    return TaskLabels(
        display_name=task.display_name,
        scorers={
            key: ScorerTitle(purpose=scorer.purpose, display_name=scorer.display_name or None)
            for key, scorer in scorers
        },
        tags=tuple(task.tags),
        long_description=task.long_description,
    )


def _check_named(
    document: Document,
    where: FieldPath,
    task: TaskEntry,
    parameters: Mapping[str, Plain],
    *,
    given: Mapping[str, Plain],
    given_at: FieldPath | None,
    library: Library,
    over: DatasetSpec,
) -> None:
    """What the parameters name is there: columns of the task's dataset, datasets and models."""
    used = {match[1] for match in PLACEHOLDER_INSIDE.finditer(msgspec.json.encode(task.definition).decode())}
    for at, parameter in enumerate(task.config_spec):
        value = parameters.get(parameter.key)
        if not isinstance(value, str) or not (parameter.key in given or parameter.key in used):
            continue
        if not value and (parameter.key not in given or value == parameter.default_value):
            continue  # the author's own way to say that there is none
        place: FieldPath = (*where, "config_spec", at, "default_value")
        if parameter.key in given and given_at is not None:
            place = (*given_at, parameter.key)
        problem = _why_not_there(parameter.type, value, library, over)
        if problem is None:
            continue
        if parameter.key in given and given_at is None:
            raise UsageError(f"--config {parameter.key}={value}: {problem}")
        raise document.error(place, problem)


def _why_not_there(kind: str, value: str, library: Library, over: DatasetSpec) -> str | None:
    """Why a parameter's value names nothing, as a sentence."""
    if kind == "dataset_column" and over.sha256:  # else its rows are not read here
        known: dict[str, None] = {}
        for sample in catalog.make("dataset", over.use, over.options, own_code=not library.reading.only_reads):
            if value in (columns := columns_of(sample.row or {}, of_several=over.use == "joined")):
                return None
            known |= dict.fromkeys(columns)
        return f"no row of the dataset has a column `{value}`. {hint_here(value, known)}"
    try:
        if kind == "dataset":
            library.source(value)
        elif kind == "model":
            library.model(value, evaluated=False)
    except UsageError as error:
        return str(error)
    return None


def columns_of(row: Mapping[str, object], *, of_several: bool) -> list[str]:
    """The columns of a row; those of each dataset where several stand side by side."""
    inner = [name for part in row.values() if isinstance(part, dict) for name in part] if of_several else []
    return [*row, *inner]


def _require_values(
    document: Document, where: FieldPath, task: TaskEntry, config: Mapping[str, Plain], dataset_key: str | None
) -> None:
    """Everything that has to be given on the command line, at once."""
    needs = parameters_needed(task.config_spec, config)
    if dataset_key is None and awaits_dataset(task):
        needs.append(Need("no dataset is named", "--dataset-key KEY"))
    if needs:
        raise NoValueError(task.key, needs, f"{document.mark(where)}: ")


def awaits_dataset(task: TaskEntry) -> bool:
    """Whether the task evaluates a dataset that is chosen when it is run."""
    about_dataset = task.definition.get("evaluated_entity_type") == "dataset"
    return about_dataset and task.definition.get("dataset") is None


def unresolved(document: Document, where: FieldPath, value: Plain, library: Library) -> list[UsageError]:
    """An error for every key of a model or dataset that is unknown or broken."""
    errors: list[UsageError] = []
    for at, look_up in _names_in(value, where, library):
        try:
            with placed_at(document, at):
                look_up()
        except UsageError as error:
            errors.append(error)
    return errors


def _names_in(value: Plain, where: FieldPath, library: Library) -> Iterator[tuple[FieldPath, Callable[[], object]]]:
    """Every key in a definition: where it stands, and how to look it up."""
    for at, item in inside(value, where):
        name = at[-1]
        if keys := models_named(str(name), item):
            for model in keys:
                if not PLACEHOLDER.match(model):
                    yield at, partial(_model_behind, str(name), model, library)
        elif name == "dataset" and isinstance(item, dict) and item.get("source") != "task_result":
            for key_at, key in [((*at, "key"), item.get("key")), *inside(item.get("keys"), (*at, "keys"))]:
                if isinstance(key, str) and not PLACEHOLDER.match(key):
                    yield key_at, partial(library.source, key)
        else:
            yield from _names_in(item, at, library)


def _no_dataset(document: Document, where: FieldPath, dataset_key: str | None) -> DatasetSpec:
    """The dataset of a system task: one empty sample."""
    if dataset_key is not None:
        raise document.error(where, "a system task takes no dataset")
    options: Options = {"name": "system", "samples": [{}]}
    return DatasetSpec(use="inline", options=options, size=1, sha256=Inline(name="system", samples=[{}]).sha256)


def _dataset(
    document: Document,
    where: FieldPath,
    definition: BenchmarkTask,
    library: Library,
    given: str | None,
    *,
    written: Options,
    choice: SampleChoice,
) -> DatasetSpec:
    """What the task names, or what was given in its place; `written` is the definition with its placeholders."""
    named = definition.dataset
    if named is not None and named.fast_subset_size is not None:
        document.warn((*where, "dataset", "fast_subset_size"), "is deprecated and ignored")
    if named is not None and named.keys is not None:
        if given is not None:
            raise document.error((*where, "dataset", "keys"), "this task names several datasets, so none can be given")
        with placed_at(document, (*where, "dataset", "keys")):
            return library.side_by_side(_names_of_datasets(named.keys, written), **choice)
    key = given or (named.key if named is not None else None)
    if key is None:  # of a run file, which names the dataset itself
        raise document.error(where, "this task evaluates a dataset: name it with `dataset_key`")
    with placed_at(document, (*where, "dataset", "key"), library.nearby.used):
        if given is None and named is not None and named.source == "task_result":
            return library.task_result(key, **choice)
        try:
            return library.dataset(key, **choice)
        except RepeatedIdsError as error:
            if library.reading.mending is None:
                raise
            library.reading.mending.add(document.error((*where, "dataset", "key"), str(error)))
            library.renames_repeated = True
            return library.dataset(key, **choice)


def _names_of_datasets(keys: Sequence[str], written: Options) -> dict[str, str]:
    """The name of each dataset in templates: the parameter that names it, or its key."""
    dataset = written.get("dataset")
    texts = dataset.get("keys") if isinstance(dataset, dict) else None
    names: dict[str, str] = {}
    for at, key in enumerate(keys):
        text = texts[at] if isinstance(texts, list) else key
        placeholder = PLACEHOLDER.match(text) if isinstance(text, str) else None
        names[placeholder[2] if placeholder else key] = key
    return names


def _system_parts(definition: SystemTask) -> _Parts:
    options = {"compute_evidence_snippet": definition.compute_evidence_snippet}
    return _Parts(
        solver=PartSpec(key="solver", use="no_solver"),
        scorers=(PartSpec(key=_EVIDENCE, use="system_evidence", options=options),),
        aggregates=(PartSpec(key=f"{_EVIDENCE}.{_EVIDENCE}", use=_EVIDENCE, options={"scorer": _EVIDENCE}),),
        metric=_EVIDENCE,
    )


def _benchmark_parts(document: Document, where: FieldPath, definition: BenchmarkTask, library: Library) -> _Parts:
    has_solver = definition.solver is not None
    keyed = _keyed(definition.scorers)
    with placed_at(document, (*where, "solver")):
        solver = _solver(document, where, definition, library)
    scorers = []
    for at, (key, scorer) in enumerate(keyed):
        given = _with_models_behind(document, (*where, "scorers", at), scorer, library)
        scorers.append(_over_parts(_scorer(key, scorer, given, has_solver), definition.solver))
    over_trials = definition.trials.score_aggregators if definition.trials is not None else None
    aggregates = aggregates_of(keyed, over_trials or ())
    return _Parts(
        solver=solver,
        scorers=tuple(scorers),
        aggregates=aggregates,
        metric=headline(aggregates),
        actions=tuple(_action(action, has_solver) for action in definition.actions or ()),
    )


@contextmanager
def placed_at(document: Document, where: FieldPath, files: Sequence[Path] = ()) -> Iterator[None]:
    """Report an error about a key at the field that names it; about an option, at the file that sets it."""
    try:
        yield
    except PlacedError:
        raise
    except UsageError as error:
        if isinstance(error, OptionError) and (placed := located(error, [*files, *document.files])):
            raise placed from error
        raise document.error(where, str(error)) from error


def _keyed(scorers: Sequence[ScorerEntry]) -> list[tuple[str, ScorerEntry]]:
    """Every scorer with its key."""
    keys = scorer_keys([(scorer.key, scorer.type) for scorer in scorers])
    return list(zip(keys, scorers, strict=True))


def _solver(document: Document, where: FieldPath, definition: BenchmarkTask, library: Library) -> PartSpec:
    solver, scorers = definition.solver, definition.scorers
    few_shot = library.reading.shots.of_solver(solver.options.get("few_shot") if solver is not None else None)
    if solver is None:
        return PartSpec(key="solver", use="no_solver")
    if solver.type in LIKELIHOOD_SOLVERS:
        return _likelihood_solver(solver, scorers)
    options = without_nulls(solver.options)
    options.pop("postprocessor", None)  # it stands between the solver and the scorers, and is part of those
    if isinstance(settings := options.get("generation"), dict):
        options["generation"] = without_nulls(settings)
    options.pop("few_shot", None)
    if few_shot is not None:
        with placed_at(document, (*where, "solver", "few_shot", "count")):
            asked_about = definition.dataset.key if definition.dataset is not None else None
            examples = (*where, "solver", "few_shot", "examples")
            options["few_shot"] = _few_shot(few_shot, library, asked_about, document, examples)
    if solver.type == "multi_turn_solver":
        options["message_builders"] = _with_models(options["message_builders"], library)
    return PartSpec(key="solver", use=solver.type, options=options)


def _for_kinds(solver: PartSpec, kinds: Sequence[ModelTask]) -> PartSpec:
    """The solver of a task for custom models alone renders any JSON, not a chat."""
    builder = solver.options.get("input_builder")
    if tuple(kinds) != ("custom",) or not isinstance(builder, dict) or builder.get("type") != "generic":
        return solver
    return msgspec.structs.replace(solver, options={**solver.options, "input_builder": {**builder, CUSTOM: True}})


def _few_shot(
    given: Options, library: Library, asked_about: str | None, document: Document, where: FieldPath
) -> Options:
    """The examples themselves: which they are is part of what the task is."""
    kept = without_nulls(given)
    count, seed = kept.get("count"), kept.pop("seed", None)
    rows = [
        with_texts(row, document.texts(row, (*where, at)))
        for at, row in enumerate(mappings(kept.pop("examples", None)))
    ]
    if isinstance(named := kept.pop("dataset", None), dict):
        rows = library.rows(str(named["key"]))
        library.reading.shots.refuse_too_few(count, rows[1:] if named["key"] == asked_about else rows)
    # one more, because a sample is never its own example
    wanted = len(rows) if not isinstance(count, int) else min(len(rows), count + 1)
    chosen = rows[:wanted] if not isinstance(seed, int) else Random(seed).sample(rows, wanted)
    return {**kept, "examples": list(chosen)}


def _likelihood_solver(solver: SolverEntry, scorers: Sequence[ScorerEntry]) -> PartSpec:
    """The scorers decide what is requested: how choices are compared, and whether without the prompt too."""
    use = LIKELIHOOD_SOLVERS[solver.type]
    options = without_nulls(solver.options)
    wanted = [scorer.options["normalize"] for scorer in scorers if scorer.type == use == "choice_likelihood"]
    if wanted:
        options["normalize"] = wanted[0]
        if "unconditional" in wanted[1:]:
            options["unconditional"] = True
    return PartSpec(key="solver", use=use, options=options)


def _with_models(builders: Plain, library: Library) -> list[Plain]:
    """Message builders; those that call another model have it next to its key."""
    made: list[Plain] = []
    for builder in mappings(builders):
        own: Options = {}
        if builder["type"] == "generate_message":
            own["model"] = library.other_model(str(builder["model_key"]))
        if builder["type"] == "loop":
            own["message_builders"] = _with_models(builder["message_builders"], library)
        made.append({**builder, **own})
    return made


def _with_models_behind(document: Document, where: FieldPath, scorer: ScorerEntry, library: Library) -> Options:
    """The options that were given, and next to every key of another model, the model."""
    given = without_nulls(scorer.options)
    if "assertions" in given:
        given["assertions"] = [
            _with_model(document, at, item, library) if isinstance(item, dict) else item
            for at, item in inside(given["assertions"], (*where, "assertions"))
        ]
    return _with_model(document, where, given, library)


def _with_model(document: Document, where: FieldPath, options: Options, library: Library) -> Options:
    if judges := options.get(JUDGES):
        with placed_at(document, (*where, JUDGES)):
            models: list[Plain] = [
                {"model_key": key, "model": library.other_model(key)} for key in models_named(JUDGES, judges)
            ]
            options = {**options, JUDGES: models}
    for name in OTHER_MODELS:
        if (key := options.get(name)) is not None:
            with placed_at(document, (*where, name)):
                return {**options, "model": _model_behind(name, str(key), library)}
    return options


def _model_behind(field: str, key: str, library: Library) -> Options:
    """What is behind the key of another model; one to compare meanings must have embeddings."""
    model = library.other_model(key)
    if field == "embedding_model":
        spec = record(model, OtherModel)
        can = known_offers(spec.model, spec.options)
        if can is not None and (problem := lack_of_embeddings(spec.model, can)):
            raise UsageError(problem)
    return model


def _over_parts(scorer: PartSpec, solver: SolverEntry | None) -> PartSpec:
    """The scorer over the parts that the solver's `postprocessor` returns; one over all samples reads no answer."""
    postprocessor = solver.options.get("postprocessor") if solver is not None else None
    info = described(scorer.use, scorer.options)
    if not isinstance(postprocessor, dict) or (info is not None and info.sees_all):
        return scorer
    return msgspec.structs.replace(scorer, options={**scorer.options, POSTPROCESS: postprocessor[POSTPROCESS]})


def _scorer(key: str, scorer: ScorerEntry, given: Options, has_solver: bool) -> PartSpec:
    use, options = _catalog_part(scorer.type, given)
    if not has_solver and use in CATALOG["scorer"]:
        options["has_solver"] = False
    return PartSpec(key=key, use=use, options=options)


def _catalog_part(kind: str, options: Options) -> tuple[str, Options]:
    """The catalog's scorer behind a type: metrics and assertions are options of one scorer each."""
    if kind == "metric":
        own = options.pop("options", {})
        return "metric", {**(own if isinstance(own, dict) else {}), **options}
    if kind in METRIC_TYPES:
        return "metric", {"metric": kind, **options}
    if kind in ASSERTION_TYPES:
        whole = {name: options.pop(name) for name in ("text", *PANEL) if name in options}
        return "assertions", {"assertions": [{"type": kind, **options}], **whole}
    return kind, options


def _action(action: ActionEntry, has_solver: bool) -> PartSpec:
    options: Options = {"rule": action.key, "filter": action.filter}
    if not has_solver:
        options["has_solver"] = False
    return PartSpec(key=action.key, use=action.action, options=options)


def check_only(document: Document, value: Plain, where: FieldPath = ()) -> None:
    """A task by itself, without datasets or models: with the parameters that have a default, the others left open."""
    task = checked_task(document, value, where)
    at = (*where, "definition")
    known = values_known(task.config_spec)
    awaited = [parameter.key for parameter in task.config_spec if parameter.key not in known]
    written = substitute(task.definition, known, document, at, awaited=awaited)
    check_definition(document, written, at)
