"""A history in a terminal: it fits, and says where it got worse."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.results.histories import FOUND

from assay.pages.document import text_of
from assay.pages.documents.history import history_document, sparkline, verdict
from assay.pages.markdown import markdown
from assay.pages.terminal import terminal_lines
from assay.pages.text_width import width_of


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_fits_the_terminal_and_names_the_run(width: int) -> None:
    lines = ["".join(span.text for span in line) for line in terminal_lines(history_document(FOUND), width)]
    assert max(map(width_of, lines)) <= width
    [row] = [line for line in lines if line.rstrip().endswith("first worse")]
    assert "nightly-2" in row
    assert any("temperature 0 → 0.7" in line for line in lines)


def test_the_verdict_says_how_it_was_tested() -> None:
    said = text_of(verdict(FOUND))
    assert said.startswith("First significantly worse: nightly-2, -0.200, p 0.0010 ")
    assert said.endswith("(paired one-sided tests against nightly-0, Holm over 2).")
    assert "| nightly-2 |" in markdown(history_document(FOUND))


def test_where_nothing_was_tested_nothing_is_said_to_be_no_worse() -> None:
    said = text_of(verdict(replace(FOUND, comparisons=0, first_worse=None)))
    assert said == "No run can be tested against the baseline nightly-0: none has samples in common with it."


def test_a_line_of_bars_goes_from_the_lowest_to_the_highest() -> None:
    assert sparkline([0.1, 0.5, None, 0.9]) == "▁▅·█"
    assert sparkline([0.5, 0.5]) == "▄▄"
    assert sparkline([None]) == ""
