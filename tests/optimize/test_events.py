"""What is heard of a search as it happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.optimize.scripted import SayingProposer, fenced

from assay.core.errors import UsageError
from assay.evaluators import Evaluation
from assay.optimize.events import EventStream
from assay.optimize.run import SearchSettings, optimize
from assay.runs.listeners import SearchEvent


class Length:
    """The longer the better, up to ten characters."""

    name = "length"
    identity: ClassVar = {"version": 1}

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        return Evaluation(score=min(1.0, len(candidate) / 10), side_info={})

    async def close(self) -> None: ...


def search(folder: Path, **options: Any) -> Any:
    settings = SearchSettings(seed="short", budget=20, target_score=1.0)
    return optimize(settings, Length(), SayingProposer(fenced("long enough now")), folder=folder, **options)


def test_a_callback_hears_start_lines_steps_and_end_in_order(tmp_path: Path) -> None:
    heard: list[SearchEvent] = []
    result = search(tmp_path / "run", on_event=heard.append)
    kinds = [event.event for event in heard]
    assert (kinds[0], kinds[-1]) == ("began", "finished")
    lines = (tmp_path / "run" / "journal.jsonl").read_text().splitlines()
    assert kinds.count("entry") == len(lines)
    assert [event.best for event in heard if event.event == "step"][-1] == 1.0
    assert heard[-1].result == result
    assert {event.fingerprint for event in heard} == {result.fingerprint}


def test_the_stream_is_json_lines_and_a_resumed_search_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "events.jsonl"
    for _ in range(2):
        search(tmp_path / "run", listeners=[EventStream(path)])
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["event"] for event in events if event["event"] in ("began", "finished")] == [
        *("began", "finished"),
        *("began", "finished"),
    ]
    assert events[-1]["result"]["best"] == "long enough now"
    evaluations = [event["entry"] for event in events if event.get("entry", {}).get("kind") == "evaluation"]
    assert evaluations[0]["score"] == 0.5


def test_a_listener_that_raises_is_dropped_and_the_search_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: SearchEvent) -> None:
        raise RuntimeError("no disk")

    assert search(tmp_path / "run", on_event=broken).best == "long enough now"
    assert "no disk" in caplog.text


def test_a_stream_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--events .*cannot be written"):
        EventStream(tmp_path)


def test_mlflow_has_the_best_score_over_calls_and_the_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlruns")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    result = search(tmp_path / "run", listeners=["mlflow"])
    client = mlflow.tracking.MlflowClient(f"file:{tmp_path}/mlruns")
    (run,) = client.search_runs([client.get_experiment_by_name("assay").experiment_id])
    assert (run.data.metrics["search/best"], run.info.status) == (1.0, "FINISHED")
    assert run.data.params["budget"] == "20"
    assert run.data.tags["assay.run"] == result.fingerprint
    assert sorted(file.path for file in client.list_artifacts(run.info.run_id)) == [
        *("best.txt", "page.html", "summary.json"),
    ]
