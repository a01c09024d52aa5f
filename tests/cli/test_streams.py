"""Whatever becomes of the streams it talks on, a command does its work and its exit code tells how that went."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import environment, leaderboard, write_task

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def run(folder: Path, redirection: str, **variables: str) -> subprocess.CompletedProcess[str]:
    write_task(folder / "t.jsonl", {f"compute: {n} + 1": str(n + 1) for n in range(10)})
    command = f"{sys.executable} -m assay run t.jsonl --run-dir run {redirection}"
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment(**variables), capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "redirection", [">&-", "2>&-", ">&- 2>&- <&-", pytest.param("2>/dev/full", marks=needs_full), "2>&1 | true"]
)
def test_a_closed_stream_or_full_disk_for_the_talk_costs_nothing(tmp_path: Path, redirection: str) -> None:
    done = run(tmp_path, redirection)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert leaderboard(tmp_path / "run")["overall_score"] == 1.0
    lines = (tmp_path / "run" / "journal.jsonl").read_bytes().splitlines()
    assert len(lines) == 10
    assert all(line.startswith(b'{"key"') for line in lines)


@needs_full
def test_a_result_that_could_not_be_written_out_is_said_and_has_its_exit_code(tmp_path: Path) -> None:
    done = run(tmp_path, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr.endswith("assay run: standard output could not be written: No space left on device\n")
    assert "Traceback" not in done.stderr
    assert leaderboard(tmp_path / "run")["overall_score"] == 1.0


def test_a_terminal_that_knows_few_characters_is_shown_what_it_can_show(tmp_path: Path) -> None:
    done = run(tmp_path, "", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert r"0.722 \u2013 1.000" in done.stdout
