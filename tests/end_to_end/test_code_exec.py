"""A run with model-written code: its sandbox is reported, recorded, and asked for before any model is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import assay
from tests.runs.shard_runs import run_shard

from assay.results.board.leaderboard import build_leaderboard
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.runs.progress import Progress
from assay.runs.shards import merge_run
from assay.tasks.load import load_tasks

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

EXAMPLE = Path(__file__).parents[2] / "examples" / "task_folder" / "functions.jsonl"


class Said(Progress):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


def test_a_run_records_its_sandbox_and_warns_of_less_than_the_full_one(tmp_path: Path) -> None:
    said = Said()
    run_evaluation(
        load_tasks([str(EXAMPLE)]),
        RunConfig(model="echo"),
        model=lambda prompt: "def f(x):\n    return None",
        folder=tmp_path / "run",
        progress=said,
    )
    recorded = json.loads((tmp_path / "run" / "run.json").read_text())["sandbox"]
    assert recorded["tier"] in ("A", "B", "C")
    assert any("warning: sandbox tier" in sentence for sentence in said.sentences) is (recorded["tier"] != "A")
    for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines():
        (score,) = json.loads(line)["scores"]
        assert score["values"]["outcome"] == "wrong"
        assert score["metadata"]["tier"] == recorded["tier"]


def test_a_host_that_cannot_confine_asks_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_ALLOW_UNSANDBOXED", raising=False)
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return ""

    said = Said()
    run_evaluation(
        load_tasks([str(EXAMPLE)]),
        RunConfig(model="echo", min_sandbox="U"),
        model=model,
        folder=tmp_path / "run",
        progress=said,
    )
    records = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    assert records
    assert {record["failures"][0]["kind"] for record in records} == {"refused_here"}
    assert asked == []
    assert any("is refused" in sentence for sentence in said.sentences)


def test_a_shard_reports_records_and_refuses_as_a_whole_run_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_ALLOW_UNSANDBOXED", raising=False)
    definitions = load_tasks([str(EXAMPLE)])
    said = Said()
    run_shard(definitions, RunConfig(), number=1, count=2, folder=tmp_path / "run", progress=said)
    recorded = json.loads((tmp_path / "run" / "run.json").read_text())["sandbox"]
    assert any("warning: sandbox tier" in sentence for sentence in said.sentences) is (recorded["tier"] != "A")
    refused = run_shard(
        definitions, RunConfig(min_sandbox="U"), number=2, count=2, folder=tmp_path / "run", progress=said
    )
    assert refused.counts.refused == refused.counts.planned > 0
    assert any("is refused" in sentence for sentence in said.sentences)


def test_the_leaderboard_names_the_weakest_sandbox_of_all_machines(tmp_path: Path) -> None:
    definitions = load_tasks([str(EXAMPLE)])
    for number in (1, 2):
        run_shard(definitions, RunConfig(), number=number, count=2, folder=tmp_path / "run")
    merge_run(tmp_path / "run")
    ours = build_leaderboard(tmp_path / "run").sandbox or {}
    assert "machines" not in ours
    (tmp_path / "run" / "sandboxes").mkdir()
    (tmp_path / "run" / "sandboxes" / "old-box.json").write_text(json.dumps({**ours, "tier": "D"}))
    (tmp_path / "run" / "sandboxes" / "broken.json").write_text("{")
    board = build_leaderboard(tmp_path / "run")
    assert board.sandbox is not None
    assert (board.sandbox["tier"], board.sandbox["machines"]) == ("D", {"first": ours["tier"], "old-box": "D"})
    assert any("old-box D" in notice for notice in board.notices)


UNSAFE = "import os\ndef f(x): return x * 2"
FOLDER_LINE = {
    "id": "double",
    "prompt": "Double it.",
    "targets": ["ok"],
    "metric": "code_exec",
    "extras": {"io_pairs": [[1, 2], [3, 6]]},
}
SPEC_LINE = {
    "task_id": "double",
    "category": "code_exec",
    "prompt": "Double it.",
    "targets": ["f(1) == 2", "f(3) == 6"],
    "metric_name": "code_exec",
    "post_process": "none",
}


@pytest.mark.parametrize(
    ("line", "lifted"),
    [
        (FOLDER_LINE, {**FOLDER_LINE, "extras": {**FOLDER_LINE["extras"], "imports": "any"}}),
        (SPEC_LINE, {**SPEC_LINE, "metadata": {"imports": "any"}}),
    ],
    ids=["task folder", "frozen spec"],
)
def test_import_os_blows_up_unless_the_task_allows_it(
    line: dict[str, Any], lifted: dict[str, Any], tmp_path: Path
) -> None:
    strict, reason = scored_by_the_command(line, tmp_path)
    assert strict == {"score": 0.0, "outcome": "wrong"}
    assert "ImportError: `os` is not available to this task's programs" in reason
    assert scored_by_the_command(lifted, tmp_path) == ({"score": 1.0, "outcome": "pass"}, "")


def scored_by_the_command(line: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
    (folder / "code.jsonl").write_text(json.dumps(line) + "\n")
    done = assay("run", "code.jsonl", "--model", f"stub:{UNSAFE}", "--run-dir", "run", "--fresh", cwd=folder)
    assert done.returncode == 0, done.stderr
    (record,) = (json.loads(text) for text in (folder / "run" / "journal.jsonl").read_text().splitlines())
    (score,) = record["scores"]
    return score["values"], score.get("reason") or ""
