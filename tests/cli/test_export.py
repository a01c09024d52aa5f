"""`assay export`: one table of one run or several, whole or not at all, safe to open."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.journals import journal_lines
from tests.results.every_kind import KINDS, SAMPLES, write_run

from assay.cli.main import main
from assay.core.types import Record, Score, Trace
from assay.storage.checksum import with_checksums


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("export")
    write_run(root / "a", "model-a", 0.5)
    write_run(root / "b", "model-b", 0.8, ("graded", "judged"))
    return root


def exported(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main(["export", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_several_runs_are_one_table(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(capsys, runs / "a", runs / "b"))))
    assert len(rows) == (len(KINDS) + 2) * SAMPLES
    assert {(row["run"], row["model"]) for row in rows} == {("a", "model-a"), ("b", "model-b")}
    failed = [row for row in rows if row["outcome"] == "timeout"]
    assert {row["score"] for row in failed} == {""}
    assert {row["failure_kind"] for row in failed} == {"timeout"}
    assert json.loads(rows[0]["targets"]) == ["0"]


def test_json_lines_hold_every_column_and_value(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in exported(capsys, runs / "b", "--format", "jsonl").splitlines()]
    assert len({tuple(row) for row in rows}) == 1
    judged = next(row for row in rows if row["task"] == "judged")
    assert judged["judge.score"] == judged["score"]
    assert judged["match.score"] is None
    assert judged["targets"] == ["0"]


def test_a_row_per_task_has_the_leaderboards_numbers(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        json.loads(line) for line in exported(capsys, runs / "a", "--rows", "tasks", "--format", "jsonl").splitlines()
    ]
    board = json.loads((runs / "a" / "leaderboard.json").read_text())
    assert [(row["task"], row["score"]) for row in rows] == [(row["task"], row["score"]) for row in board["tasks"]]


def test_columns_can_be_chosen(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = exported(capsys, runs / "b", "--columns", "task,sample_id,score")
    assert said.splitlines()[0] == "task,sample_id,score"
    assert main(["export", str(runs / "b"), "--columns", "scores"]) == 2
    assert "no column `scores`. Did you mean `score`?" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_is_what_standard_output_would_be(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    shown = exported(capsys, runs / "a", "--format", ending)
    assert exported(capsys, runs / "a", "--output", tmp_path / f"new/attempts.{ending}") == ""
    assert (tmp_path / f"new/attempts.{ending}").read_text() == shown
    assert list((tmp_path / "new").iterdir()) == [tmp_path / f"new/attempts.{ending}"]


def test_parquet_in_a_file_and_through_a_pipe(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    exported(capsys, runs / "a", runs / "b", "--output", tmp_path / "attempts.parquet")
    table = parquet.read_table(tmp_path / "attempts.parquet")
    assert table.num_rows == (len(KINDS) + 2) * SAMPLES
    assert str(table.schema.field("judge.score").type) == "int64"
    words = [sys.executable, "-m", "assay", "export", str(runs / "a"), str(runs / "b"), "--format", "parquet"]
    piped = subprocess.run(words, capture_output=True, check=True).stdout
    assert parquet.read_table(io.BytesIO(piped)).equals(table)


def test_parquet_without_pyarrow_is_a_sentence_and_no_file(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", str(runs / "a"), "--output", str(tmp_path / "a.parquet")]) == 2
    assert "Parquet needs pyarrow; install it with: pip install pyarrow" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_says_no_format_is_a_sentence(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(runs / "a"), "--output", str(tmp_path / "a.xlsx")]) == 2
    assert "end its name in .csv, .jsonl, .parquet, .tex or .zip, or give --format" in capsys.readouterr().err


def test_a_search_among_runs_is_skipped_and_alone_it_is_a_sentence(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    search = tmp_path / "search"
    search.mkdir()
    (search / "run.json").write_text('{"schema": "assay.optimize.run.v1", "fingerprint": "", "parts": {}}')
    assert main(["export", str(search), str(runs / "b"), "--columns", "run"]) == 0
    said = capsys.readouterr()
    assert f"skipped {search}: holds a search of `assay optimize`, not a run" in said.err
    assert set(said.out.split()) == {"run", "b"}
    assert main(["export", str(search)]) == 2


def test_runs_of_one_name_are_called_by_their_paths(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_run(tmp_path / "b", "model-c", 0.5, ("graded",))
    said = exported(capsys, runs / "b", other, runs / "b", "--columns", "run", "--rows", "tasks")
    assert said.split() == ["run", str(runs / "b"), str(runs / "b"), str(other)]


def test_what_a_model_wrote_neither_runs_in_a_spreadsheet_nor_steers_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", "m", 0.5, ("graded",))
    said = ['=HYPERLINK("http://x/")', "-5", 'two\nlines, "quoted"', "a\x1b[2Jb\x00\u202e", "+1 for you"]
    records = [
        Record(
            key=f"{n:016x}",
            task="graded",
            sample_id=f"s{n}",
            index=n,
            trace=Trace(prediction=text),
            scores=(Score(name="match", values={"score": 1.0, "=value": "@x"}),),
            metadata={"=key": "+1+1"},
        )
        for n, text in enumerate(said)
    ]
    lines = with_checksums([msgspec.json.encode(record) for record in records], 1)
    (run / "journal.jsonl").write_bytes(bytes(lines))
    exported(capsys, run, "--output", tmp_path / "a.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [row["prediction"] for row in rows] == [
        '\'=HYPERLINK("http://x/")',
        "-5",
        'two\nlines, "quoted"',
        "a\\u001b[2Jb\\u0000\\u202e",
        "'+1 for you",
    ]
    assert {row["match.=value"] for row in rows} == {"'@x"}
    assert {row["metadata.=key"] for row in rows} == {"'+1+1"}
    shown = exported(capsys, run, "--format", "jsonl")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert [json.loads(line)["prediction"] for line in shown.splitlines()] == said


def test_a_place_that_cannot_be_written_keeps_the_file_that_was_there(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").write_text("kept")
    assert main(["export", str(runs / "a"), "--output", str(tmp_path / "there" / "a.csv")]) == 2
    assert "could not write" in capsys.readouterr().err
    assert (tmp_path / "there").read_text() == "kept"


def test_a_journal_that_breaks_off_in_the_middle_of_reading_leaves_no_half_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", "m", 0.5, ("graded",))
    with (run / "journal.jsonl").open("ab") as file:
        file.write(journal_lines([b"{}"]))
    assert main(["export", str(run), "--output", str(tmp_path / "a.csv")]) == 2
    assert "not a journal record" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
