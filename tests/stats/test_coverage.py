"""`docs/coverage.md` is true: an excerpt of every row is measured again here, and all of it under `make prove`."""

from __future__ import annotations

import math
import re

import pytest
from bench._coverage_cell import Row, fails, measure
from bench.coverage import PAGE, measured, rows
from scipy import stats

HISTORIES = "Histories of runs"
FIGURE = re.compile(r"([^;|]+?): \**([01]\.\d{3})\**")
MOST = {
    "Graded pairs: a worse or equal result called better": 0.05,
    "Margins: a drop of exactly the margin taken for less": 0.05,
    "The overall difference of several tasks": 0.06,
    "Ranks and weak slices: any false one at all": 0.05,
    "Right/wrong pairs": 0.05,
}
"""What no row of a section may exceed."""


def name(row: Row) -> str:
    return f"{row.section}: {row.method}: {row.data}"


def on_page() -> dict[str, dict[str, float]]:
    """The figures of the page, by row and size."""
    section, found = "", {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| ") and not line.startswith(("| method", "| ---")):
            method, data, _, figures, _ = (cell.strip() for cell in line[2:-2].split(" | "))
            found[f"{section}: {method}: {data}"] = {
                size.strip(): float(share) for size, share in FIGURE.findall(figures)
            }
    return found


def test_the_page_has_every_row_and_no_other() -> None:
    assert {each: list(sizes) for each, sizes in on_page().items()} == {name(row): list(row.trials) for row in rows()}


def test_a_row_that_fails_says_why() -> None:
    page = on_page()
    silent = [name(row) for row in rows() if not row.why and any(fails(row, p) for p in page[name(row)].values())]
    assert silent == []


def test_verdicts_err_no_more_often_than_is_promised() -> None:
    page = on_page()
    wrong = [
        (name(row), size, share)
        for row in rows()
        for size, share in page[name(row)].items()
        if row.asks == "errs" and row.section in MOST and share > MOST[row.section]
    ]
    assert wrong == []
    beyond = [share for each, sizes in page.items() if "no drop beyond" in each for share in sizes.values()]
    assert beyond
    assert max(beyond) <= 0.035


@pytest.mark.parametrize("row", rows(), ids=name)
def test_an_excerpt_agrees_with_the_page(row: Row) -> None:
    for size, share in on_page()[name(row)].items():
        sets = 2 if row.section == HISTORIES else max(8, min(60, row.sets // 40))
        found = measure(row, size, sets)
        hits, likely = round(found.share * found.sets), min(max(share, 0.002), 0.998)
        assert not found.sets or stats.binomtest(hits, found.sets, likely).pvalue > 1e-5, (size, found, share)


@pytest.mark.prove
def test_the_page_is_what_the_program_measures() -> None:
    page = on_page()
    for row, figures in measured(list(rows()), None, 2):
        for size, found in zip(row.trials, figures, strict=True):
            assert abs(found.share - page[name(row)][size]) <= 4.0 * math.sqrt(2.0) * found.error, (name(row), size)
