"""What a spreadsheet would run is text, and what is text stays as it was."""

from __future__ import annotations

import pytest

from assay.results.csv_cells import harmless

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\n=1", "\r=1", "＝1", "- item"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_quoted(text: str) -> None:
    assert harmless(text).startswith("'")


@pytest.mark.parametrize("text", ["-5", "+3.25", "-1e-5", "4", "Paris", "\n4", "a = b", "", "x-1", "two\nlines", "-.5"])
def test_numbers_and_plain_texts_are_left_alone(text: str) -> None:
    assert harmless(text) == text


def test_what_cannot_be_seen_is_written_as_an_escape() -> None:
    assert harmless("a\x00b\x1b[31m\u202e") == "a\\u0000b\\u001b[31m\\u202e"
