"""The commit a run is made at, read from git's own files, and the order of commits; never a reason to fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.runs.git_commit import commit_here, commits_in_order

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    for n in range(3):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", str(n))
    return tmp_path


@needs_git
def test_the_commit_is_what_git_says_it_is(repository: Path, tmp_path: Path) -> None:
    inner = repository / "a" / "b"
    inner.mkdir(parents=True)
    assert commit_here(inner) == git(repository, "rev-parse", "HEAD")
    git(repository, "pack-refs", "--all")
    assert commit_here(inner) == git(repository, "rev-parse", "HEAD"), "packed"
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "HEAD~1", "--detach")
    assert commit_here(tmp_path / "tree") == git(repository, "rev-parse", "HEAD~1"), "a worktree, detached"


@needs_git
def test_commits_come_in_the_order_of_history_and_unknown_ones_are_left_out(repository: Path) -> None:
    known = git(repository, "rev-list", "--reverse", "HEAD").split()
    assert commits_in_order([known[2], "f" * 40, known[0]], repository) == [known[0], known[2]]
    assert commits_in_order(["f" * 40], repository) is None
    assert commits_in_order(["--all", ""], repository) is None


@pytest.mark.parametrize("said", ["", "nonsense", "ref: refs/heads/none", "ref: ../../../etc/passwd", "\0\udcff"])
def test_a_folder_that_only_looks_like_a_checkout_has_no_commit(tmp_path: Path, said: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(said, errors="surrogateescape")
    assert commit_here(tmp_path) == ""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / ".git").write_text("gitdir: /nowhere/at/all")
    assert commit_here(tmp_path / "inner") == ""
