"""What a reader must know in addition to a leaderboard's numbers."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from tests.results.board.scripted_boards import BROKEN, board_of
from tests.results.yaml_runs import EQUALS, Runs, python_scorer

from assay.costs.spending import Cost
from assay.pages.documents.leaderboard import aggregates_table, display_names, leaderboard_table, notes, percentiles
from assay.pages.documents.more_tables import token_table
from assay.results.board.board_types import Latency, ScorerRow


def test_tasks_that_fail_for_the_same_reason_are_reported_once(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"one": [[BROKEN]], "two": [[BROKEN], [BROKEN]], "fine": [[1.0]]})
    said = notes(board)
    assert next(note for note in said if "attempts failed" in note) == "3 of 4 attempts failed (3 × model/connection)"
    (kind,) = board.tasks[0].failure_examples
    assert len([note for note in said if note.startswith(f"{kind}: ")]) == 1
    assert not any(note.startswith(("one:", "two:")) for note in said)


def test_display_names_and_purposes_are_noted_where_the_keys_do_not_say_them(tmp_path: Path) -> None:
    scorers = [
        ScorerRow(key="main", type="bleu", display_name="main"),
        ScorerRow(key="safe", type="python", display_name="Is it safe?", purpose="qa"),
    ]
    board = board_of(tmp_path, {"t": [[1.0]], "u": [[1.0]]})
    named = [
        replace(board.tasks[0], display_name="Capitals", scorers=scorers),
        replace(board.tasks[1], display_name="u"),
    ]
    board = replace(board, tasks=named)
    assert display_names(board)[:2] == ["t: Capitals", "t, scorer safe: Is it safe? (purpose: qa)"]
    assert not any(said.startswith("u: ") for said in display_names(board))


def test_a_cost_has_a_column_where_money_is_due_or_may_be(tmp_path: Path) -> None:
    made = board_of(tmp_path, {"t": [[1.0]]})
    unknown, nothing, some = Cost(amount=None, reason="…"), Cost(amount=0.0), Cost(amount=0.5)
    due = {None: False, nothing: False, unknown: True, some: True}
    for cost, shown in due.items():
        board = replace(made, tasks=[replace(made.tasks[0], tokens_in=3, cost=cost)], cost=cost)
        tables = [leaderboard_table(board), token_table(board)]
        assert [table is not None and "cost" in table.header for table in tables] == [shown, shown], cost


def test_times_have_no_more_digits_than_were_measured() -> None:
    assert percentiles(Latency(mean=1.0, p50=9.876, p95=30000.0)) == ["9.9", "30,000"]
    assert percentiles(None) == ["–", "–"]


def test_an_aggregate_that_lacks_attempts_has_its_bounds_and_coverage(runs: Runs) -> None:
    body = '{"v": 1.0} if sample["q"] == "a" else 1 / 0'
    breaks = python_scorer(body, metrics=[{"type": "mean", "field": "v"}, {"type": "std_dev", "field": "v"}])
    rows = [{"q": each, "a": "a"} for each in "aabb"]
    table = aggregates_table(runs(rows, [EQUALS, breaks]))
    assert table is not None
    assert table.header[4:] == ["scored", "bounds", "coverage", "failed"]
    assert [[str(cell) for cell in row[4:7]] for row in table.rows][:2] == [["4", "–", "100 %"], ["2", "–", "50 %"]]


def test_bounds_and_coverage_of_aggregates_are_shown_only_where_attempts_failed(runs: Runs) -> None:
    again = {**EQUALS, "key": "again"}
    table = aggregates_table(runs([{"q": "a", "a": "a"}], [EQUALS, again]))
    assert table is not None
    assert table.header[4:] == ["scored"]


def test_a_page_with_room_has_the_same_table_with_percentiles_of_the_time(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"t": [[1.0], [0.0]]})
    narrow, wide = leaderboard_table(board), leaderboard_table(board, with_percentiles=True)
    at = list(narrow.header).index("ms")
    assert [*wide.header] == [*narrow.header[:at], "p50 ms", "p95 ms", *narrow.header[at + 1 :]]
    assert [row[:at] for row in wide.rows] == [row[:at] for row in narrow.rows]
