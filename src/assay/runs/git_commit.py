"""The git checkout a run is made in: which commit it was at, and in which order commits came.

The commit is read from git's own files: `git` in an untrusted folder may run what its configuration names, takes
longer, and may not be installed. What was changed and not committed is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

COMMIT = re.compile(r"[0-9a-f]{40,64}")
SMALL = 1 << 16
SECONDS = 20.0
MOST_BYTES = 256 << 20
"""Of commits: six million of them."""


def commit_here(folder: Path | None = None) -> str:
    """The commit that is checked out around this folder; empty where none can be read."""
    try:
        here = (folder or Path.cwd()).resolve()
        git = next((parent / ".git" for parent in (here, *here.parents) if (parent / ".git").exists()), None)
        commit = "" if git is None else _head(*_folders(git))
        return commit if COMMIT.fullmatch(commit) else ""
    except (OSError, ValueError, RuntimeError):
        return ""


def commits_in_order(commits: Iterable[str], folder: Path | None = None) -> list[str] | None:
    """These commits, the earliest in the history of this repository first; None where git cannot order them."""
    wanted = {commit for commit in commits if COMMIT.fullmatch(commit)}
    if not wanted:
        return None
    import asyncio

    from assay.processes.capped import run_capped
    from assay.processes.environment import child_environment

    command = ["git", "rev-list", "--topo-order", "--reverse", "--ignore-missing", "--stdin"]
    listing = run_capped(
        command,
        stdin="".join(f"{item}\n" for item in sorted(wanted)).encode(),
        timeout_seconds=SECONDS,
        cwd=folder,
        env=child_environment(),
        max_stdout_bytes=MOST_BYTES,
        max_stderr_bytes=SMALL,
    )
    try:
        result = asyncio.run(listing)
    except OSError:  # git is not installed
        return None
    ordered = [line for line in result.stdout.decode("ascii", "replace").split() if line in wanted]
    return None if result.timed_out or result.stdout_too_long or not ordered else ordered


def _folders(git: Path) -> tuple[Path, Path]:
    """Where HEAD is and where branches are: the same, but for a worktree."""
    if git.is_dir():
        return git, git
    own = (git.parent / _text(git).removeprefix("gitdir:").strip()).resolve()
    shared = own / "commondir"
    return own, (own / _text(shared).strip()).resolve() if shared.exists() else own


def _head(own: Path, shared: Path) -> str:
    head = _text(own / "HEAD").strip()
    if not head.startswith("ref:"):
        return head
    name = head.removeprefix("ref:").strip()
    for place in (own / name, shared / name):
        if place.is_file():
            return _text(place).strip()
    packed = shared / "packed-refs"
    lines = packed.read_text(encoding="utf-8", errors="replace").splitlines() if packed.is_file() else []
    return next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), "")


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(SMALL)
