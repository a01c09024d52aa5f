"""Search, select and substitute with the meaning of Python's `re`, in bounded time.

A linear-time engine such as RE2 reads `\\w`, `\\b` and `$` differently, which would change verdicts silently; but with
`re` a pattern like `(\\w+\\s?)+$` can take years on an unlucky text. So a pattern that visibly cannot take long on
this text is matched right here, and any other in a helper process whose CPU time is limited. Time used up is an
error, never a verdict.
"""

from __future__ import annotations

import re
from typing import Any

from assay.patterns.effort import small_effort
from assay.patterns.helper_process import helper
from assay.patterns.worker import OPERATIONS, may_outgrow

MAX_OUTPUT = 4_000_000
"""Characters a substitution may produce."""
CPU_SECONDS = 0.25
HURRIED_CPU_SECONDS = 0.005
PATIENCE = 3
"""How often a pattern may use up its time before it gets the short limit: one bad pattern must not cost a run of ten
thousand samples as many quarters of a second. A text that is easy on it still gets its verdict."""
PATIENCE_IN_ALL = 100
"""How often all patterns together may, before all of them get the short limit: a file may hold a bad one per sample."""


class PatternTimeoutError(TimeoutError):
    """A pattern that used up its time: what it would have matched is unknown."""


class BadPatternError(ValueError):
    """A pattern or a replacement that is none."""


def pattern_found(pattern: str, text: str) -> bool:
    """Whether the regular expression is found anywhere in the text."""
    return bool(_matched("found", pattern, 0, text))


def selected_match(pattern: str, text: str, select: int = 0) -> str | None:
    """The match at place `select`: its first group that matched anything, or all of it when it has no groups."""
    answer = _matched("selected", pattern, 0, text, select)
    return None if answer is None else str(answer)


def substitute(pattern: str, replacement: str, text: str, flags: int = 0, count: int = 0) -> str:
    """`re.sub`, its result no longer than `MAX_OUTPUT`."""
    large = may_outgrow(text, replacement, MAX_OUTPUT)
    return str(_matched("substituted", pattern, flags, text, replacement, count, MAX_OUTPUT, elsewhere=large))


def checked_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern compiled; a `BadPatternError` that names it when it is none."""
    if not isinstance(pattern, str):
        raise BadPatternError(f"a pattern must be a string, not {type(pattern).__name__}: {_short(pattern)}")
    try:
        return re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPatternError(f"bad regular expression {_short(pattern)}: {error}") from error


def _matched(operation: str, pattern: str, flags: int, text: str, *options: Any, elsewhere: bool = False) -> Any:
    """What the operation answers, from here where it is sure to be quick, else from the helper."""
    checked_pattern(pattern, flags)
    if elsewhere or not small_effort(pattern, flags, len(text)):
        return _from_helper(operation, pattern, flags, text, *options)
    try:
        return OPERATIONS[operation](pattern, flags, text, *options)
    except (re.error, IndexError) as error:  # a replacement that names a group the pattern does not have
        raise BadPatternError(f"bad regular expression {_short(pattern)}: {error}") from error


def _from_helper(operation: str, pattern: str, flags: int, text: str, *options: Any) -> Any:
    hurried = _timeouts.are_enough(pattern)
    seconds = HURRIED_CPU_SECONDS if hurried else CPU_SECONDS
    outcome, value = helper.ask(seconds, operation, pattern, flags, text, *options)
    if outcome == "answer":
        return value
    if outcome == "refused":
        raise BadPatternError(f"bad regular expression {_short(pattern)}: {value}")
    if outcome == "timeout":
        _timeouts.add(pattern)
        before = (
            f" (no more than that, after {CPU_SECONDS:g} s were used up {PATIENCE} times or more)" if hurried else ""
        )
        raise PatternTimeoutError(
            f"the pattern {_short(pattern)} took more than {seconds:g} s of CPU time on a text of {len(text)} "
            f"characters{before}; rewrite it without a repetition inside a repetition"
        )
    raise RuntimeError(f"matching the pattern {_short(pattern)} failed: {value}")


class _Timeouts:
    """How often patterns used up their time in this process."""

    def __init__(self) -> None:
        self._in_all = 0
        self._by_pattern: dict[str, int] = {}

    def add(self, pattern: str) -> None:
        if not self.are_enough(pattern):
            self._in_all += 1
            self._by_pattern[pattern] = self._by_pattern.get(pattern, 0) + 1

    def are_enough(self, pattern: str) -> bool:
        return self._in_all >= PATIENCE_IN_ALL or self._by_pattern.get(pattern, 0) >= PATIENCE


_timeouts = _Timeouts()


def _short(pattern: object) -> str:
    text = repr(pattern)
    return text if len(text) <= 200 else f"{text[:200]}…"
