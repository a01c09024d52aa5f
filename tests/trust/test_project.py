"""Which folders are somebody's project."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import assay

REPOSITORIES = (".git", ".hg", ".svn", ".jj", ".bzr")


@pytest.mark.parametrize("place", ["home", "world"])
def test_the_home_folder_and_one_that_all_may_write_to_are_no_project(
    stranger: Path, tmp_path: Path, place: str
) -> None:
    stranger.chmod(0o755 if place == "home" else 0o777)
    changes = {"HOME": str(stranger)} if place == "home" else {}
    refused = assay("run", "task.yaml", cwd=stranger, **changes)
    assert refused.returncode == 2
    assert "is not a project" in refused.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("mark", [*REPOSITORIES, "a submodule"])
def test_a_repository_inside_the_project_is_somebody_elses(stranger: Path, tmp_path: Path, mark: str) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir()
    inner = project / "vendor" / "tasks"
    inner.parent.mkdir()
    stranger.rename(inner)
    if mark == "a submodule":
        (inner / ".git").write_text("gitdir: ../../.git/modules/tasks\n")
    else:
        (inner / mark).mkdir()
    refused = assay("run", "vendor/tasks/task.yaml", cwd=project)
    assert refused.returncode == 2
    assert f"belongs to another repository inside the current project ({inner})" in refused.stderr
    assert not (tmp_path / "ran").exists()
    assert assay("run", "task.yaml", cwd=inner).returncode == 0  # there it is the current project


def test_a_folder_with_a_package_of_its_own_is_still_the_project(stranger: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir()
    stranger.rename(project / "package")
    (project / "package" / "pyproject.toml").write_text("")
    assert assay("run", "package/task.yaml", cwd=project).returncode == 0
