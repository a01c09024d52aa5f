"""`assay show NAME`: parts of the catalog and types of YAML files, with their fields and an example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.cli.main import main


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown(capsys, *words, "--json").splitlines()]


def test_a_scorer_is_shown_with_its_fields_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "model_as_a_judge_scorer")
    assert "a judge model gives a number" in text, "what its own docstring says"
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells]
        for line in text.splitlines()
        if (cells := line.split("|"))[1:]
    }
    assert rows["model_key"][2] == "key"
    assert rows["score_max"][2:5] == ["number", "1.0", "The best mark, which becomes 1."]
    assert rows["purpose"][2:4] == ["`score` or `qa`", '"score"']
    example = yaml.safe_load(text.rpartition("example:")[2])
    assert (example["type"], example["score_min"]) == ("model_as_a_judge_scorer", 1)


def test_a_name_of_several_kinds_is_shown_as_each_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "python")
    assert [each["kind"] for each in found] == ["scorer", "solver", "aggregate", "generator step"]
    assert [each["yaml"]["kind"] for each in found] == ["scorer", "solver", "metric", "generator step"]
    assert found[3]["object"] is None, "only YAML files have it"
    metric, scorer = as_json(capsys, "f1")
    assert "yaml" not in metric
    assert scorer["yaml"]["fields"][0]["name"] == "type"


@pytest.mark.parametrize(
    "name", ["task", "run file", "run-file", "action_rule", "local", "int", "not_contains", "equals"]
)
def test_every_type_of_a_yaml_file_has_a_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "example:" in shown(capsys, name)


def test_a_kind_lists_its_types(capsys: pytest.CaptureFixture[str]) -> None:
    assert "| single_turn_solver " in shown(capsys, "solver")
    assert shown(capsys, "solvers") == shown(capsys, "solver")
    (kinds,) = as_json(capsys, "solver")
    assert kinds["pass_through_solver"]


def test_an_unknown_type_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "chat_mesage"]) == 2
    assert "Did you mean `chat_message`?" in capsys.readouterr().err


def test_a_file_that_is_called_like_a_type_is_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "a.jsonl").write_text(
        '{"id": "1", "prompt": "q?", "targets": ["a"], "metric": "exact_match"}\n'
    )
    assert '"name": "a"' in shown(capsys, "task")
