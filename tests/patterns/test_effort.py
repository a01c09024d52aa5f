"""What is matched in place: only what is sure to be quick."""

from __future__ import annotations

import pytest

from assay.patterns.effort import small_effort


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [
        ("(?i)as an ai", 100_000),
        (r"\b(?:yes|no)\b", 50_000),
        (r"\s+", 1_000),
        (r"answer is (\d+)", 256),
        (r"^(\w+): (.*)$", 64),
    ],
)
def test_what_people_write_is_matched_in_place(pattern: str, longest: int) -> None:
    assert small_effort(pattern, 0, longest)


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        (r"(a+)+$", 20),
        (r"(a|aa)+$", 30),
        (r"(\w+\s?)+$", 20),
        ("a?" * 30 + "a" * 30, 30),
        ("a{0,9}" * 8 + "b", 100),
        (r"(?:|a){200}b", 10),
        (r"(?:){1000000}", 10),
        (r"\d+x", 5_000),
        (r"(?s).*b", 5_000),
        (r"(.*)\1b", 500),
        (r"(?=(a+))(?>a*b)", 5_000),
        (r"(a)?(?(1)a*a*|b*)c", 2_000),
    ],
)
def test_what_may_take_long_is_not(pattern: str, length: int) -> None:
    assert not small_effort(pattern, 0, length)
