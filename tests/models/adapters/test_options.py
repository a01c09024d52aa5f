"""Options that several adapters take: a wrong value is a sentence."""

from __future__ import annotations

import math

import pytest

from assay.core.errors import UsageError
from assay.models.adapters.options import checked_timeout, one_of


@pytest.mark.parametrize("seconds", [None, 1, 0.5])
def test_a_time_limit_is_a_number_or_none(seconds: float | None) -> None:
    assert checked_timeout(seconds) == seconds


@pytest.mark.parametrize("seconds", [0, -1, True, "10", math.nan, [1]])
def test_anything_else_is_no_time_limit(seconds: object) -> None:
    with pytest.raises(UsageError, match="timeout_seconds must be a number above 0"):
        checked_timeout(seconds)


def test_a_word_is_one_of_those_allowed() -> None:
    assert one_of("mode", "chat", ("chat", "completions")) == "chat"
    with pytest.raises(UsageError, match="mode must be one of chat, completions, got `None`"):
        one_of("mode", None, ("chat", "completions"))
