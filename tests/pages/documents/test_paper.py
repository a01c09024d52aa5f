"""The table and the paragraph of a paper, from what the runs recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.pages.document import Sentence, TextTable, text_of
from assay.pages.documents.paper import paper_document
from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import view_of_results
from assay.results.standings.standing_rows import standings_of


def paper(*runs: Path) -> tuple[TextTable, str]:
    view = view_of_results(runs)
    sides = [read_side(run, view) for run in runs]
    table, _, said = paper_document([side.board for side in sides], standings_of(sides, view))
    assert isinstance(table, TextTable)
    assert isinstance(said, Sentence)
    return table, text_of(said.line)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        write_sums(tmp_path / "tasks", name, 30)
    return tmp_path / "tasks"


def test_tasks_are_rows_and_models_columns_with_ranks_below(tasks: Path, tmp_path: Path) -> None:
    good = run_into(tmp_path / "good", tasks, Adder(name="good"), label="Good & ours")
    poor = run_into(tmp_path / "poor", tasks, Adder(range(20), name="poor"))
    table, said = paper(poor, good)
    assert table.header == ["task", "Good & ours", "poor"]
    assert [text_of(row[0]) for row in table.rows] == ["one", "two", "overall", "rank"]
    assert str(table.rows[1][2]).startswith("0.333 (")
    assert table.rows[3][1:] == ["1", "2"]
    assert "poor, Good & ours were evaluated with assay" in said
    assert "on 2 tasks (one, two; 60 questions)" in said
    assert "Answers were generated with the settings of the tasks and the defaults of the model." in said
    assert "Ranks are by paired tests over 60 shared samples, Holm over 1, 95 %." in said
    assert "No attempt failed." in said


def test_what_failed_is_in_the_paragraph_and_many_models_are_rows(tasks: Path, tmp_path: Path) -> None:
    runs = [run_into(tmp_path / f"m{at}", tasks, Adder(range(at), name=f"m{at}")) for at in range(4)]
    table, said = paper(*runs, run_into(tmp_path / "torn", tasks, Broken([3])))
    assert table.header == ["rank", "model", "overall", "95 % interval"]
    assert len(table.rows) == 5
    assert "Failed attempts are no scores and were left out: 2 of broken." in said
    assert "Not all attempts of broken were scored: compared on the 58 that all share" in said
