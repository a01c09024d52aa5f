"""Which project file is in force: the one that the user named, else the one at the root of the project around.

Without one everything is as it is without projects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import UsageError
from assay.trust.project import project_root

if TYPE_CHECKING:
    from assay.formats.project.reader import Project

FILE_NAME = "assay.yaml"
VARIABLE = "ASSAY_PROJECT"
_chosen: ContextVar[Path | None] = ContextVar("_chosen", default=None)


@contextmanager
def using(path: Path | None) -> Iterator[None]:
    """Use this project file, or that of this folder, meanwhile; None: the one that is found."""
    before = _chosen.get()
    _chosen.set(before if path is None else _named(path, "--project"))
    try:
        yield
    finally:
        _chosen.set(before)


def project_file() -> Path | None:
    """The project file in force, relative to here where it lies above or below; None where there is none."""
    if (chosen := _chosen.get()) is not None:
        return chosen
    if named := os.environ.get(VARIABLE):
        return _named(Path(named), VARIABLE)
    root = project_root(Path.cwd())
    path = root / FILE_NAME
    return Path(os.path.relpath(path)) if path.is_file() else None


def current_project() -> Project | None:
    """The project in force, read once for each version of its file; None where there is none."""
    path = project_file()
    if path is None:
        return None
    status = path.stat()
    return _read(path, Path.cwd(), (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=8)
def _read(path: Path, _cwd: Path, _version: tuple[int, ...]) -> Project:
    from assay.formats.project.reader import read_project  # only projects need it

    return read_project(path)


def _named(path: Path, by: str) -> Path:
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"{by} {path}: there is no project file {file}")
    return file
