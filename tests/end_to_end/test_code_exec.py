"""A run with model-written code: its sandbox is told, recorded, and asked for before any model is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from assay.core.config import RunConfig
from assay.evaluation import Progress, run_evaluation
from assay.tasks.load import load_tasks

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

EXAMPLE = Path(__file__).parents[2] / "examples" / "task_folder" / "functions.jsonl"


class Said(Progress):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


def test_a_run_tells_and_records_its_sandbox(tmp_path: Path) -> None:
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
    assert any(f"sandbox tier {recorded['tier']}" in sentence for sentence in said.sentences)
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
