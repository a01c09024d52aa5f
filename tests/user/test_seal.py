"""Seals: a folder is ours when we said so with our own secret, for this run and no other."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.user.seal import is_sealed, refuse_foreign, seal_folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_seal_is_for_one_run_in_its_folder(tmp_path: Path) -> None:
    seal_folder(tmp_path / "run", "f 2026")
    assert is_sealed(tmp_path / "run", "f 2026")
    assert not is_sealed(tmp_path / "run", "f 2027")
    assert not is_sealed(tmp_path / "other", "f 2026")


def test_a_seal_of_another_user_is_not_ours_and_does_not_tell_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal_folder(tmp_path / "run", "f 2026")
    (seal,) = (tmp_path / "run" / "seals").iterdir()
    assert seal.read_bytes() == b""
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another home"))
    assert not is_sealed(tmp_path / "run", "f 2026")


def test_a_folder_in_the_place_of_a_seal_proves_nothing(tmp_path: Path) -> None:
    seal_folder(tmp_path / "run", "f 2026")
    (seal,) = (tmp_path / "run" / "seals").iterdir()
    seal.unlink()
    seal.mkdir()
    assert not is_sealed(tmp_path / "run", "f 2026")


def test_without_a_secret_nothing_is_sealed_and_a_warning_says_what_follows(
    tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.write_text("a file where the folder would be")
    with caplog.at_level(logging.WARNING, logger="assay"):
        seal_folder(tmp_path / "run", "f 2026")
    assert "--resume-foreign" in caplog.text
    assert not (tmp_path / "run").exists()
    assert not is_sealed(tmp_path / "run", "f 2026")


def test_a_seal_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(UsageError, match="could not write"):
        seal_folder(tmp_path / "run", "f 2026")


def test_the_refusal_says_how_to_look_and_how_to_resume(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"assay show .*--resume-foreign.*--fresh"):
        refuse_foreign(tmp_path)
