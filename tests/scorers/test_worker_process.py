"""A process that scores: it may die, sees no key, and does not outlive the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, start_assay, write_task
from tests.scorers.moving import METRIC, own_metric, values

from assay.core.journal import read_records

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_metrics.py").write_text(METRIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)
    return tmp_path


def test_processes_see_no_key(metrics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_API_KEY", "sk-secret")
    assert values(own_metric("own_metrics:fickle").score(["key"])) == [0.0]


def test_processes_do_not_outlive_a_run_that_was_killed(metrics: Path) -> None:
    task = write_task(metrics / "t.jsonl", {f"write: {n}": "1" for n in range(1000)}, metric="own_metrics:slow")
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
    assert len(keys) == len(set(keys)) == 1000


HANGS = """
import os
from pathlib import Path

def hangs(prediction, targets, extras):
    Path("pid.part").write_text(str(os.getpid()))
    Path("pid.part").rename("pid")
    while True:
        try:
            pass
        except:
            pass
"""


def test_not_even_one_that_hangs_outlives_a_run_that_was_killed(metrics: Path) -> None:
    (metrics / "hanging.py").write_text(HANGS)
    task = write_task(metrics / "t.jsonl", {"write: 1": "1"}, metric="hanging:hangs")
    process = start_assay("run", task, "--run-dir", "r", "--quiet", cwd=metrics)
    while not (metrics / "pid").exists():
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    process.wait()
    while b"worker_process" in command_line(int((metrics / "pid").read_text())):
        os.sched_yield()


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
