"""`kill`, `timeout` and a closed terminal end `score` and `optimize` with everything they have started; so does one
Ctrl-C in `score`, which has nothing to resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes.test_orphans import HOLDS, Held, held

__all__ = ["held"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives us the orphans of others")

EVALUATOR = f"""
import json, os, subprocess, sys, time
if "preflight" not in json.load(sys.stdin)["candidate"]:
    subprocess.Popen([sys.executable, "-S", "-c", {HOLDS!r}, sys.argv[1]], start_new_session=True)
    time.sleep(60)
print('{{"score": 1}}')
"""


@pytest.mark.parametrize(
    ("verb", "number"),
    [
        *(("score", number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
        *(("optimize", number) for number in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_ends_the_evaluators_and_what_they_put_into_sessions_of_their_own(
    held: Held, tmp_path: Path, verb: str, number: int
) -> None:
    (tmp_path / "text.txt").write_text("some text")
    (tmp_path / "score.py").write_text(EVALUATOR)
    command = [sys.executable, "-m", "assay", verb, "text.txt"]
    command += ["--evaluator-command", f"{sys.executable} -S score.py {held.path}"]
    command += ["--model", "toy", "--run-dir", "run"] if verb == "optimize" else []
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    held.wait_until_it_runs()
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=300)
    held.assert_no_process_holds_it()
    assert process.returncode == 130, errors
    assert b"interrupted" in errors


@pytest.mark.parametrize("flags", [[], ["--evaluator-persistent"]])
def test_evaluators_end_when_their_parent_is_killed(held: Held, tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "text.txt").write_text("some text")
    (tmp_path / "score.py").write_text(f"import sys\nsys.stdin.readline()\n{HOLDS}")
    command = [sys.executable, "-m", "assay", "score", "text.txt", "--no-preflight", *flags]
    command += ["--evaluator-command", f"{sys.executable} -S score.py {held.path}"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    held.wait_until_it_runs()
    process.kill()
    process.wait()
    held.assert_no_process_holds_it()
