"""A history in a terminal: it fits, and says where it got worse."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.results.histories import FOUND, point

from assay.pages.document import text_of
from assay.pages.documents.history import history_document, sparkline, verdict
from assay.pages.markdown import markdown
from assay.pages.terminal import terminal_lines
from assay.pages.text_width import width_of


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_fits_the_terminal_and_names_the_run(width: int) -> None:
    lines = ["".join(span.text for span in line) for line in terminal_lines(history_document(FOUND), width)]
    assert max(map(width_of, lines)) <= width
    [row] = [line for line in lines if line.rstrip().endswith("worse")]
    assert "nightly-2" in row
    assert lines.index(row) > next(place for place, line in enumerate(lines) if line.startswith("Worse since"))
    assert any("temperature 0 → 0.7" in line for line in lines)


def test_the_scores_are_named_with_the_definition_of_their_metrics() -> None:
    page = markdown(history_document(FOUND))
    assert "3 runs by time, scored by exact_match (numeric) of gsm8k; choice_accuracy of " in page


def test_the_verdict_says_since_when_by_how_much_and_how_sure() -> None:
    said = text_of(verdict(FOUND))
    assert said.startswith("Worse since nightly-2, seen in nightly-2: -0.195 (-0.280 to -0.110 on these samples), p ")
    assert said.endswith("(chance of a false alarm over all runs at most 5 %).")
    assert "| nightly-2 |" in markdown(history_document(FOUND))


def test_where_nothing_was_compared_nothing_is_said_to_be_no_worse() -> None:
    alone = replace(FOUND, runs=[replace(point(1, 0.9), verdict="not compared", reason="only 20% of the samples")])
    assert text_of(verdict(alone)) == "No run was compared: only 20% of the samples."


def test_runs_of_which_nothing_can_be_told_are_counted() -> None:
    blind = replace(FOUND, runs=[point(0, 0.8), replace(point(1, 0.79), verdict="cannot tell")])
    assert "No change of level was found in 1 run; of 1 run nothing can be concluded" in text_of(verdict(blind))


def test_a_line_of_bars_goes_from_the_lowest_to_the_highest() -> None:
    assert sparkline([0.1, 0.5, None, 0.9]) == "▁▅·█"
    assert sparkline([0.5, 0.5]) == "▄▄"
    assert sparkline([None]) == ""
