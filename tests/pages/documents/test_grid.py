"""The grid as a document: what is in a cell, and what is said of the rows that are left out."""

from __future__ import annotations

import re

import msgspec
import pytest

from assay.pages.document import TextTable, text_of
from assay.pages.documents.grid import grid_document
from assay.pages.terminal import terminal_lines
from assay.results.grid import Grid, GridCell, GridColumn, GridRow


def cell(outcome: str, answer: str | None = "an answer", **more: float) -> GridCell:
    attempts, right = int(more.get("attempts", 1)), int(more.get("right", 0))
    return GridCell(outcome=outcome, answer=answer, score=more.get("score"), attempts=attempts, right=right)


def grid(*cells: GridCell | None, rows: int = 1) -> Grid:
    columns = [
        GridColumn(label=f"m{at}", model=f"m{at}", prompt=None, run=f"r{at}", right=0, answered=1, failed=0, mean=0.25)
        for at in range(len(cells))
    ]
    row = GridRow(sample_id="0", text="text", expected="yes", cells=cells)
    return Grid(
        task="t",
        columns=tuple(columns),
        rows=(row,) * rows,
        count=20,
        differ=1,
        right_everywhere=3,
        wrong_everywhere=0,
        texts="q",
    )


def shown(*cells: GridCell | None) -> list[str]:
    table = next(block for block in grid_document(grid(*cells)) if isinstance(block, TextTable))
    return [text_of(each) for each in table.rows[0][3:]]


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (cell("right", right=1), "✓"),
        (cell("wrong", "no"), "✗ no"),
        (cell("wrong", "a long sentence instead"), "✗ a long se…"),
        (cell("partial", "half", score=0.5), "0.500 half"),
        (cell("unparsed", "hm"), "? hm"),
        (cell("failed", None), "! failed"),
        (cell("timeout", None), "! timeout"),
        (cell("unscored", "x"), "no score"),
        (cell("right", "yes", attempts=3, right=2), "✓ 2/3 yes"),
        (None, "–"),
    ],
)
def test_a_cell_says_what_came_of_an_answer(one: GridCell | None, text: str) -> None:
    assert shown(one) == [text]


def test_scores_without_right_and_wrong_are_summed_up_by_their_mean() -> None:
    table = next(block for block in grid_document(grid(cell("scored", score=0.25))) if isinstance(block, TextTable))
    assert [text_of(each) for each in table.rows[-1]] == ["", "mean of 20", "", "0.250"]


def test_models_stand_above_their_prompts_so_that_answers_fit_on_a_narrow_terminal() -> None:
    columns = [
        GridColumn(
            label=f"{model}, {prompt}",
            model=f"openai:{model}",
            prompt=prompt,
            run="r",
            right=1,
            answered=1,
            failed=0,
            mean=1.0,
        )
        for model in ("large", "small")
        for prompt in ("short", "careful", "a-long-name-one")
    ]
    row = GridRow(sample_id="6", text="a" * 60, expected="positive", cells=(cell("wrong", "negative"),) * 6)
    whole = msgspec.structs.replace(grid(cell("wrong")), columns=tuple(columns), rows=(row,))
    lines = ["".join(span.text for span in line) for line in terminal_lines(grid_document(whole), 80)]
    assert re.findall(r"\w+", lines[0]) == ["large", "small"]
    assert lines[1].split()[:2] == ["row", "q"]
    assert lines[1].count("short") == lines[1].count("careful") == 2
    assert lines[3].count("✗nega") == 6


def test_rows_that_are_not_shown_are_counted() -> None:
    sentence = grid_document(grid(cell("wrong"), rows=5), most=2)[-1]
    assert text_of(getattr(sentence, "line", "")) == "15 more are not right everywhere, 3 of 20 right everywhere"
