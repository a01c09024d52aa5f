"""Runs in order: where they got worse, how often nothing changed and someone says so, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.results.runs import Adder, run_into, write_sums

from assay.core.errors import UsageError
from assay.core.run_file import RunFile, read_run_file
from assay.results.board.leaderboard import empty_leaderboard
from assay.results.diff.comparison import diff
from assay.results.diff.paired_columns import Columns, Side, read_side
from assay.results.history.history_types import History
from assay.results.history.timeline import HistorySource, histories
from assay.results.measure import measure_of
from assay.results.report_settings import View

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


def test_the_first_run_that_is_significantly_worse_is_named(folder: Path) -> None:
    [found] = histories(candidates(folder), VIEW)
    assert found.baseline == "run-0"
    assert found.first_worse == "run-4"
    assert [point.worse for point in found.runs] == [False, False, False, False, True, True]
    assert found.comparisons == 5


def test_numbers_are_those_of_leaderboard_and_diff(folder: Path) -> None:
    [found] = histories(candidates(folder), VIEW)
    for point in found.runs[1:]:
        [task] = diff(folder / "run-0", folder / point.run, VIEW).tasks
        assert task.comparison is not None
        assert point.difference == task.comparison.difference
        assert point.score == task.score_b
        assert point.compared == 60
        assert point.adjusted_p is not None
        assert task.comparison.p_drop is not None
        assert point.adjusted_p >= task.comparison.p_drop


def test_what_changed_is_reported_where_it_changed(folder: Path) -> None:
    [found] = histories(candidates(folder), VIEW)
    changed = {point.run: point.changes for point in found.runs}
    assert changed["run-0"] == []
    assert "model adder → adder-2" in changed["run-3"]
    assert not any(each.startswith("model ") for each in changed["run-4"])


def test_order_baseline_model_and_task_can_be_chosen(folder: Path) -> None:
    known = candidates(folder)
    backwards = [each.run.commit for each in reversed(known)][:4]
    [found] = histories(known, VIEW, commits=backwards)
    assert [point.run for point in found.runs] == ["run-5", "run-4", "run-3", "run-2"]
    assert found.first_worse is None, "better is not worse"
    assert found.notes == ["2 of 6 runs have no commit of this repository"]
    [found] = histories(known, VIEW, baseline="run-4")
    assert found.first_worse is None
    assert [point.run for point in found.runs if point.worse] == []
    [found] = histories(known, VIEW, model="adder")
    assert len(found.runs) == 3
    [found] = histories([*known, *candidates(folder, ["other"])], VIEW, task="sums")
    assert found.tasks == ["sums"]
    with pytest.raises(UsageError, match="no such run"):
        histories(known, VIEW, baseline="run-9")


def test_one_run_of_a_task_is_no_history(folder: Path) -> None:
    assert histories(candidates(folder, ["other"]), VIEW) == []


def simulated(base: Side, scores: NDArray[np.float64]) -> Side:
    """A run of the same task with these scores."""
    count = len(scores)
    zeros, ids = np.zeros(count, dtype=np.int64), np.arange(count, dtype=np.int64)
    columns = Columns(ids, ids, zeros, zeros, zeros, ids, {}, scores, np.zeros(count, dtype=np.bool_), ids, {})
    return Side(base.source, base.board, {"sums": columns}, base.measures)


def without_change(folder: Path, random: np.random.Generator) -> History:
    """Ten runs of a model that answers at random, of questions of any difficulty."""
    run = read_run_file(folder / "run-0")
    board = empty_leaderboard(folder / "run-0", VIEW)
    base = Side(folder / "run-0", board, {}, {each.name: measure_of(each) for each in run.definitions})
    easy = random.beta(1.5, 1.0, size=120)
    sides = [simulated(base, (random.random(120) < easy).astype(np.float64)) for _ in range(10)]
    [found] = histories([HistorySource(f"{n}", run, lambda side=side: side) for n, side in enumerate(sides)], VIEW)
    return found


def test_where_nothing_changed_at_most_one_history_in_twenty_says_worse(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # how many samples it would take to find a difference is a sentence that no one reads here, and most of the time
    monkeypatch.setattr("assay.results.diff.sentences.pairs_to_find", lambda *_: 0)
    random = np.random.default_rng(5)
    said = [without_change(folder, random) for _ in range(200)]
    assert all(found.comparisons == 9 for found in said[:3])
    assert sum(found.first_worse is not None for found in said) <= 10
