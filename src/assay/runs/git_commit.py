"""The git checkout a run is made in: which commit it was at, and in which order commits came.

The commit is read from git's own files: `git` in an untrusted folder may run what its configuration names, takes
longer, and may not be installed. What was changed and not committed is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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


def commit_of(ref: str, folder: Path | None = None) -> str | None:
    """The commit that a branch, tag or abbreviated commit names; None where git does not know it."""
    if not ref or ref.startswith("-"):
        return None
    try:
        commit = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"], b"", folder)
    except OSError:  # git is not installed
        return None
    return (commit or "").strip() or None


def commits_in_order(commits: Iterable[str], folder: Path | None = None) -> list[str] | None:
    """These commits, the earliest in the history of this repository first; None where git cannot order them."""
    wanted = {commit for commit in commits if COMMIT.fullmatch(commit)}
    if not wanted:
        return None
    command = ["rev-list", "--topo-order", "--reverse", "--ignore-missing", "--stdin"]
    try:
        listed = _git(command, "".join(f"{item}\n" for item in sorted(wanted)).encode(), folder)
    except OSError:  # git is not installed
        return None
    ordered = [line for line in (listed or "").split() if line in wanted]
    return ordered or None


def _git(arguments: Sequence[str], stdin: bytes, folder: Path | None) -> str | None:
    """What git prints; None where it takes too long or prints too much."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from assay.processes.capped import run_capped
    from assay.processes.environment import child_environment

    async def call() -> str | None:
        result = await run_capped(
            ["git", *arguments],
            stdin=stdin,
            timeout_seconds=SECONDS,
            cwd=folder,
            env=child_environment(),
            max_stdout_bytes=MOST_BYTES,
            max_stderr_bytes=SMALL,
        )
        return None if result.timed_out or result.stdout_too_long else result.stdout.decode("ascii", "replace")

    with ThreadPoolExecutor(1) as alone:  # a run that is being assembled has a loop of its own
        return alone.submit(asyncio.run, call()).result()


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
