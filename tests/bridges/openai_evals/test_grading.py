"""Which choice a verdict stands for."""

from __future__ import annotations

import pytest

from assay.bridges.openai_evals.grading import choice_in


@pytest.mark.parametrize(
    ("text", "eval_type", "match", "choice"),
    [
        ("Reasons.\nYes.", "cot_classify", "starts_or_endswith", "Yes"),
        ("Yes or No\n\nNo!", "cot_classify", "starts_or_endswith", "No"),
        ("No\nbecause Yes", "classify_cot", "starts_or_endswith", "No"),
        ("It is: Yes", "classify", "exact", None),
        ("perhaps", "classify", "starts_or_endswith", None),
        ("", "classify", "starts_or_endswith", None),
    ],
)
def test_a_line_is_a_choice_punctuation_aside(text: str, eval_type: str, match: str, choice: str | None) -> None:
    assert choice_in(text, ["Yes", "No"], eval_type, match) == choice
