"""Which project a file belongs to, and which one the command runs in: what it may read, and whose code it is."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

_REPOSITORIES = (".git", ".hg", ".svn", ".jj", ".bzr")
"""What a repository has at its top, whichever program made it."""
_MARKS = (*_REPOSITORIES, ".assay", "assay.yaml", "pyproject.toml")


def project_root(path: Path) -> Path:
    """The project a file belongs to: the nearest folder above it that looks like one, else its own folder.

    A world-writable folder, the home folder and the root of the disk are never a project: a marker file left
    there would turn everything below into one.
    """
    start = path if path.is_dir() else path.parent
    for folder in (start, *start.parents):
        if _belongs_to_all(folder):
            return start
        if _has_any(folder, _MARKS):
            return folder
    return start


def current_project() -> Path | None:
    """The project the command runs in; None in a folder that is not a project, where no file is the user's own."""
    root = project_root(Path.cwd())
    return None if _belongs_to_all(root) else root.resolve()


def is_of_this_project(path: Path) -> bool:
    """Whether a path, with links resolved, is a file of the project the command runs in."""
    return path.is_file() and is_inside_this_project(path)


def is_inside_this_project(path: Path) -> bool:
    """Whether a file or folder, with links resolved, is part of the project the command runs in.

    A repository inside it, cloned or a submodule, is not: somebody else may have written it.
    """
    here = current_project()
    return here is not None and path.exists() and _is_part(path.resolve(), here)


def repository_inside_this_project(path: Path) -> Path | None:
    """The repository inside the current project that a path lies in, if it does."""
    here, path = current_project(), path.resolve()
    if here is None or not path.is_relative_to(here):
        return None
    below = (folder for folder in (path, *path.parents) if folder != here and folder.is_relative_to(here))
    return next((folder for folder in below if _has_any(folder, _REPOSITORIES)), None)


def _has_any(folder: Path, names: Sequence[str]) -> bool:
    return any((folder / name).exists() for name in names)


def _is_part(path: Path, project: Path) -> bool:
    return path.is_relative_to(project) and repository_inside_this_project(path) is None


def root_of(path: Path) -> Path:
    """What a file may read: the project the command runs in when the file is of it, else the file's own project."""
    here = current_project()
    return here if here is not None and _is_part(path.resolve(), here) else project_root(path.resolve())


def out_of_bounds(path: Path, root: Path) -> str | None:
    """Why a file may not be read on the word of another file: with links resolved, it must be an open one of the root.

    Names that begin with a dot hold keys, credentials and histories.
    """
    path, root = path.resolve(), root.resolve()
    if not path.is_relative_to(root):
        return f"leads outside the project ({root})"
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return "is a hidden file" if hidden else None


def _belongs_to_all(folder: Path) -> bool:
    return folder == folder.parent or folder == _home() or bool(folder.stat().st_mode & stat.S_IWOTH)


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # a user without a home folder
        return None
