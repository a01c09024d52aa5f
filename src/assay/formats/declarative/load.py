"""YAML files -> TaskDefinitions: a task file is one task, a run file one for every task specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.core.types import DatasetSpec, TaskDefinition
from assay.costs.budget import SpendingLimits
from assay.datasets.content import is_elsewhere
from assay.formats.declarative.checked import (
    checked_adapter,
    checked_dataset,
    checked_evaluation,
    checked_model,
    checked_task,
    kind_of,
    other_kind,
)
from assay.formats.declarative.config_spec import typed_config
from assay.formats.declarative.definition import awaits_dataset, check_only, task_definition, unresolved
from assay.formats.declarative.library import Library, NoDatasetError, absent_models
from assay.formats.declarative.mending import Mending, read_with_all_faults
from assay.formats.declarative.model_records import AdapterReference
from assay.formats.declarative.model_specs import ModelSpec, model_spec
from assay.formats.declarative.nearby_files import DATA_ENDINGS, NearbyFiles
from assay.formats.declarative.places import Places
from assay.formats.declarative.prompt_texts import with_prompt
from assay.formats.declarative.reading_options import ReadingOptions
from assay.formats.declarative.records import TaskEntry
from assay.formats.declarative.run_file import tasks_of_run
from assay.formats.declarative.yaml_reader import Document, PlacedError, Plain, all_of, read_yaml
from assay.formats.task_source import LoadedTask, NoOptions, SourceContext
from assay.reading.env_file import variables
from assay.task_records import AskedModel
from assay.text.wording import count_of
from assay.trust.consent import untrusted
from assay.trust.project import is_inside_this_project, is_of_this_project, root_of

YAML = (".yaml", ".yml")


class YamlSource:
    """The source of YAML files."""

    Options = NoOptions
    uses_shots = True
    uses_config = True

    def read(self, text: str, options: NoOptions, context: SourceContext) -> list[LoadedTask]:
        return read_located_tasks(Path(text), reading_options(context))


def reading_options(context: SourceContext, mending: Mending | None = None) -> ReadingOptions:
    """The settings of the source's context that YAML files use."""
    return ReadingOptions(
        config=context.config,
        usual_config=context.usual_config,
        judge=context.judge,
        judge_from=context.judge_from,
        prompt=context.prompt,
        trust=context.trust,
        models=context.models,
        evaluated=context.evaluated,
        dataset=context.dataset,
        replaces_dataset=context.replaces_datasets or not context.in_folder,
        allow_outside=context.allow_outside,
        models_needed=context.models_needed,
        only_reads=context.only_reads,
        may_call_models=context.may_call_models,
        limits=context.limits or SpendingLimits(),
        mending=mending,
        shots=context.shots,
    )


def read_located_tasks(path: Path, how: ReadingOptions) -> list[LoadedTask]:
    """The tasks of a YAML file, with the places of their fields.

    Nothing is executed here; whether snippets may run is decided when they are to run (see `trust/consent.py`).
    Variables are resolved in a file of this project, or one that the user trusts; any other file keeps its `$NAME`s.
    """
    how = replace(how, models_needed=how.models_needed and not how.only_reads)
    if how.trust or (is_of_this_project(path) and not how.allow_outside):
        return _read_tasks(path, variables(), how)
    # read first without resolving variables or calling a server: the user has not agreed to that yet
    loaded = _read_tasks(path, None, replace(how, only_reads=True))
    definitions = [task.definition for task in loaded]
    asks = any(definition.provenance.variables or is_elsewhere(definition.dataset) for definition in definitions)
    if not asks or any(untrusted(definition) for definition in definitions):
        return loaded
    return _read_tasks(path, variables(), how)


def _read_tasks(path: Path, environ: Mapping[str, str] | None, reading: ReadingOptions) -> list[LoadedTask]:
    document = read_yaml(path, allow_outside=reading.allow_outside, environ=environ, collect_faults=True)
    if reading.mending is not None:
        document = reading.mending.applied(document)
    library = Library(NearbyFiles(home=path.parent, root=root_of(path).resolve(), environ=environ, reading=reading))
    models = _asked_models(library)
    return [task._replace(definition=_with_asked(task.definition, models)) for task in _tasks_in(document, library)]


def with_model_files(loaded: LoadedTask, how: SourceContext, judged: Mapping[str, str]) -> LoadedTask:
    """The task with the models whose keys were given with `--model`, `--model-for` and, for graders, `--judge`, from
    model files near it or in this folder.

    For tasks of every format: a file that finds its own by its own folders has them already.
    """
    definition = loaded.definition
    asked = definition.plan.asked_models
    missing = [name for name in how.evaluated if name not in asked]
    typed = definition.plan.typed_models
    by_judge = {key: name for key, name in judged.items() if key in typed}
    given = {} if definition.provenance.over_rows else {**by_judge, **how.models}
    if not missing and not given:
        return loaded
    source = Path(definition.source)
    specs: dict[str, ModelSpec] = {}
    own: list[str] = []
    files: dict[str, None] = {}
    for home in dict.fromkeys([source.parent if source.is_file() else Path(), Path()]):
        library = _library_of(home, how)
        found = _specs(library, [name for name in (*missing, *given.values()) if name not in specs])
        specs |= found
        files |= dict.fromkeys(map(str, library.nearby.used))
        if all(map(is_of_this_project, library.nearby.used)):
            own.extend(name for name in found if name in missing)
    models = {name: specs[name].asked_as(name) for name in missing if name in specs}
    plan = msgspec.structs.replace(definition.plan, asked_models={**models, **asked}, own_models=tuple(own))
    provenance = msgspec.structs.replace(definition.provenance, model_files=tuple(files))
    definition = msgspec.structs.replace(definition, plan=plan, provenance=provenance)
    described = {key: specs[name] for key, name in given.items() if name in specs}
    return loaded._replace(definition=_with_described(definition, described) if described else definition)


def described_model(name: str) -> ModelSpec | None:
    """The model of a key that is named outside of a task, from the model files of this project; None for other names.

    One of a stranger's project is refused: nothing there has been trusted.
    """
    library = _library_of(Path(), SourceContext())
    spec = library.file_of_model(name)
    if spec is not None and (foreign := [item for item in library.nearby.used if not is_of_this_project(item)]):
        raise UsageError(f"{name}: {foreign[0]} is not of this project; name the model itself, such as openai:NAME")
    return spec


def _with_described(definition: TaskDefinition, models: Mapping[str, ModelSpec]) -> TaskDefinition:
    """The definition with what model files say in place of the names that its reader took for models."""
    plan = definition.plan
    evaluated = plan.model
    if evaluated is not None and evaluated.key in models:
        evaluated = models[evaluated.key].asked_as(evaluated.key)
    plan = msgspec.structs.replace(
        plan,
        model=evaluated,
        # what a file describes is the file's, whoever chose it
        typed_models=tuple(key for key in plan.typed_models if key not in models),
        paces={**plan.paces, **{key: pace for key, spec in models.items() if (pace := spec.pace())}},
    )
    scorers = tuple(
        msgspec.structs.replace(scorer, options=_behind_keys(scorer.options, models)) for scorer in definition.scorers
    )
    return msgspec.structs.replace(definition, scorers=scorers, plan=plan)


def _behind_keys(value: Any, models: Mapping[str, ModelSpec]) -> Any:
    if isinstance(value, list):
        return [_behind_keys(item, models) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {name: _behind_keys(item, models) for name, item in value.items()}
    spec = models.get(str(value.get("model_key")))
    return inner if spec is None else {**inner, "model": spec.made()}


def _library_of(home: Path, how: SourceContext) -> Library:
    allow_outside, trust = how.allow_outside, how.trust
    is_own = trust or (is_inside_this_project(home) and not allow_outside)
    reading = ReadingOptions(allow_outside=allow_outside, trust=trust)
    environ = variables() if is_own else None
    return Library(NearbyFiles(home=home, root=root_of(home).resolve(), environ=environ, reading=reading))


def _asked_models(library: Library) -> dict[str, AskedModel]:
    """The models behind keys given with `--model`: model files, and `openai$gpt-4-1-nano`."""
    return {name: spec.asked_as(name) for name, spec in _specs(library, library.reading.evaluated).items()}


def _specs(library: Library, names: Iterable[str]) -> dict[str, ModelSpec]:
    return {name: spec for name in names if (spec := library.file_of_model(name)) is not None}


def _with_asked(definition: TaskDefinition, models: Mapping[str, AskedModel]) -> TaskDefinition:
    if not models:
        return definition
    plan = msgspec.structs.replace(definition.plan, asked_models=dict(models))
    return msgspec.structs.replace(definition, plan=plan)


def _tasks_in(document: Document, library: Library) -> list[LoadedTask]:
    kind, reading = kind_of(document.value), library.reading
    if kind == "run":
        if (prompt := reading.prompt) is not None:
            raise prompt.document.error(prompt.where, f"{document.path} is a run file, which lists prompts itself")
        return tasks_of_run(document, library, reading.config)
    if kind == "abstract task":
        raise document.error(("abstract",), _instead_of_abstract(document.path))
    if kind != "task":
        raise document.error((), f"this is a {kind} file; a run needs a task or a run file")
    task = _task_of(document, library)
    given, prompt_file = reading.config, None
    if reading.prompt is not None:
        task, own, prompt_file = with_prompt(task, reading.prompt)
        given = {**given, **own}
        library.nearby.used.append(Path(reading.prompt.file))
    parameters = {item.key for item in task.config_spec}
    usual = {name: value for name, value in reading.usual_config.items() if name in parameters}
    given = typed_config({**usual, **given}, task.config_spec)
    dataset = reading.dataset if reading.replaces_dataset or awaits_dataset(task) else None
    definition = task_definition(document, (), task, library, config=given, dataset_key=dataset)
    return [
        LoadedTask(
            definition,
            Places(document, (), prompt_file),
            takes_dataset=dataset is not None,
            takes_judge=bool(library.judged_by_default),
        )
    ]


def _instead_of_abstract(path: Path) -> str:
    """What to run in place of a file that is only there to be extended: the tasks below its folder that do so."""
    extending: list[Path] = []
    for each in sorted(each for ending in YAML for each in path.parent.rglob(f"*{ending}")):
        with suppress(UsageError):
            document = read_yaml(each)
            if kind_of(document.value) == "task" and path.resolve() in [file.resolve() for file in document.files]:
                extending.append(each)
    found = f"{count_of(len(extending), 'task')} here extend{'s' if len(extending) == 1 else ''} it"
    instead = f": assay run {path.parent if len(extending) > 1 else extending[0]}" if extending else ""
    return f"{path.name} is abstract, so it is not run; {found}{instead}"


def _task_of(document: Document, library: Library) -> TaskEntry:
    """The task of a file; its errors are reported together with those of the files that it names."""
    try:
        return checked_task(document, document.value)
    except PlacedError as error:
        value = document.value.get("definition") if isinstance(document.value, dict) else None
        raise all_of([error, *unresolved(document, ("definition",), value, library)]) from error


def only_tasks(files: list[Path]) -> list[Path]:
    """The task files of a folder that also holds datasets, models and run files, which are named by their keys.

    A YAML file that cannot be read is kept, so that its reader reports the error; a data file of a folder with YAML
    tasks is a dataset, not a task.
    """
    kinds: dict[Path, str] = {}
    for path in files:
        if path.suffix in YAML:
            try:
                value = read_yaml(path, environ=None).value
                kinds[path] = other_kind(value, path) or kind_of(value)
            except UsageError:
                kinds[path] = "task"
    tasks = [path for path, kind in kinds.items() if kind == "task"]
    return tasks if tasks else [path for path in files if path not in kinds]


def read_dataset(what: str, *, allow_outside: bool = False) -> tuple[str, DatasetSpec] | None:
    """A dataset by its file, YAML or data, or by its key in the folders around; None when it is none of these.

    No server is called, and no code but ours runs.
    """
    path = Path(what)
    home = path.parent if path.is_file() else Path()
    environ = variables() if path.is_file() and is_of_this_project(path) and not allow_outside else None
    root = root_of(path if path.is_file() else Path()).resolve()
    reading = ReadingOptions(allow_outside=allow_outside, only_reads=True)
    library = Library(NearbyFiles(home=home, root=root, environ=environ, reading=reading))
    if path.suffix in YAML and path.is_file():
        document = read_yaml(path, allow_outside=allow_outside, environ=environ)
        if kind_of(document.value) != "dataset":
            return None
        dataset = checked_dataset(document, document.value)
        library.datasets[dataset.key] = (document, (), dataset)
        return dataset.key, library.dataset(dataset.key)
    if path.is_file():
        return (path.stem, library.dataset(what)) if holds_rows(path) else None
    try:
        return what, library.dataset(what)
    except NoDatasetError:
        return None


def holds_rows(path: Path, *, beside_tasks: bool = False) -> bool:
    """Whether a data file is a table, or JSON lines that belong to no task.

    Rows `beside_tasks` in YAML may have a `prompt` too: there an example of a task is one that names its metric.
    """
    if path.suffix != ".jsonl":
        return path.suffix in DATA_ENDINGS
    with open_regular(path) as file:
        lines = iter(lambda: file.readline(1 << 16), b"")
        first = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b"")
    if b'"task_id"' in first:
        return False
    return b'"prompt"' not in first or (beside_tasks and b'"metric"' not in first)


def files_named_by_key(folder: Path) -> list[Path]:
    """The model and dataset files of a folder's tasks, which a task names by key."""
    places = [folder / "models", folder / "datasets"]
    return [path for place in places if place.is_dir() for path in sorted(place.iterdir()) if path.suffix in YAML]


class CheckedFile(NamedTuple):
    """What a valid file is."""

    form: str
    good: int
    """How many tasks it holds; of another file 1, or 0 where it is not read by itself."""
    warnings: list[str]
    key: str | None = None
    """The key of its task, where it is a task file."""


def check_yaml_file(path: Path, *, allow_outside: bool = False) -> CheckedFile:
    """What the file is; `UsageError` with everything that is wrong.

    The datasets and models that a task names need not be here, but a file of one that is must be sound; a run file is
    checked whole.
    """
    mending = Mending()
    checked = read_with_all_faults(lambda: _check_yaml_file(path, mending, allow_outside=allow_outside), mending)
    if checked is None or mending.sentences:
        raise PlacedError("\n".join(mending.sentences))
    return checked


def _check_yaml_file(path: Path, mending: Mending, *, allow_outside: bool) -> CheckedFile:
    environ = variables() if is_of_this_project(path) else None
    document = read_yaml(path, allow_outside=allow_outside, environ=environ, collect_faults=True)
    kind, other = kind_of(document.value), other_kind(document.value, path)
    document = mending.applied(document)
    if kind == "run":
        tasks = read_located_tasks(path, ReadingOptions(allow_outside=allow_outside, only_reads=True, mending=mending))
        texts = [text for task in tasks for text in task.definition.provenance.warnings]
        absent = absent_models(key for task in tasks for key in task.definition.plan.missing_models)
        return CheckedFile("run file", len(tasks), list(dict.fromkeys([*texts, *absent])))
    if other or kind == "abstract task":
        if document.faults:
            raise PlacedError("\n".join(fault.sentence for fault in document.faults))
        if not other:
            return CheckedFile("task file to extend", 1, list(dict.fromkeys(document.warnings)))
        return CheckedFile(f"file with {other}, which is not read by itself", 0, [])
    _CHECKS[kind](document, document.value)
    absent = []
    if kind == "task":
        reading = ReadingOptions(allow_outside=allow_outside, only_reads=True, models_needed=False, mending=mending)
        nearby = NearbyFiles(home=path.parent, root=root_of(path), environ=environ, reading=reading)
        absent = _check_needed(document, nearby)
    key = document.value.get("key") if kind == "task" and isinstance(document.value, dict) else None
    warnings = list(dict.fromkeys([*document.warnings, *absent]))
    return CheckedFile(f"{kind} file", 1, warnings, key if isinstance(key, str) else None)


def _check_needed(document: Document, nearby: NearbyFiles) -> list[str]:
    """The files of the datasets and models that a task names, as far as they are here, must be what it needs.

    Returns a sentence for each dataset and model that is not here.
    """
    value = document.value.get("definition") if isinstance(document.value, dict) else None
    library = Library(nearby)
    errors = unresolved(document, ("definition",), value, library)
    if broken := [error for error in errors if not _may_come(error.__cause__)]:
        raise all_of(broken)
    return [*map(str, errors), *absent_models(library.missing_models)]


def _may_come(cause: BaseException | None) -> bool:
    """Whether a dataset is only not here yet: its key is not that of another one with a slip."""
    return isinstance(cause, NoDatasetError) and not cause.misspelt


def _check_model(document: Document, value: Plain) -> None:
    """A model file by itself: an adapter that it names need not be here, but its key and its address must be usable."""
    _, spec = model_spec(document, (), checked_model(document, value), lambda *_: AdapterReference())
    address = spec.options.get("base_url")
    if isinstance(address, str) and not address.startswith(("http://", "https://", "$")):
        raise document.error(
            ("config", "url"), f"`{address}` is not the address of a server, which begins with http:// or https://"
        )


_CHECKS: Mapping[str, Callable[[Document, Plain], object]] = {
    "task": check_only,
    "dataset": checked_dataset,
    "model": _check_model,
    "model_adapter": checked_adapter,
    "evaluation": checked_evaluation,
}
