"""A process as it is started: with what it is given and nothing else, in a group of its own, and ended in time."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from assay.processes.environment import bare_environment
from assay.processes.start import close_pipes, how_it_ended, run_in_view, start, start_job, wait_or_kill

SHOW = "import json, os; print(json.dumps([dict(os.environ), os.getpid() == os.getpgid(0)]))"


def test_it_has_the_given_environment_and_leads_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    process = start([sys.executable, "-S", "-c", SHOW], env=bare_environment(MINE="1"))
    said, _ = process.communicate()
    assert b'"MINE": "1"' in said
    assert b"sk-secret" not in said
    assert said.endswith(b"true]\n")


def test_one_that_does_not_end_in_time_is_killed_with_its_group() -> None:
    job = start_job([sys.executable, "-S", "-c", "import time; time.sleep(600)"], env=bare_environment())
    assert wait_or_kill(job, grace_seconds=0.0) == -signal.SIGKILL
    reader = start([sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], env=bare_environment())
    close_pipes(reader)
    assert wait_or_kill(reader, grace_seconds=60.0) == 0


def test_one_in_view_has_its_status(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", os.fdopen(os.dup(2), "w"))
    assert run_in_view([sys.executable, "-S", "-c", "print('seen'); raise SystemExit(3)"], env=bare_environment()) == 3
    sys.stderr.close()
    assert capfd.readouterr().err == "seen\n"


def test_the_words_for_an_end() -> None:
    assert how_it_ended(-signal.SIGTERM) == "was killed by SIGTERM"
    assert how_it_ended(-500) == "was killed by signal 500"
    assert how_it_ended(3) == "ended with status 3"
