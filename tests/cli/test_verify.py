"""`assay verify`: the same files are distinguished from changed ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.end_to_end.commands import assay, write_task
from tests.results.runs import Adder, run_into, write_sums

SUMS = {f"compute: {n} + 1": str(n + 1) for n in range(10)}


def test_verify_distinguishes_the_same_files_from_changed_ones(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    assay("run", task, "--output", "board.json", cwd=tmp_path)
    assert assay("verify", "board.json", task, cwd=tmp_path).returncode == 0
    write_task(task, {**SUMS, "compute: 99 + 1": "100"})
    changed = assay("verify", "board.json", task, cwd=tmp_path)
    assert changed.returncode == 1
    assert "changed" in changed.stdout


COUNT = 12


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_into(tmp_path / "run", write_sums(tmp_path / "tasks", "sums", COUNT), Adder(wrong=[3]))


def rewrite(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(change(journal.read_bytes().splitlines(keepends=True))))


def test_verify_reports_programs_too(run: Path, tmp_path: Path) -> None:
    rewrite(run, lambda lines: [*lines[:4], lines[4].replace(b'"score":1.0', b'"score":0.5'), *lines[5:]])
    done = assay("verify", "run", "tasks/sums.jsonl", "--json", cwd=tmp_path)
    told = msgspec.json.decode(done.stdout)
    assert done.returncode == 1
    assert (told["same"], told["tasks"]) == (False, {"sums": "same"})
    assert [(each["file"], each["line"], each["what"]) for each in told["run"]["problems"]] == [
        ("journal.jsonl", 5, "edited")
    ]


def test_a_leaderboard_alone_needs_task_files(run: Path, tmp_path: Path) -> None:
    assert assay("verify", "run/leaderboard.json", "tasks", cwd=tmp_path).returncode == 0
    done = assay("verify", "run/leaderboard.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "name them, or give a run folder" in done.stderr


def test_what_is_not_there_is_called_that(tmp_path: Path) -> None:
    done = assay("verify", "nothing", cwd=tmp_path)
    assert done.returncode == 2
    assert "nothing: no such leaderboard file or run folder" in done.stderr
