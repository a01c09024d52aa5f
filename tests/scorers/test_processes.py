"""Scorers that need much CPU move to processes, and nothing else changes: not a score, not a failure, not a process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, leaderboard, write_task
from tests.scorers.moving import METRIC, moved, part, score

from assay.core.seams import BuildContext
from assay.core.types import Sample, Score, Trace
from assay.scorers.from_metric import from_metric
from assay.scorers.processes import TIMED, in_processes

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_metrics.py").write_text(METRIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)
    return tmp_path


def test_scores_and_failures_are_the_same_in_processes(metrics: Path) -> None:
    predictions = ["yes", "no", "broken", "é\u2028\x00"] * 40
    here = from_metric("own", metric="own_metrics:fickle", context=BuildContext(own_code=True))
    assert score(moved("own_metrics:fickle"), predictions) == score(here, predictions)


def test_an_answer_that_no_message_can_hold_is_scored_here_and_spoils_no_others(metrics: Path) -> None:
    found = score(moved("own_metrics:fickle"), ["yes", "half a character: \ud800", "yes"] * 10)
    assert [each.values["score"] for each in found if isinstance(each, Score)] == [1.0, 0.0, 1.0] * 10


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
