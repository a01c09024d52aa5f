"""Where scorers score: what is not ours never in the event loop, and not a score or a failure changes by it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import assay, leaderboard, write_task
from tests.scorers.moving import METRIC, Placed, own_metric, part, values

from assay.core.seams import BuildContext
from assay.core.types import Completion, PartSpec, Sample, Score, Trace
from assay.scorers.from_metric import from_metric
from assay.scorers.processes import MayMove, OwnCode, is_own, placed
from assay.scorers.supervisor import TIMED, Supervisor

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_metrics.py").write_text(METRIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)
    return tmp_path


def built_in(metric: str, workers: int | None = None) -> Placed:
    return Placed(lambda context: from_metric("own", metric=metric), part(metric), workers)


def test_an_own_metric_scores_in_another_process(metrics: Path) -> None:
    assert values(own_metric("own_metrics:where").score(["yes"] * 3, metrics / "pids")) == [1.0] * 3
    pids = {*map(int, (metrics / "pids").read_text().split())}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_a_function_scores_in_this_process_but_not_in_the_event_loop() -> None:
    import threading

    names: list[str] = []

    def remembers(prediction: str, targets: Any, extras: Any) -> float:
        names.append(threading.current_thread().name)
        return 1.0

    assert values(own_metric(remembers).score(["yes"] * 2)) == [1.0] * 2
    assert names == ["scoring"] * 2


def test_scores_and_failures_are_the_same_wherever_they_are_made(metrics: Path) -> None:
    predictions = ["yes", "no", "broken", "é\u2028\x00"] * 40
    elsewhere = own_metric("own_metrics:fickle").score(predictions)
    import own_metrics  # type: ignore[import-not-found]

    def here(prediction: str, targets: Any, extras: Any) -> float:
        value: float = own_metrics.fickle(prediction, targets, extras)
        return value

    assert values(elsewhere) == values(own_metric(here).score(predictions))
    assert values(elsewhere)[:4] == [1.0, 0.0, "exception", 0.0]


def test_an_answer_that_no_message_can_hold_is_scored_too_and_spoils_no_others(metrics: Path) -> None:
    outcomes = own_metric("own_metrics:fickle").score(["yes", "half a character: \ud800", "yes"] * 10)
    assert values(outcomes) == [1.0, 0.0, 1.0] * 10


def test_extras_that_json_would_change_reach_the_metric_as_they_are() -> None:
    def sees(prediction: str, targets: Any, extras: Any) -> float:
        return float(extras == {"pair": (1, 2)})

    sys.modules[__name__].sees = sees  # type: ignore[attr-defined]
    sees.__module__, sees.__qualname__ = __name__, "sees"
    found = own_metric(sees).outcomes([(Sample(id="1", extras={"pair": (1, 2)}), Trace(prediction="x"))])
    assert values(found) == [1.0]


def test_what_a_metric_does_to_its_extras_reaches_no_other_attempt(metrics: Path) -> None:
    sample = Sample(id="1", targets=("yes",), extras={"mark": "as it was"})
    found = own_metric("own_metrics:fickle").outcomes(
        [(sample, Trace(prediction=text)) for text in ("changes", "mark", "changes", "mark")]
    )
    assert values(found) == [0.0] * 4
    assert sample.extras == {"mark": "as it was"}


def test_a_cheap_built_in_scorer_stays() -> None:
    scorer = built_in("exact_match")
    assert isinstance(scorer.scorer, MayMove)
    scorer.score(["yes"] * (TIMED * 4))
    assert not scorer.pids


def test_a_slow_own_metric_gets_more_processes_and_a_cheap_one_does_not(
    metrics: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.scorers.supervisor.cores", lambda: 2)

    slow, cheap = own_metric("own_metrics:slow"), own_metric("own_metrics:fickle")
    for scorer in (slow, cheap):
        scorer.score(["yes"] * 3 * TIMED, at_once=TIMED)  # after the first ones it is known
    assert (len(slow.pids), len(cheap.pids)) == (2, 1)


def test_a_number_of_processes_that_the_user_sets_is_used(metrics: Path) -> None:
    scorer = own_metric("own_metrics:fickle", workers=3)
    scorer.score(["yes"] * 20)
    assert len(scorer.pids) == 3


def test_a_scorer_that_no_other_process_can_build_scores_in_a_thread_and_it_is_said(metrics: Path) -> None:
    scorer = own_metric("own_metrics:fickle")
    (metrics / "own_metrics.py").unlink()
    assert values(scorer.score(["yes", "no"])) == [1.0, 0.0]
    [said] = scorer.said
    assert said.startswith("`own` scores in a thread, which cannot be ended if it never returns: UsageError: ")
    assert "there is no module `own_metrics`" in said


class Waits:
    """A scorer that waits, so that others go on meanwhile."""

    def __init__(self, key: str) -> None:
        self.name = key

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        raise NotImplementedError


def test_what_is_ours_and_waits_is_left_alone() -> None:
    waiting = Waits("own")
    ours = PartSpec(key="own", use="evaluator")
    assert placed(ours, lambda context: waiting, BuildContext(), Supervisor()) is waiting
    theirs = PartSpec(key="own", use="tests.scorers.test_processes:Waits")
    assert isinstance(placed(theirs, lambda context: waiting, BuildContext(), Supervisor()), OwnCode)
    assert placed(theirs, lambda context: waiting, BuildContext(), None) is waiting


@pytest.mark.parametrize(
    ("use", "options", "own"),
    [
        ("metric", {"metric": "exact_match"}, False),
        ("metric", {"metric": "mine:exact_match"}, True),
        ("metric", {"metric": "exact_match", "post_process": "lower"}, False),
        ("metric", {"metric": "exact_match", "post_process": "of_a_package"}, True),
        ("mine:Scorer", {}, True),
        ("code_exec", {}, False),
    ],
)
def test_what_is_not_in_the_catalog_is_somebodys_own(use: str, options: dict[str, Any], own: bool) -> None:
    assert is_own(PartSpec(key="s", use=use, options=options)) is own


def test_a_placed_scorer_passes_on_what_it_declares() -> None:
    class Pure(Waits):
        only_computes = True

        def gold(self, sample: Sample) -> Completion | None:
            return Completion(text=sample.prompt.upper())

    def moved(kind: type[Waits]) -> OwnCode:
        made = placed(PartSpec(key="own", use="mine:Pure"), lambda context: kind("own"), BuildContext(), Supervisor())
        assert isinstance(made, OwnCode)
        return made

    sample = Sample(id="s", prompt="gold")
    assert (moved(Pure).only_computes, moved(Pure).gold(sample)) == (True, Completion(text="GOLD"))
    assert (moved(Waits).only_computes, moved(Waits).gold(sample)) == (False, None)


@pytest.mark.parametrize("workers", ["auto", "0", "2"])
def test_a_run_and_a_rescoring_come_to_the_same_with_any_number_of_processes(metrics: Path, workers: str) -> None:
    task = write_task(metrics / "t.jsonl", {f"write: {n % 3}": "1" for n in range(200)}, metric="own_metrics:slow")
    done = assay("run", task, "--run-dir", "r", "--score-workers", workers, "--quiet", cwd=metrics)
    assert done.returncode == 0, done.stderr
    again = assay("rescore", "r", task, "--run-dir", "again", "--score-workers", workers, cwd=metrics)
    assert again.returncode == 0, again.stderr
    boards = [leaderboard(metrics / name) for name in ("r", "again")]
    assert len({board["fingerprint"] for board in boards}) == 1
    assert boards[0]["overall_score"] == boards[1]["overall_score"] == pytest.approx(1 / 3, abs=0.01)
