"""Patterns of JavaScript, put in Python's words."""

from __future__ import annotations

import pytest

from assay.patterns.javascript import python_pattern


@pytest.mark.parametrize(
    ("javascript", "python"),
    [
        (r"^\d+$", r"^[0-9]+\Z"),
        (r"[\d$]", "[0-9$]"),
        (r"\$", r"\$"),
        ("(?<a>b)(?<=c)", "(?P<a>b)(?<=c)"),
        (r"\\d", r"\\d"),
    ],
)
def test_patterns_are_put_in_pythons_words(javascript: str, python: str) -> None:
    assert python_pattern(javascript) == python
