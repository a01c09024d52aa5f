"""`assay show DATASET`: what the columns of a dataset hold."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.results.yaml_runs import EQUALS, write_task
from tests.servers.file_server import file_server

from assay.cli.main import main

CSV = "question,count,ok,zip\nWhere?,3,true,01234\nWhen?,,false,99\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("datasets").mkdir()
    Path("datasets/quiz.csv").write_text(CSV)


@pytest.mark.parametrize("what", ["datasets/quiz.csv", "quiz"])
def test_the_types_found_are_shown(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", what]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0].startswith("dataset quiz (table, datasets/quiz.csv; 2 samples, sha256 ")
    assert [line for line in lines[2:] if "--" not in line] == [
        "| column | type | missing | example |",
        '| question | string | | "Where?" |',
        "| count | integer (1), null (1) | | 3 |",
        "| ok | boolean | | true |",
        '| zip | string | | "01234" |',
    ]


def test_a_dataset_file_with_dtypes(capsys: pytest.CaptureFixture[str]) -> None:
    source = "{type: local, file_path: quiz.csv, dtypes: {count: string}}"
    Path("datasets/q.yaml").write_text(f"key: q\ndisplay_name: Q\nsource: {source}\n")
    assert main(["show", "datasets/q.yaml", "--json"]) == 0
    columns = {each["name"]: each["types"] for each in json.loads(capsys.readouterr().out)["columns"]}
    assert columns["count"] == {"string": 2}


def test_json_lines_without_prompts_are_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text('{"a": [1], "b": {"c": 1}}\n{"a": 1.5}\n')
    assert main(["show", "rows.jsonl", "--json"]) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert columns == [
        {"name": "a", "types": {"list": 1, "float": 1}, "missing": 0, "example": [1]},
        {"name": "b", "types": {"mapping": 1}, "missing": 1, "example": {"c": 1}},
    ]


def test_what_is_said_of_a_table_makes_it_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("frage;soll\nzwei?;2\n")
    assert main(["show", "rows.csv", "--prompt", "Kurz: {{ frage }}", "--target", "soll"]) == 0
    assert "user: Kurz: zwei?" in capsys.readouterr().out


def test_a_word_that_is_nothing_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "rouge_k"]) == 2
    assert "Did you mean `rouge_l`" in capsys.readouterr().err


def test_a_pinned_address_is_shown_once_it_is_downloaded(capsys: pytest.CaptureFixture[str]) -> None:
    rows = b"q,a\nWhere?,here\n"
    with file_server({"/rows.csv": rows}) as server:
        source = f"{{type: url, url: {server.address}/rows.csv, sha256: {hashlib.sha256(rows).hexdigest()}}}"
        Path("datasets/web.yaml").write_text(f"key: web\ndisplay_name: Web\nsource: {source}\n")
        task = write_task(Path(), [{"q": "q", "a": "a"}], [EQUALS])
        task.write_text(task.read_text().replace('"key": "rows"', '"key": "web"'))
        assert main(["show", "web"]) == 0
        assert "samples not on this machine" in capsys.readouterr().out
        assert main(["show", str(task), "--sample", "1"]) == 2
        assert "fetches no samples" in capsys.readouterr().err
        assert server.asked == []
        assert main(["check", str(task)]) == 0
    assert main(["show", "web"]) == 0
    assert '"Where?"' in capsys.readouterr().out
    assert main(["show", str(task), "--sample", "1"]) == 0
    assert "user: Where?" in capsys.readouterr().out


def test_a_name_that_is_like_no_other_leads_to_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "zzz"]) == 2
    assert "unknown name `zzz`. `assay list` shows the names of parts" in capsys.readouterr().err


def test_a_task_file_that_begins_with_a_comment_is_a_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = '{"id": "a", "prompt": "2+2?", "targets": ["4"], "metric": "exact_match"}'
    (tmp_path / "sums.jsonl").write_text(f"# sums\n\n{sample}\n")
    assert main(["show", str(tmp_path / "sums.jsonl"), "--sample", "1"]) == 0
    assert "2+2?" in capsys.readouterr().out
