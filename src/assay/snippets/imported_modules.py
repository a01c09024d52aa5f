"""The author's own modules that snippets import: read with the task, and part of its identity."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import PartSpec, TaskDefinition
from assay.reading.python_imports import reachable_modules
from assay.text.os_errors import is_file

MAX_MODULES = 200
MAX_SOURCE_BYTES = 1 << 20


class OwnModules(NamedTuple):
    sources: dict[str, str]
    """By file, relative to the folder where it was found: `lib/text.py`."""
    files: list[Path]


def own_modules(snippets: Iterable[str], folders: Sequence[Path], refuse: Callable[[Path], str | None]) -> OwnModules:
    """The modules in these folders that the snippets import; the first folder that has one gives it.

    `refuse` says why a file may not be read. `UsageError` for one that is called as a module of Python.
    """
    files: list[Path] = []
    size = 0

    def source_of(file: str) -> str | None:
        nonlocal size
        path = next((each for folder in folders if is_file(each := folder / file)), None)
        if path is None:
            return None
        name = file.partition("/")[0].removesuffix(".py")
        if name in sys.stdlib_module_names:
            raise UsageError(f"a snippet imports `{name}`, a module of Python, and {path} is called so too; rename it")
        if reason := refuse(path):
            raise UsageError(f"a snippet imports {path}: it {reason}")
        try:
            content = read_regular(path, MAX_SOURCE_BYTES)
            source = content.decode("utf-8-sig")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error
        files.append(path)
        size += len(content)
        if len(files) > MAX_MODULES or size > MAX_SOURCE_BYTES:
            limits = f"{MAX_MODULES} modules of the project, or {MAX_SOURCE_BYTES >> 20} MiB of them"
            raise UsageError(f"snippets import more than {limits}")
        return source

    return OwnModules(reachable_modules(snippets, source_of), files)


def snippets_of(parts: Iterable[PartSpec]) -> list[str]:
    """The author's Python in the options of these parts."""
    return [text for part in parts for text in _snippets_in(part.options)]


def modules_of(parts: Iterable[PartSpec], definition: TaskDefinition) -> dict[str, str]:
    """Those of a task's modules that these of its parts import."""
    return reachable_modules(snippets_of(parts), definition.modules.get) if definition.modules else {}


def _snippets_in(options: Any) -> Iterable[str]:
    if isinstance(options, Mapping):
        for name, value in options.items():
            if name.endswith("_snippet") and isinstance(value, str):
                yield value
            else:
                yield from _snippets_in(value)
    elif isinstance(options, list | tuple):
        for value in options:
            yield from _snippets_in(value)
