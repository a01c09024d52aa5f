"""A process that scores: it may die, sees no key, and does not outlive the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, start_assay, write_task
from tests.scorers.moving import METRIC, moved, score

from assay.core.journal import read_records
from assay.core.types import Failure, Score

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_metrics.py").write_text(METRIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)
    return tmp_path


def test_a_process_that_dies_costs_time_and_only_who_kills_every_one_fails(metrics: Path) -> None:
    predictions = [*["yes"] * 20, "die once", *["no"] * 20, "die", *["yes"] * 20]
    found = score(moved("own_metrics:fickle"), predictions, metrics / "mark")
    failures = [(at, each.kind) for at, each in enumerate(found) if isinstance(each, Failure)]
    assert failures == [(41, "crashed")]
    values = [each.values["score"] for each in found if isinstance(each, Score)]
    assert values == [*[1.0] * 20, 0.0, *[0.0] * 20, *[1.0] * 20]


def test_processes_see_no_key(metrics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_API_KEY", "sk-secret")
    (found,) = score(moved("own_metrics:fickle"), ["key"])
    assert isinstance(found, Score)
    assert found.values == {"score": 0.0}


def test_processes_do_not_outlive_a_run_that_was_killed(metrics: Path) -> None:
    task = write_task(metrics / "t.jsonl", {f"write: {n}": "1" for n in range(3000)}, metric="own_metrics:slow")
    command = ["run", task, "--run-dir", "r", "--score-workers", "2", "--quiet"]
    process = start_assay(*command, cwd=metrics)
    journal = metrics / "r" / "journal.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < 100:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
    children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    assert children
    process.send_signal(signal.SIGKILL)
    process.wait()
    for pid in children:
        while b"worker_process" in command_line(pid):
            os.sched_yield()
    assert assay(*command, cwd=metrics).returncode == 0
    keys = [record.key for record in read_records(journal)]
    assert len(keys) == len(set(keys)) == 3000


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
