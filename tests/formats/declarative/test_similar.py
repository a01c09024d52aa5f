"""`similar` by meaning: a YAML task names an embedding model, and every way that can go wrong is a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import fake_server
from tests.results.yaml_runs import write_task

from assay.cli.main import main

ROWS = [
    {"sample_id": "same", "q": "a e i", "a": "aei"},
    {"sample_id": "other", "q": "a", "a": "o"},
    {"sample_id": "cjk", "q": "東京 a e i o u", "a": "京都 aeiou"},
    {"sample_id": "silent", "q": " ", "a": "a"},
]
SIMILAR = {"type": "similar", "key": "s", "value": "{{ sample.a }}", "embedding_model": "vowels"}
UNNAMED = {name: value for name, value in SIMILAR.items() if name != "key"}
MODEL = "key: vowels\ndisplay_name: V\nconfig: {url: '%s', model_key: fake-vowels}\n"
PRICES = "date: 2026-02-03\nmodels: {'*vowels': {input: 1000, output: 0}, echo: {input: 0, output: 0}}\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with fake_server() as server:
        yield server.base_url


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "v.yaml").write_text(MODEL % url)
    (tmp_path / "prices.yaml").write_text(PRICES)
    return tmp_path


def run(*flags: str, folder: str = "run") -> int:
    return main(["run", "task.yaml", "--model", "answers:echo", "--run-dir", folder, "--quiet", *flags])


@pytest.fixture(autouse=True)
def _echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answers.py").write_text("def echo(prompt):\n    return prompt\n")


def records(folder: str = "run") -> dict[str, Any]:
    lines = Path(folder, "journal.jsonl").read_text().splitlines()
    return {(record := json.loads(line))["sample_id"]: record for line in lines}


def test_answers_are_compared_by_the_embeddings_of_a_server(project: Path) -> None:
    write_task(project, ROWS, [SIMILAR])
    assert run() == 0
    found = records()
    scores = {name: record["scores"][0]["values"]["score"] for name, record in found.items()}
    assert scores == {"same": 1.0, "other": 0.0, "cjk": 1.0, "silent": 0.0}
    (evidence,) = found["other"]["scores"][0]["metadata"]["assertions"]
    assert (evidence["found"], evidence["passed"], evidence["value"]) == ("0.000", False, "o")
    assert "embedding" not in json.dumps(found["same"]["scores"])
    (judge,) = json.loads(Path("run/leaderboard.json").read_text())["tasks"][0]["judges"]
    # the silent answer is like nothing, so no model was called about it
    assert (judge["answers"], judge["tokens_in"]) == (6, 24)
    assert judge["cost"]["amount"] == pytest.approx(24e-3)


def test_embeddings_are_cached_and_part_of_the_budget(project: Path) -> None:
    write_task(project, ROWS[:2], [SIMILAR])
    with (project / "models" / "v.yaml").open("a") as file:
        file.write("cache: true\n")
    assert run(folder="first") == 0
    assert run(folder="second") == 0
    (judge,) = json.loads(Path("second/leaderboard.json").read_text())["tasks"][0]["judges"]
    assert (judge["answers"], judge["cached"]) == (4, 4)
    assert run("--no-cache", "--budget-cost", "0.006", "--concurrency", "1", folder="third") == 3
    assert len(records("third")) == 1


def test_a_server_that_fails_is_a_failure_and_retried_where_that_may_help(project: Path) -> None:
    rows = [
        {"sample_id": "flaky", "q": "behave: status 503 1 Retry-After=0\na", "a": "a"},
        {"sample_id": "broken", "q": 'behave: body {"data": []}', "a": "a"},
        {"sample_id": "zero", "q": "xyz", "a": "a"},
        {"sample_id": "whole", "q": "a", "a": "a"},
    ]
    write_task(project, rows, [SIMILAR])
    assert run() == 3
    found = records()
    assert {name for name, record in found.items() if record.get("failures")} == {"broken", "zero"}
    failure = found["zero"]["failures"][0]
    assert (failure["stage"], failure["part"], failure["kind"]) == ("scorer", "s", "bad_output")
    assert "embedding model `openai:fake-vowels (V)`" in failure["message"]


def test_in_a_list_each_assertion_has_its_own_model_and_negation(project: Path) -> None:
    listed = [
        {"type": "similar", "value": "{{ sample.a }}", "embedding_model": "toy", "threshold": 0.2, "weight": 3},
        {"type": "not_similar", "value": "o o o", "embedding_model": "vowels", "threshold": 0.9},
        {"type": "similar", "value": "{{ sample.a }}", "threshold": 1},
    ]
    write_task(project, ROWS[:1], [{"type": "assertions", "key": "s", "assertions": listed, "threshold": 0.8}])
    assert run() == 0
    evidence = records()["same"]["scores"][0]["metadata"]["assertions"]
    assert [each["passed"] for each in evidence] == [True, True, False]


@pytest.mark.parametrize("model", ["stub:x", "anthropic:x"])
def test_a_model_without_embeddings_is_refused_at_its_field_before_any_call(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)  # what a class cannot do is known without a key
    listed = {"type": "assertions", "key": "l", "assertions": [{"type": "is_json"}, UNNAMED]}
    write_task(project, ROWS, [{**SIMILAR, "text": "{{ sample.none }}"}, listed])
    named = ["--model-for", f"vowels={model}"]
    assert run(*named) == 2
    ran = capsys.readouterr().err
    assert not Path("run").exists()
    assert main(["check", "task.yaml", *named]) == 2
    checked = capsys.readouterr().err
    for field in ("scorers[0]", "scorers[1].assertions[1]"):
        refused = f"definition.{field}.embedding_model: the model `{model}` has no embeddings"
        assert refused in ran
        assert refused in checked
    assert "unknown field of `sample` `none`" in checked, "and nothing else is hidden"


def test_whether_python_of_ones_own_has_embeddings_is_known_only_to_a_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(project, ROWS, [SIMILAR])
    named = ["--model-for", "vowels=answers:echo"]
    assert main(["check", "task.yaml", *named]) == 0
    assert run(*named) == 2
    told = capsys.readouterr().err
    assert "scorer `s`: `embedding_model: vowels`: the model `answers:echo` has no embeddings" in told
    assert not Path("run").exists()


def test_a_key_that_nothing_stands_behind_is_an_error_at_its_field(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(project, ROWS, [{**SIMILAR, "embedding_model": "vowel"}])
    assert run() == 2
    error = capsys.readouterr().err
    assert "definition.scorers[0].embedding_model: there is no model `vowel`" in error


def test_a_dry_run_counts_them_and_a_check_tries_them_without_a_server(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(project, ROWS[:2], [SIMILAR])
    (project / "models" / "v.yaml").write_text(MODEL % "http://127.0.0.1:9/v1")
    assert run("--dry-run", "--json") == 0
    (estimate,) = json.loads(capsys.readouterr().out)["tasks"]
    assert [(judge["model"], judge["requests"]) for judge in estimate["judges"]] == [("openai:fake-vowels (V)", 4)]
    assert main(["check", "task.yaml", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["samples"], found["findings"]) == (2, [])


def test_rescore_keeps_the_verdict_of_a_run(project: Path) -> None:
    write_task(project, ROWS, [SIMILAR])
    assert run() == 0
    assert main(["rescore", "run", "task.yaml", "--run-dir", "again"]) == 0
    found, again = records(), records("again")
    assert {name: record["scores"] for name, record in again.items()} == {n: r["scores"] for n, r in found.items()}
