"""What made a metric decide: the place it found, the letter it read, the pattern that is forbidden; for people to see.

A metric stays a function of text to a number. What it looked at is found again here, by its own rule, when a scorer
writes the score down, so that nobody who shows it has to guess. Metrics that compare the whole answer with a target
need none: what differs can be seen.
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
"""`kind`: `span` (with `start` and `end`, counted in characters of the answer) or `note`; `good`: whether it speaks for
the answer; `note`: in words."""

Finder = Callable[[str, Sequence[str], Mapping[str, Any], float], list[Evidence]]


def evidence_of(
    metric: object, answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float
) -> list[Evidence]:
    """What the metric saw in the answer; nothing for a metric that compares all of it, or of somebody's own."""
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
    """The first target that occurs, words apart by any whitespace, in any case."""
    for target in targets if value else ():
        words = target.split()
        found = re.search(r"\s++".join(map(re.escape, words)), answer, re.IGNORECASE) if words else None
        if found is not None:
            return [span(*found.span(), f"the target {_quoted(target)} occurs here")]
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
    return [note("neither does the answer contain a target, nor a target the answer", good=False)]


def _allowed(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    labels = ", ".join(map(repr, sorted(map(str, extras.get("allowed") or ()))[:20]))
    return [note(f"the answer is {'one' if value else 'none'} of the allowed labels: {labels}", good=bool(value))]


def _forbidden(answer: str, targets: Sequence[str], extras: Mapping[str, Any], value: float) -> list[Evidence]:
    """Which pattern was found; none was when the answer passed."""
    if value:
        return [note("no forbidden pattern occurs", good=True)]
    from assay.patterns.matching import PatternTimeoutError, pattern_found

    try:
        found = next((each for each in extras.get("patterns") or () if pattern_found(str(each), answer)), None)
    except PatternTimeoutError:
        return []
    return [] if found is None else [note(f"the forbidden pattern {_quoted(str(found))} occurs", good=False)]


FINDERS: dict[object, Finder] = {
    contains: _where_contained,
    substring_contains: _where_contained,
    starts_with: _where_begun,
    multiple_choice: _letter,
    fuzzy_match: _similar,
    label_allowed: _allowed,
    no_forbidden: _forbidden,
}
