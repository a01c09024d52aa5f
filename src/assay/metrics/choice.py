"""Choice metrics: which of the offered letters did the prediction pick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def multiple_choice(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction begins with the letter of a target, in either case.

    Misleads when the prediction begins with a word: "Because…" counts as B, "A tough one: C" as A, and "(B)" as
    nothing. Ask for the letter alone, or extract it with `extract_letter` first.
    Example: multiple_choice("b) Paris", ["B"], {}) == 1.0
    Reference: task folders.
    """
    letter = prediction.strip()[:1].upper()
    return float(letter != "" and any(letter == target.strip()[:1].upper() for target in targets))
