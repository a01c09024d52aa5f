"""What assay keeps in a project is not staged by `git add -A`."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.user.project_folder import make_project_folder


@pytest.mark.parametrize("folder", [".assay", ".assay/generated", ".assay/inspect/log"])
def test_the_folder_is_ignored_by_git_whatever_is_kept_in_it(tmp_path: Path, folder: str) -> None:
    for _ in range(2):
        make_project_folder(tmp_path / folder)
    assert (tmp_path / folder).is_dir()
    assert (tmp_path / ".assay" / ".gitignore").read_text() == "*\n"


def test_another_folder_and_what_the_user_wrote_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".assay").mkdir()
    (tmp_path / ".assay" / ".gitignore").write_text("cache.sqlite\n")
    make_project_folder(tmp_path / ".assay" / "generated")
    assert (tmp_path / ".assay" / ".gitignore").read_text() == "cache.sqlite\n"
    make_project_folder(tmp_path / "answers")
    assert [*(tmp_path / "answers").iterdir()] == []
