"""The columns of a comparison: what can be paired, and once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.report_settings import View

SOURCE = Path(__file__).parents[3] / "src"


class Beginning:
    """Answers with the first of seven words."""

    name = "beginning"

    def __init__(self, step: int) -> None:
        self._step = step

    def generate(self, prompts: list[str]) -> list[str]:
        return ["a b c d e f g"[: 1 + 2 * (int(prompt) * self._step % 7)] for prompt in prompts]


def test_leaderboard_files_with_examples_compare_as_their_runs_do(runs: Path, tmp_path: Path) -> None:
    for name in "ab":
        write_leaderboard_file(tmp_path / f"{name}.json", build_leaderboard(runs / name, View(per_example=True)))
    of_files = diff(tmp_path / "a.json", tmp_path / "b.json")
    of_runs = diff(runs / "a", runs / "b")
    assert of_files.tasks == of_runs.tasks
    mixed = diff(runs / "a", tmp_path / "b.json")
    assert mixed.tasks == of_runs.tasks


def test_leaderboards_without_examples_compare_only_scores(runs: Path, tmp_path: Path) -> None:
    for name in "ab":
        write_leaderboard_file(tmp_path / f"{name}.json", build_leaderboard(runs / name, View()))
    found = diff(tmp_path / "a.json", tmp_path / "b.json")
    assert not found.per_example
    assert found.tasks[1].change == pytest.approx(-0.02)
    assert found.tasks[1].comparison is None
    assert "is unknown" in found.tasks[1].verdict


def test_a_failed_attempt_that_was_retried_counts_once(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 10)
    run_into(tmp_path / "a", tasks, Adder(name="broken"))
    run_into(tmp_path / "b", tasks, Broken([3, 4]))
    run_into(tmp_path / "b", tasks, Broken([]))
    found = diff(tmp_path / "a", tmp_path / "b")
    assert (found.tasks[0].compared, found.tasks[0].verdict) == (10, "no difference")


def test_a_comparison_is_the_same_to_the_last_digit_in_every_process(tmp_path: Path) -> None:
    lines = [{"id": f"q{i}", "prompt": f"{i}", "targets": ["a b c d e f g"], "metric": "f1"} for i in range(200)]
    (tmp_path / "words.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, step in (("a", 1), ("b", 3)):
        run_into(tmp_path / name, tmp_path / "words.jsonl", Beginning(step))
    command = [sys.executable, "-m", "assay", "diff", "a", "b", "--json"]
    environments = [{**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(SOURCE)} for seed in "123"]
    printed = [subprocess.check_output(command, env=env, cwd=tmp_path) for env in environments]
    assert printed[0] == printed[1] == printed[2]
