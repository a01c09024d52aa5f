"""What else differs is named where it does, and nothing is said of what only one result has."""

from __future__ import annotations

from assay.results.diff.what_else import change, other_numbers, same


def test_a_change_needs_both_numbers() -> None:
    assert change(1.0, 3.0) == 2.0
    assert change(None, 3.0) is None
    assert change(1.0, None) is None


def test_what_only_one_result_has_is_no_change() -> None:
    assert same(None, None, lambda row: row.sha256) == "same"
    assert other_numbers(None, None) == []
