"""An archive holds what a result rests on, under one hash that follows its content alone."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.runs.later.archive import write_archive


@pytest.fixture(autouse=True)
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return run_into(Path("runs/one"), write_sums(Path("tasks"), "sums", 5), Adder(name="m"))


def test_equal_content_is_one_hash_and_every_member_has_its_own(run: Path) -> None:
    made = write_archive([run], Path("a.zip"))
    assert write_archive([run], Path("b.zip")).sha256 == made.sha256
    assert Path("a.zip").read_bytes() == Path("b.zip").read_bytes()
    with zipfile.ZipFile("a.zip") as packed:
        manifest = json.loads(packed.read("manifest.json"))
        assert manifest["sha256"] == made.sha256
        assert {*manifest["files"], "manifest.json"} == set(packed.namelist())
        for name, expected in manifest["files"].items():
            assert hashlib.sha256(packed.read(name)).hexdigest() == expected
        assert packed.read("tasks/tasks/sums.jsonl") == Path("tasks/sums.jsonl").read_bytes()
        assert "msgspec" in json.loads(packed.read("environment.json"))["packages"]


def test_an_unpacked_run_is_intact(run: Path) -> None:
    write_archive([run], Path("a.zip"))
    with zipfile.ZipFile("a.zip") as packed:
        packed.extractall("out")
    assert main(["verify", "out/runs/one", "out/tasks/tasks/sums.jsonl"]) == 0


def test_a_task_file_that_changed_since_is_left_out_and_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sums(Path("tasks"), "sums", 6)
    assert main(["export", str(run), "--output", "a.zip"]) == 0
    assert "left out: sums: tasks/sums.jsonl is no longer what runs/one was made from" in capsys.readouterr().err
    Path("tasks/sums.jsonl").unlink()
    assert write_archive([run], Path("a.zip")).left_out == ["sums: its file `tasks/sums.jsonl` is not here"]


def test_two_folders_of_one_name_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the same one"):
        write_archive([run, run_into(tmp_path / "other" / "one", tmp_path / "tasks", Adder())], Path("a.zip"))


def test_flags_of_tables_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.zip", "a.tex"):
        assert main(["export", str(run), "--output", name, "--rows", "tasks"]) == 2
        assert "leave out --rows" in capsys.readouterr().err
        assert not Path(name).exists()
    assert main(["export", str(run), "--output", "a.tex"]) == 0
    assert r"\begin{tabular}" in Path("a.tex").read_text()
