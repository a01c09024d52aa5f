"""`assay model`: what the embedded model is, where it lies, and what is wrong before anything is served."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli.main import main


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    before = signal.getsignal(signal.SIGTERM)
    yield tmp_path / "cache"
    signal.signal(signal.SIGTERM, before)  # fetching takes it


def test_a_model_that_is_not_here_says_what_it_is_and_how_to_get_it(
    capsys: pytest.CaptureFixture[str], empty_cache: Path
) -> None:
    assert main(["model"]) == 0
    assert "`assay model get` fetches it" in (told := capsys.readouterr().out)
    assert "licence: " in told
    assert main(["model", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["here"], about["bytes_on_disk"]) == (False, None)
    assert about["folder"].startswith(str(empty_cache))
    assert not empty_cache.exists()


def test_there_may_be_nothing_to_remove(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "remove"]) == 0
    assert capsys.readouterr().err == "there was nothing to remove\n"


def test_what_is_not_here_cannot_be_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "serve"]) == 2
    assert "assay model get" in capsys.readouterr().err


def test_a_file_that_is_not_a_model_is_refused_and_nothing_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], empty_cache: Path
) -> None:
    for package in ("gguf", "tokenizers"):
        pytest.importorskip(package, reason="the extra of the embedded model is not installed")
    (tmp_path / "not.gguf").write_bytes(b"GGUF? no")
    assert main(["model", "get", "--from", str(tmp_path / "not.gguf")]) == 2
    assert "it is not the published file" in capsys.readouterr().err
    assert [path for path in empty_cache.rglob("*") if path.is_file()] == []
