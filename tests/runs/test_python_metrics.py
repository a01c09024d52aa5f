"""Metrics in Python: kept with the run, and never run by a report."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.formats.declarative.yaml_tasks import PYTHON, Read, reader, run

from assay.results.board.leaderboard import build_leaderboard
from assay.runs.finish import finish

read = pytest.fixture(reader)


def test_python_metrics_are_kept_and_never_run_by_a_report(read: Read, tmp_path: Path) -> None:
    run(read(PYTHON), lambda prompt: f"answer {prompt}", tmp_path / "run")
    again = build_leaderboard(tmp_path / "run")
    assert {s.name: s.value for s in again.tasks[0].aggregates}["total"] == 6.0
    (tmp_path / "run" / "python_metrics.json").unlink()
    without = {s.name: s for s in build_leaderboard(tmp_path / "run").tasks[0].aggregates}
    assert without["python"].value is None
    assert "has not been run" in (without["python"].reason or "")


def test_python_metrics_of_strangers_are_left_alone(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions = read(PYTHON)
    run(definitions, lambda prompt: f"answer {prompt}", tmp_path / "run")
    kept = tmp_path / "run" / "python_metrics.json"
    kept.unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    asyncio.run(finish(tmp_path / "run"))
    assert not kept.exists()
    asyncio.run(finish(tmp_path / "run", trust=True))
    assert kept.exists()
