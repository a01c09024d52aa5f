"""Assertion evals: a gold set, an allow-list and forbidden patterns, as plain functions and as metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from assay.metrics.text import accuracy

MODES = ("exact", "contains")


def evaluate(predictions: Sequence[str], gold: Sequence[str], mode: str) -> float:
    """The share of predictions that match their gold answer, to four places; 0.0 for an empty set.

    `exact` compares, `contains` looks for the gold answer inside the prediction; both ignore case and surrounding
    whitespace. Misleads as its mode does (see `accuracy` and `contains`).
    Example: evaluate(["The capital is Paris.", "Rome"], ["paris", "Bern"], "contains") == 0.5
    """
    if mode not in MODES:
        raise ValueError(f"unknown mode: {mode!r}; it must be one of {', '.join(MODES)}")
    if len(predictions) != len(gold):
        raise ValueError(f"{len(predictions)} predictions but {len(gold)} gold answers: each needs the other")
    if not predictions:
        return 0.0
    match = accuracy if mode == "exact" else contains
    matches = sum(match(prediction, [target], {}) for prediction, target in zip(predictions, gold, strict=True))
    return round(matches / len(gold), 4)


def label_in_set(outputs: Iterable[str], allowed: Collection[str]) -> dict[str, int]:
    """How many outputs, stripped, are one of the allowed labels (`passed`) and how many are not (`failed`).

    Case counts: a program that reads the label next would stumble over "Spam" too.
    Example: label_in_set([" spam ", "Spam", "ham"], {"spam", "ham"}) == {"passed": 2, "failed": 1}
    """
    labels = frozenset(_checked_list(allowed, "allowed"))
    verdicts = [output.strip() in labels for output in outputs]
    return {"passed": sum(verdicts), "failed": len(verdicts) - sum(verdicts)}


def has_forbidden(text: str, patterns: Iterable[str]) -> bool:
    """Whether any of the regular expressions is found in the text.

    An invalid pattern is a `ValueError` that names it, even where another pattern matches; one that takes too long is a
    `PatternTimeoutError`, never a verdict.
    Example: has_forbidden("As an AI, I cannot", [r"(?i)\\bas an ai\\b"]) is True
    """
    from assay.patterns.matching import checked_pattern, pattern_found  # few tasks have patterns of their own

    patterns = [*_checked_list(patterns, "patterns")]
    for pattern in patterns:
        checked_pattern(pattern)
    return any(pattern_found(pattern, text) for pattern in patterns)


def contains(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when a target occurs in the prediction, case and surrounding whitespace ignored.

    Misleads when the target is short ("no" is in "I know") or denied ("it is not Paris"); an empty target is found
    in everything. `substring_contains` also evens out the whitespace inside and never finds an empty target.
    Example: contains("The capital is Paris.", ["paris "], {}) == 1.0
    Reference: assertion evals, mode `contains`.
    """
    text = prediction.strip().lower()
    return float(any(target.strip().lower() in text for target in targets))


def label_allowed(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the prediction, stripped, is one of the labels in `extras["allowed"]`.

    Misleads when read as correctness: any allowed label passes, the wrong one too. Case counts.
    Example: label_allowed(" spam\\n", [], {"allowed": ["spam", "ham"]}) == 1.0
    Reference: assertion evals, the allow-list.
    """
    return float(prediction.strip() in _checked_list(_required(extras, "allowed"), "allowed"))


def no_forbidden(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when none of the regular expressions in `extras["patterns"]` is found in the prediction.

    Misleads when a phrase has spellings its pattern does not know; an empty prediction passes. Case counts unless
    the pattern begins with `(?i)`.
    Example: no_forbidden("I am happy to help.", [], {"patterns": ["(?i)as an ai"]}) == 1.0
    Reference: assertion evals, the scan for forbidden patterns.
    """
    return float(not has_forbidden(prediction, _required(extras, "patterns")))


def _required(extras: Mapping[str, Any], key: str) -> Any:
    if key not in extras:
        raise ValueError(f"extras.{key} is missing: this metric needs a list of strings there")
    return extras[key]


def _checked_list(values: Any, name: str) -> Collection[str]:
    # a lone string would be iterated letter by letter
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a list of strings, not {type(values).__name__}: {values!r}")
    return values if isinstance(values, Collection) else [*values]
