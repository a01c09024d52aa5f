"""Texts made out of regular expressions: found by the pattern they were made of, short, and none for what has none."""

from __future__ import annotations

import re

import pytest

from assay.patterns.example import MOST_CHARACTERS, example_around, example_text

PATTERNS = [
    r"\d{4}-\d{2}-\d{2}",
    r"^(?:yes|no)$",
    r"(?i)\banswer:\s*([A-D])\b",
    r"[^\d\s]{3,5}[.!?]",
    r"(\w+) and \1",
    r"(?P<year>19|20)\d\d",
    r"a{2,}b*c?|never",
    r"#### (\-?[0-9\.\,]+)",
    r"(?=.*\d{3})(?!0)[5-9]+x",
    r"\$\d+(?:\.\d{2})?",
    r"[一-龥]{2}",
    r"^\s*\{[^{}]*\}\s*$",
    r"(?:(?:a|b)+c){2}",
    r"x*+y(?>z|w)",
    r"",
    r"\\frac\{(\d+)\}\{(\d+)\}",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_pattern_is_found_in_the_text_made_of_it(pattern: str) -> None:
    if "*+" in pattern and not hasattr(re, "NOFLAG"):
        pytest.skip("possessive repetitions are of Python 3.11")
    assert re.search(pattern, example_text(pattern))


def test_a_text_stands_where_the_first_group_is() -> None:
    assert example_around(r"(?i)the answer is:? (\w+)\.", "Paris") == "the answer is: Paris."
    assert example_around(r"(?:so|thus) ([a-z]+) \1", "x") == "so x x"
    assert example_around("no group", "x") == "x"


@pytest.mark.parametrize(
    "pattern", [r"a(?!b)(?=b)", r"\A(?=\D*7)(?=.*q)\w{4}\Z", "(a{9999}){9999}", "((((a{99}){99}){99}){99})"]
)
def test_what_cannot_be_made_is_a_short_text_all_the_same(pattern: str) -> None:
    assert len(example_text(pattern)) <= MOST_CHARACTERS
