"""`assay rescore`: old answers, new targets."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.commands import assay, leaderboard, write_task

SUMS = {f"compute: {n} + 1": str(n + 1) for n in range(10)}


def test_rescore_uses_the_old_answers_with_new_targets(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", {**SUMS, "compute: 1 + 1": "three"})
    assay("run", task, "--run-dir", "old", cwd=tmp_path)
    write_task(task, SUMS)
    done = assay("rescore", "old", task, "--run-dir", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "scored 10 answers again" in done.stderr
    assert leaderboard(tmp_path / "old")["overall_score"] == 0.9
    assert leaderboard(tmp_path / "new")["overall_score"] == 1.0
