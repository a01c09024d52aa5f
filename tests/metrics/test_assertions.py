"""The assertion evals: their arithmetic, and that bad input is refused by name."""

from __future__ import annotations

import pytest

from assay.metrics.assertions import evaluate, has_forbidden, label_allowed, label_in_set, no_forbidden


@pytest.mark.parametrize(
    ("predictions", "gold", "mode", "share"),
    [
        (["Paris", " rome "], ["paris", "ROME"], "exact", 1.0),
        (["The capital is Paris.", "Rome"], ["paris", "rome"], "exact", 0.5),
        (["The capital is Paris.", "Rome"], ["paris", "rome"], "contains", 1.0),
        (["a", "b", "c"], ["a", "x", "x"], "exact", 0.3333),
        (["a", "b", "c"], ["a", "b", "x"], "contains", 0.6667),
        ([], [], "exact", 0.0),
        ([], [], "contains", 0.0),
    ],
)
def test_evaluate_is_the_share_of_matches_to_four_places(
    predictions: list[str], gold: list[str], mode: str, share: float
) -> None:
    assert evaluate(predictions, gold, mode) == share


@pytest.mark.parametrize("predictions", [[], ["x"]])
def test_an_unknown_mode_is_refused_even_for_an_empty_set(predictions: list[str]) -> None:
    with pytest.raises(ValueError, match="unknown mode: 'fuzzy'; it must be one of exact, contains"):
        evaluate(predictions, predictions, "fuzzy")


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 predictions but 1 gold answers"):
        evaluate(["a", "b"], ["a"], "exact")


def test_label_in_set_counts_stripped_outputs() -> None:
    assert label_in_set([" spam\n", "ham", "Spam", ""], {"spam", "ham"}) == {"passed": 2, "failed": 2}
    assert label_in_set([], {"spam"}) == {"passed": 0, "failed": 0}
    assert label_in_set(["x"], []) == {"passed": 0, "failed": 1}


def test_has_forbidden_finds_any_of_its_patterns() -> None:
    assert has_forbidden("as an AI, I", ["sorry", "as an AI"]) is True
    assert has_forbidden("fine", ["sorry", "as an AI"]) is False
    assert has_forbidden("fine", []) is False
    assert has_forbidden("call 555-1234", (pattern for pattern in [r"\d{3}-\d{4}"])) is True


def test_a_bad_pattern_is_named_even_behind_one_that_is_found() -> None:
    with pytest.raises(ValueError, match=r"bad regular expression '\(oops'"):
        has_forbidden("found", ["found", "(oops"])


def test_a_lone_string_is_not_a_list_of_its_letters() -> None:
    with pytest.raises(ValueError, match="patterns must be a list of strings, not str"):
        has_forbidden("text", "a pattern")
    with pytest.raises(ValueError, match="allowed must be a list of strings, not str"):
        label_in_set(["a"], "abc")
    with pytest.raises(ValueError, match="allowed must be a list of strings, not int"):
        label_allowed("a", [], {"allowed": 3})


def test_missing_extras_are_named() -> None:
    with pytest.raises(ValueError, match=r"extras\.allowed is missing"):
        label_allowed("a", [], {})
    with pytest.raises(ValueError, match=r"extras\.patterns is missing"):
        no_forbidden("a", [], {})
