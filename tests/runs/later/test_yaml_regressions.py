"""Failing samples of a YAML task become a run file that `assay run` takes: their rows, with their origin."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.results.yaml_runs import EQUALS, run_task, write_task

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.results.frames.frame_source import RunSource
from assay.runs.later.yaml_regressions import ORIGIN_COLUMN, run_file, save_yaml_regressions, yaml_regressions
from assay.tasks.built_tasks import build_dataset
from assay.tasks.load import load_tasks

ODD = 'no: {a: "b"} # 0o10 \\ 😀\n\x85\x07 << config.x >>'
ROWS: list[dict[str, Any]] = [
    {"q": "1", "a": "1"},
    {"q": "2", "a": "9", "note": ODD, "code": "0o10", "deep": {"n": [1, 2.5, None, True]}},
    {"q": "3", "a": "8"},
]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSource:
    """A run of three rows of which two are wrong; those are picked."""
    monkeypatch.chdir(tmp_path)
    run_task(write_task(tmp_path, ROWS, [EQUALS]))
    return wrong_of(RunSource.of(tmp_path / "run"))


def wrong_of(source: RunSource) -> RunSource:
    wrong = [place for place, outcome in zip(source.survey.places, source.survey.outcomes, strict=True) if outcome == 2]
    assert len(wrong) == 2
    return replace(source, picked=frozenset(map(int, wrong)))


def rows_in(path: Path) -> list[dict[str, Any]]:
    [definition] = load_tasks([str(path)])
    return [dict(sample.row or {}) for sample in build_dataset(definition)]


def test_the_file_holds_the_rows_as_they_are_with_their_origin(source: RunSource, tmp_path: Path) -> None:
    found = yaml_regressions([source])
    assert found is not None
    path = tmp_path / "kept" / "regressions.yaml"
    assert save_yaml_regressions(path, found).added == 2
    rows = rows_in(path)
    assert [row.pop(ORIGIN_COLUMN)["outcome"] for row in rows] == ["wrong", "wrong"]
    assert rows == [{**ROWS[1], "sample_id": "1"}, {**ROWS[2], "sample_id": "2"}]
    assert [each.name for each in path.parent.iterdir()] == ["regressions.yaml"]


def test_it_grows_at_its_end_and_holds_each_sample_once(source: RunSource, tmp_path: Path) -> None:
    found = yaml_regressions([source])
    assert found is not None
    path = tmp_path / "regressions.yaml"
    save_yaml_regressions(path, replace_rows(found, found.rows[:1]))
    path.write_text("# mine\n" + path.read_text())
    before = path.read_bytes()
    saved = save_yaml_regressions(path, found)
    assert (saved.added, saved.kept) == (1, 1)
    assert path.read_bytes().startswith(before)
    path.write_text(path.read_text() + "run_config: {num_samples: 1}\n")
    kept = path.read_bytes()
    with pytest.raises(UsageError, match="it would not be a valid task"):
        save_yaml_regressions(path, replace_rows(found, [{**found.rows[0], "sample_id": "new"}]))
    assert path.read_bytes() == kept


def replace_rows(found: Any, rows: list[dict[str, Any]]) -> Any:
    return msgspec.structs.replace(found, rows=rows)


def test_the_command_makes_a_file_that_the_next_command_runs(
    source: RunSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "run", "--where", "outcome:wrong", "--as-task", "tasks/again.yaml"]) == 0
    assert "2 samples added" in capsys.readouterr().err
    assert main(["run", "tasks/again.yaml", "--model", "toy", "--run-dir", "again", "--quiet"]) == 0
    records = RunSource.of(tmp_path / "again")
    assert sorted(each.sample_id for each in records.attempts()) == ["1", "2"]
    assert main(["export", "run", "--where", "outcome:wrong", "--as-task", "again.jsonl"]) == 2
    assert "NAME.yaml" in capsys.readouterr().err


def test_the_values_of_parameters_come_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_task(tmp_path, [{"q": "1", "a": "x"}, {"q": "2", "a": "y"}], [EQUALS])
    task = json.loads(path.read_text())
    task["config_spec"] = [{"type": "string", "key": "word", "display_name": "W", "default_value": "one"}]
    text = json.dumps(task).replace("{{ sample.q }}", "<< config.word >> {{ sample.q }}")
    path.write_text(text)
    run_task(path)
    found = yaml_regressions([wrong_of(RunSource.of(tmp_path / "run"))])
    assert found is not None
    (tmp_path / "regressions.yaml").write_bytes(run_file(found))
    [definition] = load_tasks(["regressions.yaml"])
    assert definition.provenance.config == {"word": "one"}
    assert definition.dataset.size == 2


def test_what_cannot_be_copied_says_why(source: RunSource, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    before = rows.read_text()
    rows.write_text(before.replace('"8"', '"7"'))
    with pytest.raises(UsageError, match="has changed since the run was made"):
        yaml_regressions([source])
    rows.write_text(before)
    (tmp_path / "task.yaml").unlink()
    with pytest.raises(UsageError, match="is not here"):
        yaml_regressions([source])
