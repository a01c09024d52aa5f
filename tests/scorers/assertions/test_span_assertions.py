"""Patterns match as promptfoo's do, and in bounded time; the verdicts are in `test_trajectory_assertions.py`."""

from __future__ import annotations

import pytest

from assay.scorers.assertions.span_assertions import error_spans, is_error, matches, span_duration


@pytest.mark.parametrize(
    ("text", "pattern", "holds"),
    [
        ("tool search", "TOOL *", True),
        ("tool search", "tool", False),
        ("a.b", "a?b", True),
        ("axb", "a.b", False),
        ("[x]", "[X]", True),
        ("a\nb", "a*b", False),
        ("a\nb", "a\nb", True),
        ("a\nb", "a?b", False),
        ("Größe", "GRÖßE", True),
        ("😀", "?", False),
        ("😀", "??", True),
        ("\u017f", "s", False),
        ("\u212a", "k", False),
        ("", "*", True),
        ("aXbXc", "*x*c", True),
    ],
)
def test_a_pattern_is_a_glob_without_case(text: str, pattern: str, holds: bool) -> None:
    assert matches(text, pattern) is holds


def test_a_pattern_of_many_stars_takes_no_exponential_time() -> None:
    assert not matches("a" * 2000, "*a" * 200 + "*b")


def test_a_span_is_an_error_by_status_attributes_or_message() -> None:
    for fields in (
        {"statusCode": 2},
        {"attributes": {"http.status_code": " 503 "}},
        {"attributes": {"exception": {}}},
        {"attributes": {"otel.status_code": "ERROR"}},
        {"statusMessage": "request Timeout"},
    ):
        assert is_error({"name": "x", "startTime": 0, **fields})
    for fields in ({"statusCode": 1}, {"attributes": {"error": False, "http.status_code": "ok"}}, {}):
        assert not is_error({"name": "x", "startTime": 0, **fields})


def test_a_percentile_is_a_duration_that_occurred() -> None:
    spans = [{"name": "x", "startTime": 0, "endTime": end} for end in (1, 2, 3, 100)]
    assert span_duration(spans, {"max": 3, "percentile": 75}).passed
    assert not span_duration(spans, {"max": 3, "percentile": 76}).passed
    assert span_duration([{"name": "x", "startTime": 0}], {"max": 1}).reason == "no ended span matches"


def test_the_spans_that_are_errors_are_named() -> None:
    assert error_spans([{"name": "db", "startTime": 0, "statusCode": 2}], None).reason == "1 of 1 spans are errors: db"
