"""Run folders are found by name, distinct, at any reasonable depth, and never through a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.journal import lock_journal
from assay.viewer import run_folders
from assay.viewer.run_folders import DEPTH, find_runs, is_being_written


def run_at(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    return folder


def test_names_are_paths_from_the_root_and_a_run_hides_what_lies_inside(tmp_path: Path) -> None:
    run_at(tmp_path / "a")
    run_at(tmp_path / "team" / "b")
    run_at(tmp_path / "a" / "inner")
    run_at(tmp_path / ".hidden" / "c")
    assert sorted(find_runs([tmp_path])) == ["a", "team/b"]
    assert find_runs([tmp_path / "a"]) == {"a": tmp_path / "a"}


def test_two_roots_with_runs_of_one_name_keep_both(tmp_path: Path) -> None:
    for root in ("x", "y", "z"):
        run_at(tmp_path / root / "same")
    found = find_runs([tmp_path / root for root in ("x", "y", "z")])
    assert {name: path.parent.name for name, path in found.items()} == {"same": "x", "same (2)": "y", "same (3)": "z"}


def test_links_and_the_deep_are_left_alone(tmp_path: Path) -> None:
    run_at(tmp_path / "outside")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    run_at(root.joinpath(*["d"] * DEPTH))
    run_at(root.joinpath(*["e"] * (DEPTH + 1)))
    assert list(find_runs([root])) == ["/".join(["d"] * DEPTH)]


def test_only_so_many_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folders, "MOST", 3)
    for number in range(5):
        run_at(tmp_path / str(number))
    assert list(find_runs([tmp_path])) == ["0", "1", "2"]


def test_a_root_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder; give a run folder"):
        find_runs([tmp_path / "none"])


def test_a_journal_is_being_written_while_someone_holds_its_lock(tmp_path: Path) -> None:
    import os

    journal = tmp_path / "journal.jsonl"
    assert is_being_written(journal) is None
    journal.write_text("")
    assert is_being_written(journal) in (False, None)
    lock = lock_journal(journal)
    try:
        assert is_being_written(journal) in (True, None)
    finally:
        os.close(lock)


def test_what_fresh_moved_aside_is_listed_only_when_asked_for(tmp_path: Path) -> None:
    for name in ("run", "run.old-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    assert list(find_runs([tmp_path])) == ["run"]
    assert list(find_runs([tmp_path / "run.old-1"])) == ["run.old-1"]
