"""Paths and names -> TaskDefinitions: looks at each file and lets the reader of its format read it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import irregular, open_regular
from assay.core.types import TaskDefinition

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


def load_tasks(
    sources: Sequence[str],
    *,
    allow_bad: bool = False,
    config: dict[str, Any] | None = None,
    trust: bool = False,
    only_reads: bool = False,
    **declarative: Any,
) -> list[TaskDefinition]:
    """Every task that the given files, folders and built-in names hold. Names must be unique among them.

    `config` and `declarative` (`models`, `dataset`, `allow_outside`) are for YAML files. With `only_reads`,
    for who wants to look at tasks, no server is asked for anything and models need not be there.
    """
    definitions: list[TaskDefinition] = []
    wrong: list[str] = []
    for path in [path for source in sources for path in files_of(source)]:
        try:
            if path.suffix in YAML:
                from assay.tasks.declarative.load import read_yaml_tasks

                how = {"config": config or {}, "trust": trust, "only_reads": only_reads, **declarative}
                definitions.extend(read_yaml_tasks(path, **how))
            else:
                definitions.extend(_read(path, allow_bad=allow_bad))
        except UsageError as error:
            wrong.append(str(error))  # what is wrong in the other files is told in the same breath
    if wrong:
        raise UsageError("\n".join(wrong))
    _refuse_equal_names(definitions)
    return definitions


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
        files = sorted(p for p in path.iterdir() if p.suffix in (".jsonl", *YAML) and p.is_file() and p.name[0] != ".")
        if any(file.suffix in YAML for file in files):
            from assay.tasks.declarative.load import only_tasks

            files = only_tasks(files)
        if not files:
            raise UsageError(f"{path}: no task files (.jsonl, .yaml) in this folder")
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


def _nameable(path: Path) -> Path:
    """The path, if its name can be written into a run: a task is called by it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"{shown}: the file's name is not UTF-8, so no task can be called by it; rename it") from None
    return path


def _near(path: Path) -> Path | None:
    """What lies beside a path that does not exist and is spelt much like it."""
    if not path.parent.is_dir():
        return None
    beside = [each.name for each in path.parent.iterdir() if each.is_dir() or each.suffix in (".jsonl", *YAML)]
    near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.7)
    return path.parent / near[0] if near else None


def _read(path: Path, *, allow_bad: bool) -> list[TaskDefinition]:
    if path.suffix != ".jsonl":
        raise UsageError(f"{path}: a task file ends in .jsonl or .yaml{OTHER_FILES.get(path.suffix, '')}")
    if looks_like_spec_file(path):
        from assay.tasks.spec_file import read_spec_file

        return read_spec_file(path, allow_bad=allow_bad)
    from assay.tasks.task_folder import read_task_file

    return [read_task_file(path)]


def _refuse_equal_names(definitions: list[TaskDefinition]) -> None:
    sources: dict[str, str] = {}
    for definition in definitions:
        if definition.name in sources:
            raise UsageError(
                f"two tasks are called `{definition.name}`: in {sources[definition.name]} and in {definition.source}. "
                "Rename one of the files, or run them apart."
            )
        sources[definition.name] = definition.source
