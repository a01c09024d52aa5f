"""Search, select and substitute with the meaning of Python's `re`, in bounded time.

A linear-time engine such as RE2 reads `\\w`, `\\b` and `$` differently, which would silently change verdicts; but with
`re` a pattern like `(\\w+\\s?)+$` can take years on an unlucky text. So a pattern that provably cannot take long on a
text is matched in this process, and any other in a helper process with limited CPU time. A timeout is an error, never
a verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from assay.patterns.effort import small_effort
from assay.patterns.helper_process import helper
from assay.patterns.worker import OPERATIONS, may_outgrow

MAX_OUTPUT = 4_000_000
"""Characters a substitution may produce."""
CPU_SECONDS = 0.25
HURRIED_CPU_SECONDS = 0.005
PATIENCE = 3
"""How many timeouts a pattern may have before it gets the short limit: one bad pattern must not cost a run of ten
thousand samples as many quarters of a second. An easy text still gets its verdict."""
PATIENCE_IN_ALL = 100
"""How many timeouts all patterns may have before all get the short limit: a file may have a bad one per sample."""

_timeouts: Counter[str] = Counter()
"""The timeouts of each pattern in this process."""


class PatternTimeoutError(TimeoutError):
    """A pattern ran out of time: whether it matches is unknown."""


class BadPatternError(ValueError):
    """An invalid pattern or replacement."""


def pattern_found(pattern: str, text: str) -> bool:
    """Whether the regular expression is found anywhere in the text."""
    return bool(_run("search", pattern, 0, text))


def selected_match(pattern: str, text: str, select: int = 0) -> str | None:
    """The match with the index `select`: its first group that matched, or all of it when it has no groups."""
    match = _run("select", pattern, 0, text, select)
    return None if match is None else str(match)


def substitute(pattern: str, replacement: str, text: str, flags: int = 0, count: int = 0) -> str:
    """`re.sub`, with a result of at most `MAX_OUTPUT` characters."""
    large = may_outgrow(text, replacement, MAX_OUTPUT)
    return str(_run("substitute", pattern, flags, text, replacement, count, MAX_OUTPUT, elsewhere=large))


def checked_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The compiled pattern; raises a `BadPatternError` that names an invalid one."""
    if not isinstance(pattern, str):
        raise BadPatternError(f"a pattern must be a string, not {type(pattern).__name__}: {_short(pattern)}")
    try:
        return re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPatternError(f"bad regular expression {_short(pattern)}: {error}") from error


def _run(operation: str, pattern: str, flags: int, text: str, *options: Any, elsewhere: bool = False) -> Any:
    """The result of an operation: computed here where it is sure to be quick, else by the helper."""
    checked_pattern(pattern, flags)
    if elsewhere or not small_effort(pattern, flags, len(text)):
        return _from_helper(operation, pattern, flags, text, *options)
    try:
        return OPERATIONS[operation](pattern, flags, text, *options)
    except (re.error, IndexError) as error:  # a replacement that names a group the pattern does not have
        raise BadPatternError(f"bad regular expression {_short(pattern)}: {error}") from error


def _from_helper(operation: str, pattern: str, flags: int, text: str, *options: Any) -> Any:
    hurried = _timeouts.total() >= PATIENCE_IN_ALL or _timeouts[pattern] >= PATIENCE
    seconds = HURRIED_CPU_SECONDS if hurried else CPU_SECONDS
    outcome, value = helper.ask(seconds, operation, pattern, flags, text, *options)
    if outcome == "answer":
        return value
    if outcome == "refused":
        raise BadPatternError(f"bad regular expression {_short(pattern)}: {value}")
    if outcome == "timeout":
        if not hurried:
            _timeouts[pattern] += 1
        lowered = f" (lowered from {CPU_SECONDS:g} s after repeated timeouts)" if hurried else ""
        raise PatternTimeoutError(
            f"the pattern {_short(pattern)} took more than {seconds:g} s of CPU time{lowered} on a text of {len(text)} "
            f"characters; rewrite it without a repetition inside a repetition"
        )
    raise RuntimeError(f"matching the pattern {_short(pattern)} failed: {value}")


def _short(pattern: object) -> str:
    text = repr(pattern)
    return text if len(text) <= 200 else f"{text[:200]}…"


def pattern_problem(value: object) -> str | None:
    """Why a text is no regular expression, as far as that shows before templates in it are rendered."""
    if not isinstance(value, str) or "{{" in value or "{%" in value:
        return None
    try:
        checked_pattern(value)
    except (BadPatternError, ValueError) as error:
        return str(error)
    return None
