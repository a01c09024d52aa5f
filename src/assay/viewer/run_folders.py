"""Finds run folders. A run is requested by its name, which is looked up here and never made into a path."""

from __future__ import annotations

import os
import re
from pathlib import Path

from assay.core.errors import UsageError

DEPTH = 4
MOST = 5000
HIDDEN = re.compile(r"^\.|\.old-\d+$")
"""Names of folders that are not looked into: hidden ones, and runs that `--fresh` moved aside."""


def find_runs(roots: list[Path], *, awaited: bool = False) -> dict[str, Path]:
    """Every run folder below the roots by its name: the path from its root, made distinct when two are alike.

    A root that does not exist is an error, unless it is awaited: then it has no runs yet.
    """
    folders: dict[str, Path] = {}
    for root in roots:
        if not root.is_dir():
            if awaited and not root.exists():
                continue
            raise UsageError(f"{root}: no such folder; give a run folder or a folder of run folders")
        for folder in _below(root, DEPTH):
            name = folder.name if folder == root else folder.relative_to(root).as_posix()
            unique, number = name or root.resolve().name or "run", 2
            while unique in folders:
                unique, number = f"{name} ({number})", number + 1
            folders[unique] = folder
            if len(folders) >= MOST:
                return folders
    return folders


def _below(folder: Path, depth: int) -> list[Path]:
    """Links are not followed: what lies outside the root stays outside."""
    if (folder / "run.json").is_file():
        return [folder]
    if depth == 0:
        return []
    try:
        with os.scandir(folder) as entries:
            inner = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False) and not HIDDEN.search(e.name))
    except OSError:
        return []
    return [run for name in inner for run in _below(folder / name, depth - 1)]


def is_being_written(journal: Path) -> bool | None:
    """Whether a process holds the journal's lock, checked without touching it; None when that is unknown."""
    try:
        inode = journal.stat().st_ino
        locks = Path("/proc/locks").read_text()
    except OSError:
        return None
    return any(f":{inode} " in line and "WRITE" in line for line in locks.splitlines())
