"""Runs in order: where they got worse, how often nothing changed and someone says so, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench._coverage_history import MadeUp, answers, columns_of, dropped, mixed
from msgspec import structs
from numpy.typing import NDArray
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.core.errors import UsageError
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.diff.paired_columns import read_side
from assay.results.history.history_types import History, HistoryRun
from assay.results.history.timeline import HistorySource, histories
from assay.results.report_settings import View
from assay.run_file import RunFile, read_run_file

VIEW = View()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of one task, the last two of them worse, and one run of another task."""
    folder = tmp_path_factory.mktemp("history")
    tasks = write_sums(folder, "sums", 60)
    for place, wrong in enumerate([{1, 2}, {2, 3}, {1, 4}, {5}, set(range(20)), set(range(22))]):
        run_into(folder / f"run-{place}", tasks, Adder(wrong, name="adder" if place < 3 else "adder-2"))
    run_into(folder / "other", write_sums(folder, "others", 5), Adder())
    return folder


def candidates(folder: Path, names: Sequence[str] = ()) -> list[HistorySource]:
    """Made within one second, so their times are set by hand."""
    found = []
    for place, name in enumerate(names or [f"run-{place}" for place in range(6)]):
        run = read_run_file(folder / name)
        made = RunFile(
            **{each: getattr(run, each) for each in run.__struct_fields__}
            | {"created": f"2026-01-{place + 1:02d}T00:00:00Z", "commit": f"{place:040x}"}
        )
        found.append(HistorySource(name, made, partial(read_side, folder / name, VIEW)))
    return found


def verdicts(history: History) -> list[str]:
    return [point.verdict for point in history.runs]


def test_the_run_in_which_the_level_fell_is_named_and_stays_named(folder: Path) -> None:
    known = candidates(folder)
    [found] = histories(known, VIEW, line="all")
    assert verdicts(found) == ["first", *["nothing found"] * 3, "worse", "nothing found"]
    [worse] = found.steps
    assert worse.run == "run-4"
    assert worse.step is not None
    assert worse.step.since == ["run-4"]
    assert worse.step.low <= worse.step.difference <= worse.step.high < 0.0
    assert worse.reference == ["run-0", "run-1", "run-2", "run-3"]
    assert found.runs[5].reference == ["run-4"], "the new level"


@pytest.mark.parametrize("runs", [3, 4, 5])
def test_what_is_said_of_a_run_never_changes_when_later_ones_arrive(folder: Path, runs: int) -> None:
    known = candidates(folder)
    [whole], [part] = histories(known, VIEW, line="all"), histories(known[:runs], VIEW, line="all")
    assert part.runs == whole.runs[:runs]


def test_each_model_has_a_line_of_its_own(folder: Path) -> None:
    found = histories(candidates(folder), VIEW)
    assert [(each.line, len(each.runs)) for each in found] == [("adder", 3), ("adder-2", 3)]


def test_five_models_are_no_history(folder: Path) -> None:
    """What differs between them is no change of level."""
    known = candidates(folder, ["run-0"] * 5)
    models = [{**source.run.model, "name": f"model-{n}"} for n, source in enumerate(known)]
    runs = [
        source._replace(run=structs.replace(source.run, model=each)) for source, each in zip(known, models, strict=True)
    ]
    assert histories(runs, VIEW) == []
    [joined] = histories(runs, VIEW, line="all")
    assert joined.notes == ["These are runs of 5 models: a change of level may be that of the model"]


def test_a_line_is_what_its_runs_have_in_common(folder: Path) -> None:
    known = candidates(folder)
    runs = [
        source._replace(
            run=structs.replace(
                source.run,
                commit="ab" * 20 if place < 2 else "",
                config=structs.replace(source.run.config, tag=("v1", "v2", None)[place // 2]),
            )
        )
        for place, source in enumerate(known)
    ]

    def lines(line: str) -> list[tuple[str, int]]:
        return [(each.line, len(each.runs)) for each in histories(runs, VIEW, line=line)]

    assert lines("tag") == [("v1", 2), ("v2", 2), ("no tag", 2)]
    assert lines("commit") == [("no known commit", 4), ("ab" * 20, 2)]
    assert lines("prompt") == [("the task's own prompt", 6)]
    with pytest.raises(UsageError, match="--line-per color: must be model, prompt, commit, tag or all"):
        lines("color")


def test_scores_are_those_of_leaderboard_and_diff(folder: Path) -> None:
    [found] = histories(candidates(folder), VIEW, line="all", baseline="run-0")
    for point in found.runs[1:]:
        [task] = diff(folder / "run-0", folder / point.run, VIEW).tasks
        assert task.comparison is not None
        assert point.difference == pytest.approx(task.comparison.difference)
        assert point.score == task.score_b
        assert (point.compared, point.coverage) == (60, 1.0)


def test_each_task_has_the_definition_of_its_metric(folder: Path) -> None:
    [found] = histories(candidates(folder), VIEW, line="all")
    assert found.metrics == {row.task: row.metric_definition for row in build_leaderboard(folder / "run-0", VIEW).tasks}


def test_what_changed_is_reported_where_it_changed(folder: Path) -> None:
    [found] = histories(candidates(folder), VIEW, line="all")
    changed = {point.run: point.changes for point in found.runs}
    assert changed["run-0"] == []
    assert "model adder → adder-2" in changed["run-3"]
    assert not any(each.startswith("model ") for each in changed["run-4"])


def test_order_baseline_model_and_task_can_be_chosen(folder: Path) -> None:
    known = candidates(folder)
    backwards = [each.run.commit for each in reversed(known)][:4]
    [found] = histories(known, VIEW, commits=backwards, line="all")
    assert [point.run for point in found.runs] == ["run-5", "run-4", "run-3", "run-2"]
    assert verdicts(found)[2] == "better"
    assert found.notes[0] == "2 of 6 runs have no commit of this repository"
    [found] = histories(known, VIEW, baseline="run-1", line="all")
    assert verdicts(found) == ["not compared", "first", "nothing found", "nothing found", "worse", "worse"]
    assert [point.reference for point in found.runs[2:]] == [["run-1"]] * 4
    [found] = histories(known, VIEW, model="adder")
    assert len(found.runs) == 3
    [found] = histories([*known, *candidates(folder, ["other"])], VIEW, task="sums", line="all")
    assert found.tasks == ["sums"]
    with pytest.raises(UsageError, match="no such run"):
        histories(known, VIEW, baseline="run-9")


def test_one_run_of_a_task_is_no_history(folder: Path) -> None:
    assert histories(candidates(folder, ["other"]), VIEW) == []


def history_of(folder: Path, runs: Sequence[tuple[str, Adder, dict[str, Any]]], samples: int = 40) -> History:
    tasks = write_sums(folder, "sums", samples)
    for name, model, how in runs:
        run_into(folder / name, tasks, model, **how)
    [found] = histories(candidates(folder, [name for name, _, _ in runs]), VIEW)
    return found


def test_a_regression_that_lasts_stays_found(tmp_path: Path) -> None:
    """Six of sixty for ever: Holm over all runs forgot it the longer it lasted."""
    worse = [(f"night-{n}", Adder(range(6)), {}) for n in range(5)]
    found = history_of(tmp_path, [("good", Adder(), {}), *worse], samples=60)
    [step] = found.steps
    assert step.verdict == "worse"
    assert step.step is not None
    assert step.step.since[0] == "night-0"


def test_five_samples_cannot_tell_and_say_so(tmp_path: Path) -> None:
    found = history_of(tmp_path, [("a", Adder(), {}), ("b", Adder(range(5)), {})], samples=5)
    assert [(point.verdict, point.reason) for point in found.runs[1:]] == [
        ("cannot tell", "not even the loss of everything would show yet")
    ]


def test_a_run_of_a_few_samples_is_no_rise(tmp_path: Path) -> None:
    late = Adder(range(30, 40))
    found = history_of(tmp_path, [("full", late, {}), ("quick", late, {"limit": 10}), ("again", late, {})])
    assert verdicts(found) == ["first", "not compared", "nothing found"]
    assert found.runs[1].reason == "only 25 % of the samples were scored"
    assert (found.runs[1].score, found.runs[1].coverage) == (1.0, 0.25)
    found = histories(candidates(tmp_path, ["quick", "full", "again"]), VIEW)[0]
    assert verdicts(found) == ["not compared", "first", "nothing found"]


def test_a_run_that_failed_on_nearly_everything_is_not_perfect(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 40)
    run_into(tmp_path / "whole", tasks, Broken((), range(20)))
    run_into(tmp_path / "failed", tasks, Broken(range(39)), retries=0)
    [found] = histories(candidates(tmp_path, ["whole", "failed"]), VIEW)
    assert verdicts(found) == ["first", "not compared"]
    assert (found.runs[1].failed, found.runs[1].score) == (39, 1.0)
    assert found.trend == [0.5, None], "nothing rose"


def test_other_questions_begin_a_new_series(tmp_path: Path) -> None:
    for name, samples in (("a", 30), ("b", 30), ("c", 33), ("d", 33)):
        run_into(tmp_path / name, write_sums(tmp_path / f"of-{name}", "sums", samples), Adder())
    [found] = histories(candidates(tmp_path, ["a", "b", "c", "d"]), VIEW)
    assert verdicts(found) == ["first", "nothing found", "first", "nothing found"]
    assert "compared from here on" in found.runs[2].reason
    assert found.runs[3].reference == ["c"]


@pytest.fixture(scope="module")
def made(folder: Path) -> MadeUp:
    return MadeUp(folder / "run-0")


def test_where_nothing_changed_histories_seldom_say_so(made: MadeUp) -> None:
    random = np.random.default_rng(5)
    said = 0
    for _ in range(25):
        runs = answers(random, mixed(random, 100, 0.2), 10)
        said += bool(made([columns_of(row) for row in runs]).steps)
    assert said <= 3


def share_seen(made: MadeUp, points: float, before: int, within: int, number: int) -> float:
    """In which share of the histories a drop after so many runs is seen within so many."""
    random, seen = np.random.default_rng(7), 0
    for _ in range(number):
        chances = mixed(random, 300, 0.1)
        lower = dropped(random, chances, points)
        runs = np.concatenate([answers(random, chances, before), answers(random, lower, within)])
        found = made([columns_of(row) for row in runs])
        seen += any(point.verdict == "worse" for point in found.runs[before:])
    return seen / number


def test_a_drop_of_ten_points_is_seen_in_its_run_and_one_of_three_within_five(made: MadeUp) -> None:
    assert share_seen(made, 0.1, 5, 1, 20) >= 0.9
    assert share_seen(made, 0.03, 5, 5, 40) >= 0.7


SPREAD = {"ratings": 0.12, "skewed": 0.02}
"""Of graded scores from run to run."""


def centres_of(random: np.random.Generator, samples: int, kind: str) -> NDArray[np.float64]:
    return random.beta(8.0, 4.0, samples) if kind == "ratings" else random.uniform(0.85, 0.95, samples)


def graded(random: np.random.Generator, centres: NDArray[np.float64], runs: int, kind: str) -> NDArray[np.float64]:
    """Scores around those of their samples; of the skewed ones 2 % are lost altogether, others in every run."""
    scores = np.clip(random.normal(centres, SPREAD[kind], (runs, len(centres))), 0.0, 1.0)
    lost = random.random(scores.shape) < (0.02 if kind == "skewed" else 0.0)
    return np.where(lost, 0.0, scores)


def graded_alarms(made: MadeUp, kind: str, number: int, runs: int) -> float:
    """In which share of the histories without a change one is found."""
    random, alarms = np.random.default_rng(8), 0
    for _ in range(number):
        scores = graded(random, centres_of(random, 100, kind), runs, kind)
        alarms += bool(made([columns_of(row) for row in scores]).steps)
    return alarms / number


def graded_drops_seen(made: MadeUp, kind: str, number: int, *, after_a_rise: bool = False) -> float:
    """In which share of the histories a loss of 0.1 by all samples is seen in its run."""
    random, seen = np.random.default_rng(9), 0
    for _ in range(number):
        centres = centres_of(random, 300, kind)
        before = [graded(random, np.maximum(centres - 0.1, 0.0), 4, kind)] if after_a_rise else []
        scores = np.concatenate([*before, graded(random, centres, 4, kind), graded(random, centres - 0.1, 1, kind)])
        seen += made([columns_of(row) for row in scores]).runs[-1].verdict == "worse"
    return seen / number


@pytest.mark.parametrize("kind", SPREAD)
def test_graded_histories_seldom_alarm_and_a_drop_of_ten_points_is_seen_at_once(made: MadeUp, kind: str) -> None:
    assert graded_alarms(made, kind, 6, 8) <= 1 / 6
    assert graded_drops_seen(made, kind, 3) == 1.0
    assert graded_drops_seen(made, kind, 3, after_a_rise=True) == 1.0


@pytest.mark.prove
@pytest.mark.parametrize("kind", SPREAD)
def test_of_thirty_graded_runs_without_a_change_at_most_one_history_in_twenty_ever_raises_an_alarm(
    made: MadeUp, kind: str
) -> None:
    assert graded_alarms(made, kind, 2000, 30) <= 0.05


@pytest.mark.prove
@pytest.mark.parametrize("kind", SPREAD)
@pytest.mark.parametrize("after_a_rise", [False, True])
def test_of_graded_scores_a_drop_of_ten_points_is_seen_in_its_run(
    made: MadeUp, kind: str, *, after_a_rise: bool
) -> None:
    assert graded_drops_seen(made, kind, 500, after_a_rise=after_a_rise) >= 0.9


def test_a_drop_after_a_rise_is_seen(made: MadeUp) -> None:
    """0.700 → 0.917 → 0.757: pooled with the first run, the third would look like no change."""
    scores = [np.arange(300) < right for right in (210, 275, 227)]
    found = made([columns_of(each.astype(np.float64)) for each in scores])
    assert verdicts(found) == ["first", "better", "worse"]
    assert found.runs[2].difference == pytest.approx(-0.16)


def test_the_same_regression_night_after_night_stays_found(made: MadeUp) -> None:
    """Whatever the number of nights: corrected over all of them it was forgotten."""
    good, bad = np.ones(60), (np.arange(60) >= 6).astype(np.float64)
    for nights in range(2, 5):
        found = made([columns_of(good), *[columns_of(bad)] * nights])
        [step] = found.steps
        assert (step.run, step.verdict) == ("02", "worse")


def test_every_verdict_carries_what_it_rests_on_and_no_interval_of_width_0(made: MadeUp) -> None:
    """Runs that never differ within a level show no noise, which is not to say that there is none."""
    good, bad = np.ones(60), (np.arange(60) >= 6).astype(np.float64)
    first, *others = made([columns_of(good), *[columns_of(bad)] * 3]).runs
    assert first.basis is None
    assert [(point.basis.level, point.basis.correction) for point in others if point.basis] == [(0.95, "spent")] * 3
    [step] = [point.step for point in others if point.step is not None]
    assert (step.difference, step.low, step.high) == (pytest.approx(-0.1), None, None)


def test_the_trend_is_over_the_samples_that_all_runs_share(made: MadeUp) -> None:
    """What failed in one run is left out of all; the runs of another series have their own."""
    scores = (np.arange(100) >= 10).astype(np.float64)
    broken = np.arange(100) < 8
    found = made([columns_of(scores), columns_of(scores, failed=broken), columns_of(scores)])
    assert found.trend == pytest.approx([90 / 92] * 3)
    assert found.shared == 92
    whole = made([columns_of(scores), columns_of(scores)])
    assert (whole.trend, whole.shared) == ([point.score for point in whole.runs], 100)


def test_remaining_attempts_count_as_failed_ones_do(made: MadeUp) -> None:
    right = np.ones(300)

    def third(remaining: int) -> HistoryRun:
        part = columns_of(right).only(np.arange(300) >= remaining)
        return made([columns_of(right), columns_of(right), part]).runs[2]

    assert third(1).verdict == "nothing found"
    assert third(20).verdict == "cannot tell"


def test_failed_attempts_decide_at_both_extremes(made: MadeUp) -> None:
    """Twenty of 300 failed: what is left is all right, and what failed may have been wrong."""
    right = np.ones(300)

    def third(failed: int) -> HistoryRun:
        broken = np.arange(300) < failed
        return made([columns_of(right), columns_of(right), columns_of(right, failed=broken)]).runs[2]

    assert third(1).verdict == "nothing found"
    assert (third(20).verdict, third(250).verdict) == ("cannot tell", "not compared")
    assert "failed" in third(20).reason
