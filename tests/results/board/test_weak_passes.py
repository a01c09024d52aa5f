"""Weak passes are counted once, by one rule, and stand next to the score wherever it is shown, and nowhere else."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from tests.results.board.scripted_boards import BROKEN, board_of, write_run
from tests.results.runs import build_standings

from assay.core.types import Score
from assay.pages.documents.diff import diff_document
from assay.pages.documents.report import report_page
from assay.pages.documents.standings import standings_csv, standings_document
from assay.pages.html.report_page import report_page as html_page
from assay.pages.html.standings_page import standings_page
from assay.pages.junit import junit_xml
from assay.pages.markdown import markdown
from assay.pages.step_summary import run_summary
from assay.results.board.board_types import Leaderboard, read_leaderboard_file, write_leaderboard_file
from assay.results.board.weak_passes import is_weak_pass
from assay.results.diff.comparison import diff
from assay.results.report_settings import View


def graded(grade: str, score: float = 1.0, outcome: str = "pass") -> Score:
    return Score(name="code", values={"score": score, "outcome": outcome}, metadata={"grade": grade, "tier": "A"})


CODE = [[graded("weak")], [graded("strong")], [graded("weak", 0.5, "wrong")], [graded("weak", 0.0, "wrong")], [BROKEN]]
SENTENCE = "2 passes are weak, of 4 scored: the tests took the program's own word for it"


@pytest.fixture
def board(tmp_path: Path) -> Leaderboard:
    return board_of(tmp_path / "run", {"code": CODE, "sums": [[1.0]] * 5})


@pytest.mark.parametrize(
    ("values", "metadata", "weak"),
    [
        ({"score": 1.0, "outcome": "pass"}, {"grade": "weak"}, True),
        ({"score": 0.25, "outcome": "wrong"}, {"grade": "weak"}, True),
        ({"score": 0.0, "outcome": "wrong"}, {"grade": "weak"}, False),
        ({"score": 1.0, "outcome": "pass"}, {"grade": "strong"}, False),
        ({"score": 1.0, "outcome": "pass"}, None, False),
        ({"score": 1.0}, {"grade": "weak"}, False),
        ({"score": None, "outcome": "pass"}, {"grade": "weak"}, False),
        ({"score": 1.0, "outcome": "pass"}, {"grade": ["weak"]}, False),
    ],
)
def test_a_weak_pass_is_any_mark_that_a_code_scorer_graded_weak(
    values: dict[str, Any], metadata: dict[str, Any] | None, weak: bool
) -> None:
    assert is_weak_pass(values, metadata) is weak


def test_a_board_counts_them_for_tasks_that_have_graded_outcomes(board: Leaderboard, tmp_path: Path) -> None:
    assert [(row.task, row.weak_passes, row.correct) for row in board.tasks] == [("code", 2, 2), ("sums", None, 5)]
    write_leaderboard_file(tmp_path / "board.json", board)
    assert [row.weak_passes for row in read_leaderboard_file(tmp_path / "board.json").tasks] == [2, None]


def test_every_surface_shows_them_next_to_the_score(board: Leaderboard, tmp_path: Path) -> None:
    for text in (report_page(board), run_summary(board, [])):
        assert "weak passes" in text
        assert f"code: {SENTENCE}" in text
    case = ET.fromstring(junit_xml(board, [])).find(".//testcase[@name='code']/system-out")
    assert case is not None
    assert SENTENCE in (case.text or "")
    page = html_page([tmp_path / "run"], View())
    assert "weak passes" in page
    assert SENTENCE in page.replace("&#x27;", "'").replace("&#39;", "'")


def test_comparisons_and_rankings_show_them_too(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {"code": CODE[:4]})
    write_run(tmp_path / "b", {"code": [CODE[1]] * 4})
    assert "- code: " in markdown(diff_document(found := diff(tmp_path / "a", tmp_path / "b")))
    assert "weak passes: 2 → 0" in markdown(diff_document(found))
    standings = build_standings([tmp_path / "a", tmp_path / "b"])
    assert ", 2 weak" in markdown(standings_document(standings))
    assert ", 0 weak" not in markdown(standings_document(standings))
    assert "2 weak" in standings_page(standings)
    assert any("2 of code" in note for note in standings.notes)
    header, *lines = standings_csv(standings).splitlines()
    assert header.endswith(",weak_passes")
    assert sorted(line.rpartition(",")[2] for line in lines) == ["0", "2"]


def test_tables_without_such_passes_do_not_grow(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"code": [[graded("strong")]] * 3, "sums": [[1.0]] * 3})
    assert [row.weak_passes for row in board.tasks] == [0, None]
    assert "weak" not in report_page(board)
    assert "weak" not in html_page([tmp_path], View())
