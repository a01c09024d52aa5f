"""Paths and names -> TaskDefinitions: looks at each file and lets the reader of its format read it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import msgspec

from assay.catalog import is_name, unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import irregular
from assay.core.types import TaskDefinition
from assay.formats.models_by_key import ModelsByKey
from assay.formats.project.discovery import FILE_NAME as PROJECT_FILE
from assay.formats.shots import Shots
from assay.formats.task_source import LoadedTask, SourceContext
from assay.tasks.project_sources import ProjectSources, project_sources
from assay.tasks.sources import read_claimed, refuse_unclaimed, source_named, source_of_file
from assay.tasks.task_settings import TaskSettings
from assay.text.wording import nearest
from assay.trust.project import is_inside_this_project, out_of_bounds, root_of

if TYPE_CHECKING:
    from assay.costs.budget import SpendingLimits
    from assay.formats.declarative.prompt_texts import PromptText

YAML = (".yaml", ".yml")
OTHER_FILES = {
    ".json": ": one JSON object per line, each an example; or a list of rows",
    ".py": "; Python is named inside a task file, as `module:function`",
}
"""What to do with files that people try."""
BUILT_IN = {
    "starter": "the five starter tasks",
    "fixtures": "the ten tasks of the frozen spec",
    "demo-real": "forty simple items for a small real model",
}


class ReadingKeywords(TaskSettings, total=False):
    """The keyword options for task files, for type checkers and editors."""

    config: Mapping[str, Any]
    """Values for the parameters of YAML tasks."""
    trust: bool
    evaluated: Sequence[str]
    """The evaluated models, which may be keys of model files."""
    only_reads: bool
    """Whether tasks are only displayed: no server is called, and models need not exist."""
    models_needed: bool
    may_call_models: bool
    """Whether models may already be called, to write datasets."""
    limits: SpendingLimits
    """What they may be paid for it."""
    replaces_datasets: bool
    """Whether `dataset` also replaces those of the tasks of a folder."""
    prompt: PromptText | None
    """The prompt of the cell of a matrix."""
    judge_from: str
    """Who chose the judge, in a few words."""
    only_looks: bool
    """Whether a definition that lists what would run is enough."""
    system: str | None
    """The system message, for tasks that put it into their requests themselves."""


def load_tasks(
    sources: str | Sequence[str],
    *,
    allow_bad: bool = False,
    leave_out_broken: bool = False,
    **how: Unpack[ReadingKeywords],
) -> list[TaskDefinition]:
    """Every task that the given files, folders and names hold. Names must be unique among them.

    With `allow_bad`, bad records are left out and counted; with `leave_out_broken`, files of a folder that cannot be
    read, which the first task's warnings name.

    `how` are the fields of `ReadingKeywords`: `config`, `models`, `dataset` and `allow_outside` for YAML files,
    `num_fewshot`, `trust`, `only_reads` to only display tasks, and `source_options` for settings that one source has.
    """
    sources = [sources] if isinstance(sources, str) else sources
    loaded, refused = read_sources(sources, allow_bad=allow_bad, **how)
    left_out = [file for file in refused if leave_out_broken and loaded and file.in_folder]
    if len(refused) > len(left_out):
        sentences = dict.fromkeys(str(file.error) for file in refused)  # what is wrong with all of them is said once
        raise UsageError("\n".join([*sentences, *_others(loaded, refused)]))
    definitions = [task.definition for task in loaded]
    return _with_warnings(
        definitions, [f"{file.path} is left out (--allow-bad-tasks): {file.error}" for file in left_out]
    )


def _with_warnings(definitions: list[TaskDefinition], warnings: Sequence[str]) -> list[TaskDefinition]:
    """What is said of a folder is reported, and recorded, with the first of its tasks."""
    if not warnings:
        return definitions
    first, *others = definitions
    known = msgspec.structs.replace(first.provenance, warnings=(*warnings, *first.provenance.warnings))
    return [msgspec.structs.replace(first, provenance=known), *others]


def _others(loaded: Sequence[LoadedTask], refused: Sequence[RefusedFile]) -> list[str]:
    """How to continue without the tasks of a folder that only lack values."""
    from assay.formats.declarative.config_spec import NoValueError

    if not loaded or not all(file.in_folder and isinstance(file.error, NoValueError) for file in refused):
        return []
    files = dict.fromkeys(task.definition.source for task in loaded)
    return [f"or name the others: {' '.join(shlex.quote(file) for file in files)}"]


class RefusedFile(NamedTuple):
    """A file that could not be read as a task, and why."""

    path: Path
    error: UsageError
    in_folder: bool
    """Whether the user named its folder and not the file itself."""
    source: str | None = None
    """The source that claims it."""


def read_sources(
    sources: Sequence[str], *, allow_bad: bool = False, **how: Unpack[ReadingKeywords]
) -> tuple[list[LoadedTask], list[RefusedFile]]:
    """The tasks of every file that could be read, and what is wrong with each of the others.

    A `dataset` replaces the one that a YAML file names; in a folder it is for the tasks that name none.
    """
    loaded: list[LoadedTask] = []
    refused: list[RefusedFile] = []
    options = how.get("source_options") or {}
    how["models"] = models = ModelsByKey(how.get("models") or {})
    context = context_of(how, allow_bad=allow_bad)
    named = [(text, source_named(text)) for text in sources]
    project = project_sources()
    terms = how.get("tagged") or ()
    files = task_files_named([text for text, name in named if name is None], project, terms)
    if terms and (others := [text for text, name in named if name is not None]):
        raise UsageError(f"-t {terms[0]}: is for tasks of the project; `{others[0]}` is none, so run it apart")
    claimed = [name for _, name in named if name is not None]
    if options or context.data:
        paths = [path for each in files.values() for path in each]
        claimed += [name for path in paths if (name := source_of_file(path, options)) is not None]
        refuse_unclaimed(claimed, context.data, options)
    is_again = _Seen()
    for text, name in named:
        if name is not None:
            own = config_of_task(context.config, {text, text.partition(":")[2]})
            loaded.extend(read_claimed(name, text, replace(context, config=own), options))
            continue
        in_folder = Path(text).is_dir() or (project is not None and project.are_several(text))
        for path in files[text] if project is None else [path for path in files[text] if not is_again(path)]:
            source = None
            try:
                if not context.allow_outside:
                    _refuse_link_out(path, typed=not in_folder)
                source = source_of_file(path, options)
                loaded.extend(_read_file(path, source, replace(context, in_folder=in_folder), options, project))
            except UsageError as error:
                refused.append(RefusedFile(path, error, in_folder=in_folder, source=source))
    _refuse_equal_names([task.definition for task in loaded])
    if context.dataset is not None and not refused and not any(task.takes_dataset for task in loaded):
        raise UsageError(
            f"--dataset-key {context.dataset}: no task here takes one; name the YAML task whose dataset it replaces"
        )
    takes_judge = bool(models.judged) or any(task.takes_judge for task in loaded)
    if context.judge is not None and not refused and not takes_judge:
        raise UsageError(
            f"the judge `{context.judge}` {context.judge_from} judges nothing: no task here has a model key "
            "that neither a file nor --model-for describes; leave it out"
        )
    if not refused:
        models.refuse_unused()
    if not refused and context.config:
        from assay.formats.declarative.config_spec import refuse_unused

        definitions = [task.definition for task in loaded]
        refuse_unused([key for key in context.config if ":" not in key], definitions)
        for task, name in (key.rsplit(":", 1) for key in context.config if ":" in key):
            refuse_unused([name], _called(task, definitions))
    return _with_model_files(loaded, context, models.judged), refused


def _names_of(path: Path, project: ProjectSources | None) -> set[str]:
    """What `--config TASK:KEY=VALUE` may call the task of a file: its file, or its name in the project."""
    file = None if project is None else project.file_at(path)
    return {path.stem} if file is None else {path.stem, file.name}


def config_of_task(config: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The parameters that are for a task with these names: those for all tasks, and its own, which come first."""
    names = set(names)
    own = {
        key.rsplit(":", 1)[1]: value for key, value in config.items() if ":" in key and key.rsplit(":", 1)[0] in names
    }
    return {**{key: value for key, value in config.items() if ":" not in key}, **own}


def _called(name: str, definitions: Sequence[TaskDefinition]) -> list[TaskDefinition]:
    found = [task for task in definitions if name in (task.name, Path(task.source).stem)]
    if not found:
        raise UsageError(f"--config {name}:…: {unknown_name('task here', name, [task.name for task in definitions])}")
    return found


def _read_file(
    path: Path,
    source: str | None,
    context: SourceContext,
    options: Mapping[str, Mapping[str, Any]],
    project: ProjectSources | None,
) -> list[LoadedTask]:
    """The tasks of one file, as the project has them if there is one."""
    context = replace(context, config=config_of_task(context.config, _names_of(path, project)))
    if source is None:
        raise UsageError(f"{path}: a task file ends in .jsonl or .yaml{OTHER_FILES.get(path.suffix, '')}")
    if project is None:
        return read_claimed(source, str(path), context, options)
    return project.labelled(path, read_claimed(source, str(path), project.context_for(path, context), options))


class _Seen:
    """Notes files, and whether each was noted before: a task that two names of a project stand for runs once."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()

    def __call__(self, path: Path) -> bool:
        resolved = path.resolve()
        again = resolved in self._paths
        self._paths.add(resolved)
        return again


def task_files_named(
    texts: Sequence[str], project: ProjectSources | None, terms: Sequence[str] = ()
) -> dict[str, list[Path]]:
    """The task files that paths and names stand for, of which all terms hold."""
    if terms and project is None:
        raise UsageError(f"-t {terms[0]}: is for the tasks of a project, and there is no {PROJECT_FILE} here")
    files = {text: _files_of(text, project) for text in texts}
    return project.narrowed(files, terms) if terms and project is not None else files


def _files_of(text: str, project: ProjectSources | None) -> list[Path]:
    """The task files that a path or a name stands for, in the project if there is one."""
    if project is None and text.startswith("@") and not Path(text).exists():
        raise UsageError(f"{text} names a suite of a project, and there is no {PROJECT_FILE} here: see docs/project.md")
    if project is not None and (text not in BUILT_IN or Path(text).exists()):
        files = project.files(text)
        if files is not None:
            return [_nameable(path) for path in files]
    return files_of(text)


def context_of(how: Mapping[str, Any], *, allow_bad: bool = False) -> SourceContext:
    """What sources are given, from the keywords of a caller; `UsageError` for one that there is not."""
    for name in how:
        if name not in ReadingKeywords.__annotations__:
            raise UsageError(unknown_name("option of task files", name, ReadingKeywords.__annotations__))
    count = how.get("num_fewshot")
    if count is not None and count < 0:
        raise UsageError(f"--num-fewshot must be 0 or more, got {count}")
    own = ("num_fewshot", "fewshot_as_turns", "source_options", "tagged")
    told = {name: value for name, value in how.items() if name not in own and value is not None}
    shots = Shots(count, bool(how.get("fewshot_as_turns")))
    return SourceContext(**told, shots=shots, allow_bad=allow_bad)


def _with_model_files(loaded: list[LoadedTask], context: SourceContext, judged: Mapping[str, str]) -> list[LoadedTask]:
    """The tasks with what the keys of model files among the named models stand for."""
    named = (*context.evaluated, *context.models.values(), *judged.values())
    if all(":" in name or is_name("model", name) for name in named):
        return loaded
    from assay.formats.declarative.load import with_model_files

    return [with_model_files(task, context, judged) for task in loaded]


def files_of(source: str) -> list[Path]:
    """The task files that a path or a built-in name stands for."""
    if source in BUILT_IN and not Path(source).exists():
        from assay.formats.fixtures import built_in_files

        return built_in_files(source)
    path = Path(source)
    if path.is_dir():
        if (path / "run.json").exists() and (path / "journal.jsonl").exists():
            resumed = "rerun the command that started it to resume it"
            raise UsageError(f"{path}: is a run folder, not tasks; `assay show {path}` shows it, and {resumed}")
        candidates = files = _task_like(path)
        if any(file.suffix in YAML for file in files):
            from assay.formats.declarative.load import only_tasks

            files = only_tasks(files)
        if not files:
            raise UsageError(f"{path}: no task files (.jsonl, .yaml) in this folder{_instead_of(path, candidates)}")
        return [_nameable(file) for file in files]
    if path.is_file():
        return [_nameable(path)]
    if kind := irregular(path):
        raise UsageError(f"{source}: is {kind}, not a regular file")
    if near := _near(path):
        raise UsageError(f"{source}: no such file or folder. Did you mean `{near}`?")
    if "/" in source or "." in source:
        raise UsageError(f"{source}: no such file or folder")
    raise UsageError(unknown_name("task file, folder or built-in task set", source, BUILT_IN))


def _refuse_link_out(path: Path, *, typed: bool) -> None:
    """Refuse a task file that is a link out of its project, unless the user typed it and it is the user's own link."""
    if not path.is_symlink() or (typed and is_inside_this_project(path.parent)):
        return
    if reason := out_of_bounds(path, root_of(path.parent)):
        raise UsageError(f"{path}: {reason}; name the file itself, or allow it with --allow-outside")


def _task_like(folder: Path) -> list[Path]:
    files = (path for path in folder.iterdir() if path.suffix in (".jsonl", *YAML) and path.name[0] != ".")
    return sorted(filter(Path.is_file, files))


def _instead_of(folder: Path, files: Sequence[Path]) -> str:
    """What to name instead of a folder without tasks: YAML files of other kinds in it, or its `tasks`."""
    inner = folder / "tasks"
    instead = [f"{inner}/"] if inner.is_dir() and _task_like(inner) else []
    instead += [str(path) for path in files if path.suffix in YAML]
    return f"; name {' or '.join(instead[:5])} instead" if instead else ""


def _nameable(path: Path) -> Path:
    """The path, if its name can be written into a run: a task is called by it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"{shown}: the file's name is not UTF-8, so it cannot name a task; rename it") from None
    return path


def _near(path: Path) -> Path | None:
    """The task file, or the folder where the name has no ending, that is spelt most like a missing one."""
    if not path.parent.is_dir():
        return None
    endings = (".jsonl", *YAML)
    siblings = [each for each in path.parent.iterdir() if each.suffix in endings or (each.is_dir() and not path.suffix)]
    # by the stem: an ending alone makes no two names alike
    by_stem = {sibling.stem: sibling for sibling in siblings}
    near = nearest(path.stem, by_stem)
    return by_stem[near] if near else None


def _refuse_equal_names(definitions: list[TaskDefinition]) -> None:
    sources: dict[tuple[str, str], str] = {}
    for definition in definitions:
        key = (definition.name, str(definition.plan.variant))  # those of a matrix are runs of their own
        if key in sources:
            raise UsageError(
                f"two tasks are called `{definition.name}`: in {sources[key]} and in {definition.source}. "
                "Rename one of the files, or run them separately."
            )
        sources[key] = definition.source
