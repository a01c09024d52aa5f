"""Why a metric gave its score, for people to see: the span it matched, the letter it read, the forbidden pattern.

A metric stays a function of text to a number. When a scorer records a score, this module finds again what the metric
matched, by the metric's own rule, so that reports do not have to guess. Metrics that compare the whole answer with a
target need no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.metrics.answers import fuzzy_match, starts_with
from assay.metrics.assertions import contains, label_allowed, no_forbidden
from assay.metrics.choice import multiple_choice
from assay.metrics.text import substring_contains

Evidence = dict[str, Any]
"""`kind`: `span` (with `start` and `end`, in characters of the answer) or `note`; `good`: whether it supports the
answer; `note`: the explanation."""

Finder = Callable[[str, Sequence[str], Mapping[str, Any], float], list[Evidence]]


def evidence_of(
    metric: object, answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float
) -> list[Evidence]:
    """What the metric matched in the answer; nothing for a metric that compares all of it, or that a user wrote."""
    find = FINDERS.get(metric)
    return [] if find is None else find(answer, targets, extras, value)


def span(start: int, end: int, note: str, *, good: bool = True) -> Evidence:
    return {"kind": "span", "start": start, "end": end, "good": good, "note": note}


def note(text: str, *, good: bool) -> Evidence:
    return {"kind": "note", "good": good, "note": text}


LONGEST_QUOTE = 200


def _quoted(text: str) -> str:
    return repr(text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…")


def _where_contained(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    """The first target that occurs, in any case, its words separated by any whitespace."""
    for target in targets if value else ():
        words = target.split()
        match = re.search(r"\s++".join(map(re.escape, words)), answer, re.IGNORECASE) if words else None
        if match is not None:
            return [span(*match.span(), f"the target {_quoted(target)} occurs here")]
    return [] if value else [note("no target occurs in the answer", good=False)]


def _where_begun(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    start = len(answer) - len(answer.lstrip())
    for target in map(str.strip, targets):
        if target and answer.startswith(target, start):
            return [span(start, start + len(target), f"the answer begins with {_quoted(target)}")]
    return [note("the answer begins with no target", good=False)]


def _letter(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    start = len(answer) - len(answer.lstrip())
    if start == len(answer):
        return [note("there is no letter in the answer", good=False)]
    return [span(start, start + 1, f"read as {answer[start].upper()}", good=bool(value))]


def _similar(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    if value:
        return [note("the answer and a target contain each other, but for case, articles and punctuation", good=True)]
    return [note("neither the answer nor a target contains the other", good=False)]


def _allowed(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    labels = ", ".join(map(repr, sorted(map(str, extras.get("allowed") or ()))[:20]))
    return [note(f"the answer is {'one' if value else 'none'} of the allowed labels: {labels}", good=bool(value))]


def _forbidden(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    """The pattern that occurs; none does where the answer passed."""
    if value:
        return [note("no forbidden pattern occurs", good=True)]
    from assay.patterns.matching import PatternTimeoutError, pattern_found

    try:
        patterns = map(str, extras.get("patterns") or ())
        pattern = next((pattern for pattern in patterns if pattern_found(pattern, answer)), None)
    except PatternTimeoutError:
        return []
    return [] if pattern is None else [note(f"the forbidden pattern {_quoted(pattern)} occurs", good=False)]


FINDERS: dict[object, Finder] = {
    contains: _where_contained,
    substring_contains: _where_contained,
    starts_with: _where_begun,
    multiple_choice: _letter,
    fuzzy_match: _similar,
    label_allowed: _allowed,
    no_forbidden: _forbidden,
}
