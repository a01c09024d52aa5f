"""A run in Weights & Biases, offline: the real package writes the file that it would send."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs.log_to.conftest import answer

import assay

pytestmark = pytest.mark.filterwarnings("ignore")  # its own, of every release


def test_a_run_is_written_with_config_summary_and_the_leaderboard_and_without_keys(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    key = "zq-logged-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    result = assay.evaluate(task, answer, listeners=["wandb"])
    wandb.teardown()  # its own process writes the file, and has written it when it has ended
    [file] = tmp_path.glob("wandb/offline-run-*/*.wandb")
    written = file.read_bytes()
    fingerprint = result.leaderboard.run_fingerprint
    for part in ("model.name", fingerprint, "task.sums: easy.sha256", "overall_score", "leaderboard.json"):
        assert part.encode() in written, part
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert key.encode() not in everything
