"""Paths and names -> TaskDefinitions: looks at each file and lets the reader of its format read it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

from assay.catalog import is_name, unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import irregular, open_regular
from assay.core.types import TaskDefinition
from assay.tasks.library.names import INSPECT, LM_EVAL, OPENAI_EVALS
from assay.tasks.models_by_key import ModelsByKey
from assay.tasks.project import is_inside_this_project, out_of_bounds, root_of
from assay.tasks.shots import Shots
from assay.wording import nearest

if TYPE_CHECKING:
    from assay.costs.budget import SpendingLimits
    from assay.tasks.declarative.places import Places
    from assay.tasks.lm_eval.source import LmEvalOptions

YAML = (".yaml", ".yml")
OTHER_FILES = {
    ".csv": "; a table is the dataset of a YAML task: see docs/declarative.md",
    ".json": ": one JSON object per line, each an example",
    ".py": "; Python is named inside a task file, as `module:function`",
}
"""What to do with files that people try."""
BUILT_IN = {
    "starter": "the five starter tasks",
    "fixtures": "the ten tasks of the frozen spec",
    "demo-real": "forty simple items for a small real model",
}


class ReadingKeywords(TypedDict, total=False):
    """The keyword options for task files, for type checkers and editors."""

    config: Mapping[str, Any]
    """Values for the parameters of YAML tasks."""
    trust: bool
    models: Mapping[str, str]
    """The model behind a key."""
    evaluated: Sequence[str]
    """The evaluated models, which may be keys of model files."""
    dataset: str | None
    """The dataset that a dataset task evaluates."""
    allow_outside: bool
    """Whether files outside the project may be included."""
    only_reads: bool
    """Whether tasks are only displayed: no server is called, and models need not exist."""
    models_needed: bool
    may_call_models: bool
    """Whether models may already be called, to write datasets."""
    limits: SpendingLimits
    """What they may be paid for it."""


def load_tasks(
    sources: str | Sequence[str],
    *,
    allow_bad: bool = False,
    lm_eval: LmEvalOptions | None = None,
    registry: str | None = None,
    **how: Unpack[ReadingKeywords],
) -> list[TaskDefinition]:
    """Every task that the given files, folders and built-in names hold. Names must be unique among them.

    `how` are `config`, `models`, `dataset` and `allow_outside` for YAML files, `trust`, and `only_reads` to only
    display tasks; `lm_eval` is for its tasks, `registry` for those of OpenAI evals.
    """
    sources = [sources] if isinstance(sources, str) else sources
    if lm_eval is not None and not any(source.startswith(LM_EVAL) for source in sources):
        lm_eval.refuse_without(takes_data=any(source.startswith((INSPECT, OPENAI_EVALS)) for source in sources))
    if registry is not None and not any(source.startswith(OPENAI_EVALS) for source in sources):
        raise UsageError(f"--registry: only for evals of OpenAI's registry, such as `{OPENAI_EVALS}test-match`")
    loaded, refused = read_sources(sources, allow_bad=allow_bad, lm_eval=lm_eval, registry=registry, **how)
    if refused:
        raise UsageError("\n".join([*(str(each.error) for each in refused), *_others(loaded, refused)]))
    return [task.definition for task in loaded]


def _others(loaded: Sequence[LoadedTask], refused: Sequence[RefusedFile]) -> list[str]:
    """How to continue without the tasks of a folder that only lack values."""
    from assay.tasks.declarative.config_spec import NoValueError

    if not loaded or not all(each.in_folder and isinstance(each.error, NoValueError) for each in refused):
        return []
    files = dict.fromkeys(task.definition.source for task in loaded)
    return [f"or name the others: {' '.join(shlex.quote(file) for file in files)}"]


class LoadedTask(NamedTuple):
    """A task, and the locations of its fields if its file is YAML."""

    definition: TaskDefinition
    places: Places | None = None
    takes_dataset: bool = False
    """Whether the dataset that the caller named is its own."""


class RefusedFile(NamedTuple):
    """A file that could not be read as a task, and why."""

    path: Path
    error: UsageError
    in_folder: bool
    """Whether the user named its folder and not the file itself."""


def read_sources(
    sources: Sequence[str],
    *,
    allow_bad: bool = False,
    lm_eval: LmEvalOptions | None = None,
    registry: str | None = None,
    **how: Unpack[ReadingKeywords],
) -> tuple[list[LoadedTask], list[RefusedFile]]:
    """The tasks of every file that could be read, and what is wrong with each of the others.

    A `dataset` replaces the one that a YAML file names; in a folder it is for the tasks that name none.
    """
    for name in how:
        if name not in ReadingKeywords.__annotations__:
            raise UsageError(unknown_name("option of task files", name, ReadingKeywords.__annotations__))
    loaded: list[LoadedTask] = []
    refused: list[RefusedFile] = []
    shots = _shots_of(lm_eval)
    how["models"] = models = ModelsByKey(how.get("models") or {})
    for source in sources:
        if (definitions := _of_other_program(source, lm_eval, registry, how)) is not None:
            loaded.extend(LoadedTask(definition) for definition in definitions)
            continue
        in_folder = Path(source).is_dir()
        for path in files_of(source):
            try:
                if not how.get("allow_outside"):
                    _refuse_link_out(path, typed=not in_folder)
                if _is_promptfoo(path):
                    _refuse_shots(shots, str(path))
                    loaded.extend(LoadedTask(definition) for definition in _read_promptfoo(path, how))
                elif path.suffix in YAML:
                    from assay.tasks.declarative.load import read_located_tasks
                    from assay.tasks.declarative.reading_options import ReadingOptions

                    options = ReadingOptions(replaces_dataset=not in_folder, shots=shots, **how)
                    loaded.extend(read_located_tasks(path, options))
                else:
                    loaded.extend(LoadedTask(definition) for definition in _read(path, shots, allow_bad=allow_bad))
            except UsageError as error:
                refused.append(RefusedFile(path, error, in_folder=in_folder))
    _refuse_equal_names([task.definition for task in loaded])
    if how.get("dataset") is not None and not refused and not any(task.takes_dataset for task in loaded):
        named = how["dataset"]
        raise UsageError(f"--dataset-key {named}: no task here takes one; name the YAML task whose dataset it replaces")
    if not refused:
        models.refuse_unused()
    return _with_model_files(loaded, how), refused


def _with_model_files(loaded: list[LoadedTask], how: ReadingKeywords) -> list[LoadedTask]:
    """The tasks with what the keys of model files among the evaluated models stand for."""
    if all(":" in name or is_name("model", name) for name in how.get("evaluated", ())):
        return loaded
    from assay.tasks.declarative.load import with_model_files

    return [with_model_files(task, how) for task in loaded]


def _of_other_program(
    source: str, lm_eval: LmEvalOptions | None, registry: str | None, how: ReadingKeywords
) -> list[TaskDefinition] | None:
    """The tasks that a name such as `lm_eval:gsm8k` stands for; None for files and folders."""
    if source.startswith(LM_EVAL):
        from assay.tasks.lm_eval.source import read_lm_eval

        return read_lm_eval(source, lm_eval, trust=bool(how.get("trust")))
    if source.startswith(INSPECT):
        from assay.tasks.inspect.source import read_inspect

        _refuse_shots(_shots_of(lm_eval), source)
        definition = read_inspect(
            source,
            arguments=how.get("config"),
            data=lm_eval.data if lm_eval else {},
            models=how.get("models"),
            trust=bool(how.get("trust")),
        )
        return [definition]
    if source.startswith(OPENAI_EVALS):
        from assay.tasks.openai_evals.source import read_openai_eval

        _refuse_shots(_shots_of(lm_eval), source)
        data = lm_eval.data if lm_eval else {}
        return [read_openai_eval(source, registry, models=how.get("models"), data=data)]
    return None


def _shots_of(lm_eval: LmEvalOptions | None) -> Shots:
    return Shots() if lm_eval is None else lm_eval.shots()


def _refuse_shots(shots: Shots, source: str) -> None:
    """A file of another program says itself which few-shot examples it has."""
    if shots.wants_examples or shots.count == 0:
        raise UsageError(f"{shots.flags}: {source} has few-shot examples of its own, or none")


def _is_promptfoo(path: Path) -> bool:
    if path.suffix not in (*YAML, ".json"):
        return False
    from assay.tasks.promptfoo.config import is_promptfoo

    return is_promptfoo(path)


def _read_promptfoo(path: Path, how: ReadingKeywords) -> list[TaskDefinition]:
    from assay.tasks.promptfoo.source import read_promptfoo

    return read_promptfoo(
        path,
        models=how.get("models"),
        allow_outside=how.get("allow_outside", False),
        trust=how.get("trust", False),
        only_reads=how.get("only_reads", False),
    )


def looks_like_spec_file(path: Path) -> bool:
    """Whether the first record of a JSONL file is of the frozen spec rather than of a task folder."""
    with open_regular(path) as file:
        for _ in range(1000):
            line = file.readline(1 << 16)
            if not line:
                return False
            text = line.lstrip(b"\xef\xbb\xbf \t\r\n")
            if text and not text.startswith(b"#"):
                return b'"task_id"' in text or b'"metric_name"' in text
    return False


def files_of(source: str) -> list[Path]:
    """The task files that a path or a built-in name stands for."""
    if source in BUILT_IN and not Path(source).exists():
        from assay.tasks.fixtures import built_in_files

        return built_in_files(source)
    path = Path(source)
    if path.is_dir():
        if (path / "run.json").exists() and (path / "journal.jsonl").exists():
            resumed = "rerun the command that started it to resume it"
            raise UsageError(f"{path}: is a run folder, not tasks; `assay show {path}` shows it, and {resumed}")
        candidates = files = _task_like(path)
        if any(file.suffix in YAML for file in files):
            from assay.tasks.declarative.load import only_tasks

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
    """The task file or folder whose name is spelt most like that of a missing one."""
    if not path.parent.is_dir():
        return None
    siblings = [each for each in path.parent.iterdir() if each.is_dir() or each.suffix in (".jsonl", *YAML)]
    # by the stem: an ending alone makes no two names alike
    by_stem = {each.stem: each for each in siblings}
    near = nearest(path.stem, by_stem)
    return by_stem[near] if near else None


def _read(path: Path, shots: Shots, *, allow_bad: bool) -> list[TaskDefinition]:
    if path.suffix != ".jsonl":
        raise UsageError(f"{path}: a task file ends in .jsonl or .yaml{OTHER_FILES.get(path.suffix, '')}")
    if looks_like_spec_file(path):
        from assay.tasks.frozen_spec.reader import read_spec_file

        return read_spec_file(path, allow_bad=allow_bad, shots=shots)
    shots.refuse_folder(path)
    from assay.tasks.folder.reader import read_task_file

    return [read_task_file(path)]


def _refuse_equal_names(definitions: list[TaskDefinition]) -> None:
    sources: dict[tuple[str, str], str] = {}
    for definition in definitions:
        key = (definition.name, str(definition.metadata.get("variant")))  # those of a matrix are runs of their own
        if key in sources:
            raise UsageError(
                f"two tasks are called `{definition.name}`: in {sources[key]} and in {definition.source}. "
                "Rename one of the files, or run them separately."
            )
        sources[key] = definition.source
