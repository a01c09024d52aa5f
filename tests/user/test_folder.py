"""The user's own folder and secret: where they lie, and what is not taken for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.user.folder import user_folder, user_secret


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ASSAY_HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_folder_is_in_the_home_and_nobody_elses(home: Path) -> None:
    assert user_folder() == home / ".config" / "assay"
    assert user_folder().stat().st_mode & 0o777 == 0o700


def test_the_environment_names_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert user_folder() == tmp_path / "xdg" / "assay"
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "own"))
    assert user_folder() == tmp_path / "own"


def test_a_relative_place_would_be_the_projects_and_is_not_taken(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    assert user_folder() == home / ".config" / "assay"
    monkeypatch.setenv("ASSAY_HOME", "here")
    with pytest.raises(UsageError, match="must be an absolute path"):
        user_folder()


def test_a_place_that_cannot_be_made_is_reported_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"cannot be made \(Not a directory\). Set ASSAY_HOME"):
        user_secret()


def test_a_folder_that_everybody_may_write_to_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "open"))
    with pytest.raises(UsageError, match="everybody may write to it"):
        user_folder()


def test_the_secret_is_made_once_and_only_the_user_can_read_it() -> None:
    secret = user_secret()
    assert len(secret) == 32
    assert user_secret() == secret
    assert (user_folder() / "secret").stat().st_mode & 0o777 == 0o600
    assert os.listdir(user_folder()) == ["secret"]


def test_another_user_has_another_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = user_secret()
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    assert user_secret() != mine


def test_processes_that_begin_at_once_agree_on_one_secret() -> None:
    code = "from assay.user.folder import user_secret; print(user_secret().hex())"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = {process.communicate()[0].strip() for process in started}
    assert told == {user_secret().hex()}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_secret_that_others_can_read_is_none(mode: int) -> None:
    user_secret()
    (user_folder() / "secret").chmod(mode)
    with pytest.raises(UsageError, match="only you can read"):
        user_secret()


def test_a_damaged_secret_is_reported(home: Path) -> None:
    user_secret()
    (user_folder() / "secret").write_bytes(b"short")
    with pytest.raises(UsageError, match="damaged"):
        user_secret()


def test_a_link_or_a_pipe_is_no_secret(tmp_path: Path) -> None:
    place = user_folder() / "secret"
    place.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(bytes(32))
    with pytest.raises(UsageError, match="cannot be made or read"):
        user_secret()
    place.unlink()
    os.mkfifo(place, 0o600)
    with pytest.raises(UsageError, match="only you can read"):
        user_secret()
