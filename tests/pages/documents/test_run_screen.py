"""A run on one screen: the cause of failures first, each number once."""

from __future__ import annotations

from pathlib import Path

from tests.results.board.scripted_boards import BROKEN, board_of

from assay.pages.document import Items, Sentence, TextTable, text_of
from assay.pages.documents.run_screen import run_screen


def test_causes_stand_before_the_score_and_the_score_stands_once(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"one": [[1.0]] * 3 + [[BROKEN]], "two": [[1.0], [0.0]]})
    causes, verdict, table, *_ = run_screen(board)
    assert isinstance(causes, Items)
    assert text_of(causes.lines[0]) == "one: 1 of 4 attempts failed (1 × model/connection)"
    assert isinstance(verdict, Sentence)
    assert ": 0.750 on these 6 questions, the mean of 2 tasks; " in text_of(verdict.line)
    assert text_of(verdict.line).endswith(" whatever the failed ones were")
    assert isinstance(table, TextTable)
    assert [text_of(row[0]) for row in table.rows] == ["one", "two"]


def test_a_single_task_has_its_score_in_the_verdict_alone(tmp_path: Path) -> None:
    verdict, table = run_screen(board_of(tmp_path, {"one": [[1.0], [0.0]]}))
    assert isinstance(verdict, Sentence)
    assert ": 0.500 on these 2 questions" in text_of(verdict.line)
    assert isinstance(table, TextTable)
    assert not {"score", "95 % interval", "bounds"} & set(table.header)


def test_rows_with_news_are_never_folded(tmp_path: Path) -> None:
    many = {f"t{at}": [[1.0]] * 2 for at in range(4)} | {"bad": [[BROKEN], [1.0]]}
    table = next(block for block in run_screen(board_of(tmp_path, many)) if isinstance(block, TextTable))
    assert [text_of(table.rows[at][0]) for at in table.folds] == ["t3", "t2", "t1"]


def test_without_a_score_the_reason_is_the_verdict(tmp_path: Path) -> None:
    blocks = run_screen(board_of(tmp_path, {"one": [[BROKEN]]}), ["no result: one has no scored attempt"])
    assert isinstance(blocks[0], Sentence)
    assert text_of(blocks[0].line) == "no result: one has no scored attempt"
    assert not any("none" in text_of(block.line) for block in blocks if isinstance(block, Sentence))
