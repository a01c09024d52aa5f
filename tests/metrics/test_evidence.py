"""Evidence: what each metric saw in an answer, found by its own rule, in agreement with its value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import catalog
from assay.metrics.evidence import FINDERS, evidence_of


def seen(name: str, answer: str, targets: list[str], extras: Mapping[str, Any] | None = None) -> tuple[str, bool, str]:
    """What is marked or, where nothing is, the note; whether it is good; the note."""
    metric = catalog.resolve("metric", name)
    (found,) = evidence_of(metric, answer, targets, extras or {}, metric(answer, targets, extras or {}))
    marked = answer[found["start"] : found["end"]] if found["kind"] == "span" else ""
    return marked, found["good"], found["note"]


@pytest.mark.parametrize(
    ("metric", "answer", "targets", "marked", "good"),
    [
        ("contains", "It is a green square, not red.", ["red"], "red", True),
        ("contains", "It is a green square", ["blue"], "", False),
        ("substring_contains", "It was NEW\n  york.", ["new york"], "NEW\n  york", True),
        ("starts_with", "  Paris, of course", ["Paris"], "Paris", True),
        ("starts_with", "It is Paris", ["Paris"], "", False),
        ("multiple_choice", " b) Paris", ["B"], "b", True),
        ("multiple_choice", "C", ["B"], "C", False),
        ("fuzzy_match", "It is the Eiffel Tower.", ["Eiffel tower"], "", True),
    ],
)
def test_it_marks_what_decided(metric: str, answer: str, targets: list[str], marked: str, good: bool) -> None:
    assert seen(metric, answer, targets)[:2] == (marked, good)


def test_it_names_the_label_and_the_pattern() -> None:
    assert "'ham', 'spam'" in seen("label_in_set", "eggs", [], {"allowed": ["spam", "ham"]})[2]
    patterns = {"patterns": ["(?i)sorry", "(?i)as an ai"]}
    assert seen("forbidden_patterns", "As an AI, no", [], patterns)[1:] == (
        False,
        "the forbidden pattern '(?i)as an ai' occurs",
    )


def test_what_compares_whole_answers_needs_none() -> None:
    assert evidence_of(catalog.resolve("metric", "exact_match"), "a", ["a"], {}, 1.0) == []
    assert evidence_of(lambda *_: 1.0, "a", ["a"], {}, 1.0) == []


@given(st.sampled_from(["contains", "substring_contains", "starts_with", "multiple_choice", "fuzzy_match"]),
       st.text(max_size=12), st.lists(st.text(max_size=4), max_size=2))  # fmt: skip
def test_full_marks_never_come_with_bad_evidence(name: str, answer: str, targets: list[str]) -> None:
    metric = catalog.resolve("metric", name)
    assert metric in FINDERS
    value = metric(answer, targets, {})
    for found in evidence_of(metric, answer, targets, {}, value):
        assert found["good"] is bool(value)
        assert 0 <= found.get("start", 0) <= found.get("end", 0) <= len(answer)
