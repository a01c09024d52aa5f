"""Whatever becomes of the streams it talks on, a command does its work and its exit code shows how that went."""

from __future__ import annotations

import json
import os
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


def test_json_is_json_whatever_the_stream_can_encode(tmp_path: Path) -> None:
    prompt = "größer 😀 \x9b\u202e \x1b[31m"
    write_task(tmp_path / "t.jsonl", {prompt: "1"})
    for encoding in ("ascii", "latin-1", "utf-8"):
        command = [sys.executable, "-m", "assay", "show", "t.jsonl", "--json"]
        shown = subprocess.check_output(command, cwd=tmp_path, env=environment(PYTHONIOENCODING=encoding))
        assert json.loads(shown.decode(encoding))["samples"][0]["prompt"] == prompt


def test_a_run_on_a_terminal_closes_with_where_it_is_and_what_to_do_next(tmp_path: Path) -> None:
    write_task(tmp_path / "t.jsonl", {"compute: 1 + 1": "2"})
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "assay", "run", "t.jsonl", "--run-dir", "run"]
    subprocess.run(
        command, cwd=tmp_path, env=environment(TERM="xterm"), stdout=subprocess.DEVNULL, stderr=theirs, check=True
    )
    os.close(theirs)
    said = os.read(ours, 65536)
    os.close(ours)
    assert b"attempts" in said
    assert said.endswith(b"next      \x1b[0m\x1b[1massay view run\x1b[0m\r\n")
    assert b"u001b" not in said
    assert b"\x1b[?25l" not in said, "the cursor is never hidden"


def without_reader(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command whose output goes to a pipe that is closed already, as `| head -1` closes it sooner or later."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "assay", *arguments]
        return subprocess.run(command, cwd=folder, env=environment(), stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["score", "t.txt", "--evaluator-command", "false", "--no-preflight"], 3),
        (["score", "t.txt", "--evaluator-command", 'echo {\\"score\\":1}'], 0),
        (
            ["optimize", "t.txt", "--evaluator-command", 'echo {\\"score\\":0}', "--model", "stub:no", "--budget", "9"],
            3,
        ),
        (["list", "metrics"], 0),
        (["diff", "nowhere", "nowhere"], 2),
        (["--help"], 0),
    ],
)
def test_a_closed_pipe_does_not_change_the_exit_code(tmp_path: Path, arguments: list[str], code: int) -> None:
    (tmp_path / "t.txt").write_text("text")
    done = without_reader(tmp_path, *arguments)
    assert (done.returncode, b"Traceback" in done.stderr, b"BrokenPipe" in done.stderr) == (code, False, False)
