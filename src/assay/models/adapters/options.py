"""Checks options that several adapters take."""

from __future__ import annotations

from typing import Any

from assay.core.errors import UsageError


def checked_timeout(seconds: Any) -> float | None:
    """`timeout_seconds`: a number above 0, or None for no limit."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"timeout_seconds must be a number above 0, got {seconds!r}")
    return seconds


USUAL_TIMEOUT_SECONDS = 600.0
"""How long an answer may take unless a limit is given."""


def longer_than_usual(own: float | None, seconds: float) -> float | None:
    """The time limit of a model whose run allows an answer so many seconds: one that was chosen for the model holds."""
    return max(own, seconds) if own == USUAL_TIMEOUT_SECONDS else own


def one_of(option: str, value: Any, allowed: tuple[str, ...]) -> str:
    """An option that is one of a few words."""
    if value not in allowed:
        raise UsageError(f"{option} must be one of {', '.join(allowed)}, got `{value}`")
    return str(value)
