"""What the viewer derives from a journal is its own user's: files that came with a folder are not read."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from tests.viewer.demo_runs import make_demo

from assay.run_file import read_run_file
from assay.viewer.boards import Boards
from assay.viewer.builders import BOARD_FILE, Builders
from assay.viewer.derived import derived_path, stamp_of
from assay.viewer.index import Snapshot, index_path, update_index


def as_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))


@pytest.mark.parametrize("moved", [False, True], ids=["in the same place", "moved"])
def test_an_index_that_came_with_a_cloned_folder_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    as_user(tmp_path / "stranger", monkeypatch)
    folder = make_demo(tmp_path / "run", each=2)
    honest = Snapshot(_built(folder)).column("outcome").tolist()
    forged = index_path(folder)
    before = forged.read_bytes()
    if moved:
        folder = Path(shutil.move(folder, tmp_path / "clone"))
        forged = folder / forged.name
    else:
        as_user(tmp_path / "reader", monkeypatch)
    assert _built(folder) != forged
    assert Snapshot(index_path(folder)).column("outcome").tolist() == honest
    assert forged.read_bytes() == before


def test_nor_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.viewer.boards.LONG_BYTES", 0)
    folder = make_demo(tmp_path / "run", each=2)
    (folder / "leaderboard.json").unlink(missing_ok=True)
    said = msgspec.json.encode({"journal": stamp_of(folder / "journal.jsonl"), "board": {"overall_score": 1.0}})
    boards = Boards(folder, Builders())
    monkeypatch.setattr(boards, "_not_before", float("inf"))  # no process need be started for it
    (folder / BOARD_FILE).write_bytes(said)
    assert boards.latest(read_run_file(folder)) == (None, True)
    derived_path(folder, BOARD_FILE).write_bytes(said)
    assert boards.latest(read_run_file(folder)) == ({"overall_score": 1.0}, False)


def test_without_a_secret_nothing_next_to_the_run_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_user(tmp_path / "home", monkeypatch)
    monkeypatch.setenv("ASSAY_HOME", "not/absolute")
    folder = make_demo(tmp_path / "run", each=2)
    assert index_path(folder).is_relative_to(tmp_path / "home" / "cache")


def _built(folder: Path) -> Path:
    update_index(folder, "f", read_run_file(folder).definitions)
    return index_path(folder)


def test_without_a_secret_it_lies_in_the_cache_folder_that_the_user_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "a file"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    assert derived_path(tmp_path, ".viewer.sqlite").parent == tmp_path / "cache" / "viewer"
