"""An answer that satisfies a list of assertions, built from the assertions themselves.

Nothing is claimed: a text is proposed for every assertion and for all of them together, and the first one that holds is
taken. Where none does, there is no gold answer, and the caller can report that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.scorers.assertions.assertion_kinds import KINDS

SOME_TEXT = "an answer"
_JOINTS = (" ", "\n", "")


class Wanted(NamedTuple):
    """An assertion with its data rendered; its kind is written with `_` and without the negation."""

    kind: str
    negated: bool
    data: Mapping[str, Any]


def gold_text(wanted: Sequence[Wanted], holds: Callable[[str], bool]) -> str | None:
    """A text that satisfies all of them; else the text that `equals` names, since no other text can."""
    exact = [_proposed(each) for each in wanted if each.kind == "equals" and not each.negated]
    for text in _candidates(wanted):
        if holds(text):
            return text
    return exact[0] if exact else None


def _candidates(wanted: Sequence[Wanted]) -> Iterator[str]:
    openings_first = sorted(wanted, key=lambda each: each.kind != "starts_with")
    parts = [text for item in openings_first if not item.negated and (text := _proposed(item)) is not None]
    yield from parts
    if len(parts) > 1:
        yield from (joint.join(parts) for joint in _JOINTS)
    counts = [each.data for each in wanted if each.kind == "word_count"]
    for words in sorted({number for count in counts for number in _near(count)}):
        padded = [*" ".join(parts).split(), *["word"] * words]
        yield " ".join(padded[:words])
    yield from (SOME_TEXT, "", "{}")


def _near(count: Mapping[str, Any]) -> list[int]:
    """Numbers of words on both sides of the limits."""
    limits = [int(count[name]) for name in ("min", "max") if count.get(name) is not None]
    return [number for limit in limits for number in (limit - 1, limit, limit + 1) if 0 <= number <= 10_000]


def _proposed(wanted: Wanted) -> str | None:
    kind = KINDS.get(wanted.kind)  # there are others: of other programs
    return None if kind is None or kind.proposed is None else kind.proposed(wanted.data.get("value"))
