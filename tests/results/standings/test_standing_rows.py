"""Many models: ranks with what the data cannot tell, columns that do not dominate, gaps that are no zeros."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import msgspec
import pytest
from tests.results.board.scripted_boards import BROKEN, write_run
from tests.results.runs import Adder, Broken, build_standings, run_into, write_sums

from assay.core.errors import UsageError
from assay.pages.documents.standings import standings_csv, standings_document
from assay.pages.html.standings_page import standings_page
from assay.pages.markdown import markdown
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import View
from assay.results.standings.standing_rows import standings_of


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`good` and `fair` cannot be told apart, `poor` can."""
    folder = tmp_path_factory.mktemp("standings")
    write_sums(folder / "tasks", "sums", 200, metadata=lambda n: {"half": str(n // 100)})
    write_sums(folder / "tasks", "more", 100)
    run_into(folder / "good", folder / "tasks", Adder(range(10), name="good"))
    run_into(folder / "fair", folder / "tasks", Adder(range(9, 20), name="fair"))
    run_into(folder / "poor", folder / "tasks", Adder(range(60), name="=poor|"))
    return folder


def test_models_that_cannot_be_told_apart_share_ranks(runs: Path) -> None:
    found = build_standings([runs / "poor", runs / "fair", runs / "good"])
    assert [(row.label, row.rank) for row in found.models] == [("good", "1–2"), ("fair", "1–2"), ("=poor|", "3")]
    assert found.ranking.startswith("paired tests over 300 shared samples, Holm over 3, 95 %")
    good = found.models[0]
    assert good.overall == pytest.approx((0.95 + 0.9) / 2)
    assert good.win_rate == pytest.approx(1.0)
    assert good.interval is not None
    assert good.interval.low < good.overall < good.interval.high


def test_resamples_that_all_agree_make_no_interval_of_width_zero(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 20)
    run_into(tmp_path / "all", tmp_path / "tasks", Adder(name="all"))
    run_into(tmp_path / "most", tmp_path / "tasks", Adder(range(4), name="most"))
    found = build_standings([tmp_path / "all", tmp_path / "most"])
    assert [row.rank for row in found.models] == ["1–2", "1–2"]
    assert [(row.win_rate, row.win_rate_interval, row.mean_rank_interval) for row in found.models] == [
        (1.0, None, None),
        (0.0, None, None),
    ]


def test_normalised_columns_weigh_every_task_the_same(runs: Path) -> None:
    sources = [runs / "poor", runs / "fair", runs / "good"]
    z = build_standings(sources, normalisation="z")
    assert sum(row.normalised or 0.0 for row in z.models) == pytest.approx(0.0)
    chance = build_standings(sources, normalisation="chance", chance={"sums": 0.5})
    good = chance.models[0]
    assert good.normalised == pytest.approx((0.9 + 0.9) / 2)
    with pytest.raises(UsageError, match="no task is called that"):
        build_standings(sources, chance={"summs": 0.5})


def test_every_shape_holds_every_model(runs: Path) -> None:
    found = build_standings([runs / "poor", runs / "good"], View(by=("half",)))
    page = markdown(standings_document(found))
    assert "| 1    | good" in page
    assert "half = 0" in page
    rows = list(csv.DictReader(io.StringIO(standings_csv(found))))
    assert [row["model"] for row in rows] == ["good", "'=poor|"]
    assert float(rows[0]["sums"]) == 0.95
    assert rows[0]["cost"] == ""
    page = standings_page(found)
    assert "=poor|" in page
    assert page.count("<svg") >= 6


def test_without_examples_ranks_come_from_intervals_that_do_not_overlap(runs: Path, tmp_path: Path) -> None:
    paths = []
    for name in ("good", "poor"):
        paths.append(tmp_path / f"{name}.json")
        write_leaderboard_file(paths[-1], build_leaderboard(runs / name, View()))
    found = build_standings(paths)
    assert [row.rank for row in found.models] == ["1", "2"]
    assert found.ranking.startswith("intervals of the scores that do not overlap")


def test_a_task_that_one_model_lacks_is_left_out_of_overall_numbers(runs: Path, tmp_path: Path) -> None:
    run_into(tmp_path / "part", runs / "tasks" / "sums.jsonl", Adder(name="part"))
    found = build_standings([runs / "good", tmp_path / "part"])
    assert found.unequal == ["task `more` is missing in part"]
    assert found.shared == ["sums"]
    assert found.models[0].label == "part"
    assert "more" not in found.models[0].tasks
    assert "overall numbers leave out what not every model has a score on: more" in found.notes
    assert not any("cost:" in note for note in found.notes)  # of functions
    assert found.models[0].win_rate == 1.0, "of the task that both have"
    assert "more (not compared)" in markdown(standings_document(found))


def test_failures_and_other_questions_are_reported(runs: Path, tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 200, prompt="please compute: {n} + 1")
    write_sums(tmp_path / "tasks", "more", 100)
    run_into(tmp_path / "other", tmp_path / "tasks", Adder(name="other"))
    other = build_standings([runs / "good", tmp_path / "other"])
    assert other.unequal[0] == "task `sums` has other questions in other than in good"
    run_into(tmp_path / "torn", tmp_path / "tasks", Broken([3]))
    found = build_standings([runs / "good", tmp_path / "torn"])
    assert "broken: 2 attempts failed" in found.notes


def test_a_notice_of_one_result_is_about_the_model_as_tables_call_it(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", "sums", 4)
    run = run_into(tmp_path / "run", tasks, Adder(name="twin"))
    board = build_leaderboard(run, View())
    write_leaderboard_file(tmp_path / "noted.json", msgspec.structs.replace(board, notices=["cut short"]))
    found = build_standings([run, tmp_path / "noted.json"])
    assert "twin (2): cut short" in found.notes


def test_failures_of_many_models_are_one_note(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", "sums", 4)
    broken = [run_into(tmp_path / str(count), tasks, Broken(range(count))) for count in (1, 2)]
    found = build_standings(broken)
    assert [note for note in found.notes if "failed" in note] == ["attempts failed: broken (1) 1, broken (2) 2"]


def test_two_results_of_one_model_are_told_apart(runs: Path) -> None:
    found = build_standings([runs / "good", runs / "good"])
    assert sorted(row.label for row in found.models) == ["good (1)", "good (2)"]
    assert {row.rank for row in found.models} == {"1–2"}


def test_a_model_without_any_score_comes_last(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", "sums", 2)
    run_into(tmp_path / "broken", tasks, Broken(range(2)))
    run_into(tmp_path / "right", tasks, Adder(name="right"))
    found = build_standings([tmp_path / "broken", tmp_path / "right"])
    assert [row.label for row in found.models] == ["right", "broken"]
    assert "broken: 2 attempts failed" in found.notes
    assert "no task has a score for every model" in found.ranking


def test_a_score_lies_within_the_bounds_next_to_it(tmp_path: Path) -> None:
    """`a` fails two, `b` fails four others: over the four that both have no attempt failed, over ten some did."""
    scores = [1.0] * 4 + [0.0] * 4
    first = write_run(tmp_path / "a", {"quiz": [[each] for each in [*scores, BROKEN, BROKEN]]})
    second = write_run(tmp_path / "b", {"quiz": [[each] for each in [1.0] * 4 + [BROKEN] * 4 + [1.0, 1.0]]})
    view = View()
    found = standings_of([read_side(first, view), read_side(second, view)], view)
    row = next(each for each in found.models if each.source == str(first))
    assert (row.overall, row.bounds, row.tasks["quiz"].bounds) == (1.0, None, None)
    assert row.run_bounds is not None
    assert (row.run_bounds.low, row.run_bounds.high) == (0.4, 0.6)
    alone = standings_of([read_side(first, view)], view).models[0]
    assert alone.bounds is not None
    assert alone.bounds.low <= (alone.overall or 0.0) <= alone.bounds.high


def test_samples_that_a_run_left_out_bound_its_score(tmp_path: Path) -> None:
    """20 of 40 were asked and are right, so that the whole task has a half or more; as if they remained."""
    tasks = write_sums(tmp_path / "tasks", "sums", 40)
    for name in ("one", "two"):
        run_into(tmp_path / name, tasks, Adder(name=name), limit=20)
    run_into(tmp_path / "whole", tasks, Adder(name="whole"))
    first = build_standings([tmp_path / "one", tmp_path / "two"]).models[0]
    assert first.overall == 1.0
    assert first.bounds is not None
    assert (first.bounds.low, first.bounds.high) == (0.5, 1.0)
    against = {row.label: row for row in build_standings([tmp_path / "one", tmp_path / "whole"]).models}
    assert against["whole"].run_bounds is None
    assert against["one"].bounds == first.bounds
    assert against["one"].tasks["sums"].bounds == first.bounds
