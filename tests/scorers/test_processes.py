"""Scorers that need much CPU move to processes, and nothing else changes: not a score, not a failure, not a process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, leaderboard, start_assay, write_task

from assay.core.errors import FailureError
from assay.core.journal import read_records
from assay.core.seams import BuildContext
from assay.core.types import Failure, PartSpec, Sample, Score, Trace
from assay.scorers.from_metric import from_metric
from assay.scorers.processes import TIMED, MayMove, in_processes

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")

METRIC = """
import os, time

def fickle(prediction, targets, extras):
    print("whatever a metric says on stdout")
    if prediction == "die":
        os.kill(os.getpid(), 9)
    if prediction == "die once" and not os.path.exists(extras["mark"]):
        open(extras["mark"], "w").close()
        os.kill(os.getpid(), 9)
    if prediction == "broken":
        raise ValueError("no such thing")
    if prediction == "key":
        return float("ASSAY_TEST_API_KEY" in os.environ)
    return float(prediction in targets)

def slow(prediction, targets, extras):
    until = time.thread_time() + 0.002
    while time.thread_time() < until:
        pass
    return float(prediction in targets)
"""


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_metrics.py").write_text(METRIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)
    return tmp_path


def part(metric: str) -> PartSpec:
    return PartSpec(key="own", use="metric", options={"metric": metric})


def moved(metric: str, workers: int | None = 2) -> MayMove:
    scorer = in_processes(from_metric("own", metric=metric, context=BuildContext(own_code=True)), part(metric), workers)
    assert isinstance(scorer, MayMove)
    return scorer


def score(scorer: object, predictions: list[str], mark: Path | None = None) -> list[Score | Failure]:
    async def one(prediction: str) -> Score | Failure:
        sample = Sample(id="s", targets=("yes",), extras={"mark": str(mark)})
        try:
            found: Score = await scorer(sample, Trace(prediction=prediction))  # type: ignore[operator]
            return found
        except FailureError as error:
            return error.failure

    async def go() -> list[Score | Failure]:
        try:
            return list(await asyncio.gather(*map(one, predictions)))
        finally:
            if isinstance(scorer, MayMove):
                await scorer.aclose()
                assert not scorer.pool.processes

    return asyncio.run(go())


def test_scores_and_failures_are_the_same_in_processes(metrics: Path) -> None:
    predictions = ["yes", "no", "broken", "é\u2028\x00"] * 40
    here = from_metric("own", metric="own_metrics:fickle", context=BuildContext(own_code=True))
    assert score(moved("own_metrics:fickle"), predictions) == score(here, predictions)


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


def test_a_cheap_scorer_stays() -> None:
    scorer = moved("exact_match", workers=None)
    score(scorer, ["yes"] * (TIMED * 4))
    assert not scorer.pool.started


def test_a_slow_scorer_moves_after_it_has_shown_that_it_is(metrics: Path) -> None:
    scorer = moved("own_metrics:slow", workers=None)
    score(scorer, ["yes"] * TIMED)
    assert not scorer.pool.started
    found = score(scorer, ["yes"] * 20)
    assert scorer.pool.started
    assert [each.values["score"] for each in found if isinstance(each, Score)] == [1.0] * 20


def test_a_scorer_that_no_other_process_can_build_stays(metrics: Path) -> None:
    scorer = moved("own_metrics:fickle")
    (metrics / "own_metrics.py").unlink()
    found = score(scorer, ["yes", "no"])
    assert [each.values["score"] for each in found if isinstance(each, Score)] == [1.0, 0.0]


def test_none_asked_for_and_scorers_that_ask_others_are_left_alone() -> None:
    scorer = from_metric("own", metric="exact_match")
    assert in_processes(scorer, part("exact_match"), 0) is scorer

    class Asking:
        name = "asking"

        async def __call__(self, sample: Sample, trace: Trace) -> Score:
            raise NotImplementedError

    asking = Asking()
    assert in_processes(asking, part("exact_match"), 4) is asking


def test_a_run_and_a_rescoring_with_processes_come_to_the_same(metrics: Path) -> None:
    task = write_task(metrics / "t.jsonl", {f"write: {n % 3}": "1" for n in range(200)}, metric="own_metrics:slow")
    for name, workers in (("alone", "0"), ("moved", "2")):
        done = assay("run", task, "--run-dir", name, "--score-workers", workers, "--quiet", cwd=metrics)
        assert done.returncode == 0, done.stderr
        again = assay("rescore", name, task, "--run-dir", f"{name}-again", "--score-workers", workers, cwd=metrics)
        assert again.returncode == 0, again.stderr
    boards = [leaderboard(metrics / name) for name in ("alone", "moved", "alone-again", "moved-again")]
    assert len({board["fingerprint"] for board in boards}) == 1


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
