"""The letter at the beginning: what counts as picked, and what the docstring says it gets wrong."""

from __future__ import annotations

import pytest

from assay.metrics.choice import multiple_choice


@pytest.mark.parametrize(
    ("prediction", "score"),
    [
        ("b) Paris", 1.0),
        ("\n B", 1.0),
        ("Because…", 1.0),
        ("(B)", 0.0),
        ("The answer is B", 0.0),
        ("", 0.0),
        ("  ", 0.0),
    ],
)
def test_only_the_first_character_counts(prediction: str, score: float) -> None:
    assert multiple_choice(prediction, ["B", "Bern"], {}) == score


def test_an_empty_target_is_never_picked() -> None:
    assert multiple_choice("", ["", " "], {}) == 0.0
    assert multiple_choice("A", [""], {}) == 0.0
    assert multiple_choice("A", [], {}) == 0.0


def test_letters_that_grow_when_they_are_capitals_break_nothing() -> None:
    assert multiple_choice("ßa", ["ss"], {}) == 0.0
    assert multiple_choice("é", ["É"], {}) == 1.0
