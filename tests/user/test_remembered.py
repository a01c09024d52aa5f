"""Notes in the user's folder: what this user wrote comes back, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.user.remembered import FOLDER, recall, remember


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def the_note(home: Path) -> Path:
    [path] = (home / FOLDER).iterdir()
    return path


def test_a_note_comes_back_under_its_subject_only(home: Path) -> None:
    assert recall("a") is None
    remember("a", b"one")
    remember("a", b"two")
    assert recall("a") == b"two"
    assert recall("b") is None
    assert the_note(home).name != "a"


def test_a_changed_note_is_none(home: Path) -> None:
    remember("a", b"one")
    path = the_note(home)
    path.write_bytes(path.read_bytes()[:-3] + b"six")
    assert recall("a") is None
    path.write_bytes(b"")
    assert recall("a") is None


def test_a_note_of_another_user_or_subject_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember("a", b"one")
    foreign = the_note(home).read_bytes()
    monkeypatch.setenv("ASSAY_HOME", str(home.parent / "mine"))
    remember("a", b"mine")
    the_note(home.parent / "mine").write_bytes(foreign)
    assert recall("a") is None
    remember("b", b"mine")
    for path in (home.parent / "mine" / FOLDER).iterdir():
        if path.read_bytes() != foreign:
            own = path.read_bytes()
    for path in (home.parent / "mine" / FOLDER).iterdir():
        path.write_bytes(own)
    assert recall("a") is None


def test_a_pipe_in_place_of_a_note_holds_up_nobody(home: Path) -> None:
    remember("a", b"one")
    path = the_note(home)
    path.unlink()
    os.mkfifo(path)
    assert recall("a") is None


def test_without_a_folder_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", "relative")
    remember("a", b"one")
    assert recall("a") is None
