"""Histories as one page."""

from __future__ import annotations

from tests.results.histories import FOUND

from assay.pages.html.history_page import history_page


def test_the_page_holds_chart_verdict_and_changes_as_text() -> None:
    page = history_page([FOUND])
    assert "Worse since nightly-2, seen in nightly-2" in page
    assert "<b>mmlu</b>" not in page
    assert page.count("<svg") == 2
