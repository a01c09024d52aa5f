"""A driver has any executor run the shards, and comes to what one process comes to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, leaderboard, write_task

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (example,) = re.findall(r"```python processes\.py\n(.+?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "processes.py").write_text(example)
    return write_task(tmp_path / "sums.jsonl", {f"compute: {n} + 1": str(n + n % 5) for n in range(40)})


def test_an_executor_of_ones_own_comes_to_what_one_process_comes_to(task: Path, tmp_path: Path) -> None:
    alone = assay("run", task, "--quiet", "--run-dir", "alone", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    flags = ["--executor", "processes:Processes", "--workers", "2", "--shard-size", "10"]
    shared = assay("run", task, *flags, "--run-dir", "shared", cwd=tmp_path)
    assert shared.returncode == 0, shared.stderr
    assert scores(tmp_path / "shared") == scores(tmp_path / "alone")
    assert not (tmp_path / "shared" / "shards").exists()


def test_an_executor_keeps_to_the_budget_of_the_run(task: Path, tmp_path: Path) -> None:
    flags = ["--executor", "processes:Processes", "--workers", "1", "--shard-size", "10", "--run-dir", "r"]
    done = assay("run", task, *flags, "--budget-tokens", "1", "--concurrency", "1", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "the budget of the run (--budget-tokens) is used up" in done.stderr
    assert assay("run", task, *flags, cwd=tmp_path).returncode == 0


def test_a_name_that_is_no_executor_is_refused_with_the_nearest(task: Path, tmp_path: Path) -> None:
    done = assay("run", task, "--executor", "rai", "--run-dir", "r", cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown executor `rai`. Did you mean `ray`?" in done.stderr
    assert not (tmp_path / "r").exists()


def scores(folder: Path) -> tuple[str, str]:
    board = leaderboard(folder)
    return board["fingerprint"], json.dumps(board["tasks"][0]["aggregates"])
