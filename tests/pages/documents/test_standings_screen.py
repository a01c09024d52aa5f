"""Standings on one screen: what limits them first, then who is best, as far as the data says."""

from __future__ import annotations

from pathlib import Path

from tests.results.runs import Adder, Broken, build_standings, run_into, write_sums

from assay.pages.document import Sentence, TextTable, text_of
from assay.pages.documents.standings_screen import standings_screen, standings_verdict


def test_a_flaky_run_is_marked_and_said_first(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", "sums", 20)
    whole = run_into(tmp_path / "whole", tasks, Adder(name="whole"))
    found = build_standings([whole, run_into(tmp_path / "torn", tasks, Broken([3]))])
    first, verdict, table, *_ = standings_screen(found)
    assert isinstance(first, Sentence)
    said = text_of(first.line)
    assert said.startswith("! not all attempts of broken were scored: compared on the 19 that all share")
    assert said.endswith(f"rerun the command of {tmp_path / 'torn'} to complete it")
    assert isinstance(verdict, Sentence)
    assert isinstance(table, TextTable)
    assert [text_of(row[1]) for row in table.rows] == ["whole", "! broken"]


def test_the_verdict_says_no_more_than_the_ranks(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", "sums", 40)
    wrong = {"good": range(0), "fair": range(1), "poor": range(30)}
    runs = {name: run_into(tmp_path / name, tasks, Adder(each, name=f"m:{name}")) for name, each in wrong.items()}
    assert standings_verdict(build_standings(runs.values())) == "good, fair cannot be told apart; the others are worse"
    assert standings_verdict(build_standings([runs["good"], runs["poor"]])) == "good is best of 2"
    assert standings_verdict(build_standings([runs["good"], runs["fair"]])) == "no winner: the 2 cannot be told apart"
