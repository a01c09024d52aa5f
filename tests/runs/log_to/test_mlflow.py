"""A run in a real MLflow file store: what it is, its numbers, its files, and how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runs.log_to.conftest import answer

import assay
from assay.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore")  # its own, of every release


@pytest.fixture(autouse=True)
def store(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    mlflow = pytest.importorskip("mlflow")  # here: every process of the suite reads this file, and it takes seconds
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlruns")
    return mlflow.tracking.MlflowClient(f"file:{tmp_path}/mlruns")


def the_runs(store: Any) -> list[Any]:
    return list(store.search_runs([store.get_experiment_by_name("assay").experiment_id]))


def test_a_run_is_logged_with_params_metrics_files_and_its_end(task: str, store: Any) -> None:
    result = assay.evaluate(task, answer, listeners=["mlflow"], keep_thinking=True)
    [run] = the_runs(store)
    assert run.info.status == "FINISHED"
    row = result.leaderboard.tasks[0]
    params = run.data.params
    assert params["model.name"] == "tests.runs.log_to.conftest:answer"
    assert params["fingerprint"] == result.leaderboard.run_fingerprint
    assert params["settings.keep_thinking"] == "True"
    assert params["task.sums_3a_ easy.sha256"] == row.sha256
    metrics = run.data.metrics
    assert metrics["sums_3a_ easy/score"] == 0.5
    assert (metrics["sums_3a_ easy/low"], metrics["sums_3a_ easy/high"]) == (row.interval.low, row.interval.high)  # type: ignore[union-attr]
    assert (metrics["failed"], metrics["attempts/done"], metrics["attempts/failed"]) == (1, 3, 1)
    assert "overall_score" in metrics
    kept = {each.path for each in store.list_artifacts(run.info.run_id)}
    assert kept == {"leaderboard.json", "report.md"}


def test_tasks_keep_their_numbers_apart_whatever_they_are_called(task: str, store: Any) -> None:
    names = ["数学", "文学", "a:b", "a;b"]
    for name in names:
        Path(name).with_suffix(".jsonl").write_bytes(Path(task).read_bytes())
    assay.evaluate([f"{name}.jsonl" for name in names], answer, listeners=["mlflow"])
    [run] = the_runs(store)
    assert run.info.status == "FINISHED"
    assert len([name for name in run.data.metrics if name.endswith("/score")]) == 4


def test_a_resumed_run_is_the_same_run_there(task: str, store: Any) -> None:
    for _ in range(2):
        assay.evaluate(task, answer, listeners=["mlflow"])
    [run] = the_runs(store)
    assert run.info.status == "FINISHED"


def test_a_run_that_its_budget_stopped_is_logged_as_killed(task: str, store: Any) -> None:
    assay.evaluate(task, "toy", listeners=["mlflow"], budget_tokens=1, concurrency=1)
    [run] = the_runs(store)
    assert run.info.status == "KILLED"


def test_a_server_that_is_not_there_breaks_no_run(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert main(["run", task, "--model", "toy", "--log-to", "mlflow", "--run-dir", "run"]) == 0
    assert "the listener MLflow failed and is ignored from now on" in capsys.readouterr().err
    assert Path("run/leaderboard.json").exists()


def test_without_a_place_to_log_to_nothing_begins(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://")
    assert main(["run", task, "--model", "toy", "--log-to", "mlflow", "--run-dir", "run"]) == 2
    assert "Set MLFLOW_TRACKING_URI to a tracking server" in capsys.readouterr().err
    assert not Path("run").exists()
