"""The gates of a run, refused before a model is called if they cannot be checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.core.errors import UsageError


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [{"id": str(n), "prompt": f"compute: {n} + 1", "targets": [str(n + 1)]} for n in range(8)]
    Path("sums.jsonl").write_text("".join(json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines))
    return "sums.jsonl"


def right(prompt: str) -> str:
    return str(eval(prompt.removeprefix("compute:")))


def wrong(prompt: str) -> str:
    return "no"


def test_gates_are_those_of_the_command_line(task: str) -> None:
    before = assay.evaluate(task, right)
    gates = ["overall >= 0.5", "overall >= baseline", "no-significant-drop"]
    found = assay.evaluate(task, wrong, gates=gates, baseline=before.folder)
    assert [(gate.gate, gate.outcome) for gate in found.runs[0].gates] == [(gate, "not met") for gate in gates]
    assert (found.gates_met, found.exit_status) == (False, 1)
    unsure = {"gates": "no-drop-beyond 0.01", "baseline": before.folder}
    assert assay.evaluate(task, right, **unsure).exit_status == 1
    assert assay.evaluate(task, right, **unsure, cannot_tell_passes=True).exit_status == 0


def test_a_gate_that_cannot_be_checked_is_refused_before_a_model_is_called(task: str) -> None:
    def never(prompt: str) -> str:
        raise AssertionError

    with pytest.raises(UsageError, match="summs"):
        assay.evaluate(task, never, gates="summs >= 0.5")
    assert not Path("runs").exists()


def test_a_margin_that_the_samples_cannot_reach_is_named_before_the_first_request(
    task: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = assay.evaluate(task, right)
    warned: list[bool] = []

    def answers(prompt: str) -> str:
        warned.append("no-drop-beyond 0.01" in caplog.text)
        return right(prompt)

    assay.evaluate(task, answers, gates="no-drop-beyond 0.01", baseline=before.folder)
    assert all(warned)
    assert "sums: even if no score changes, 8 samples rule out no drop below 0.3" in caplog.text
    caplog.clear()
    assay.evaluate(task, right, gates="no-drop-beyond 0.4", baseline=before.folder, fresh=True)
    assert "rule out" not in caplog.text
