"""A text in which a simple regular expression may well be found: a proposal, which whoever needs it tries."""

from __future__ import annotations

import re

_PLAINER = (
    (re.compile(r"^\(\?[a-z]+\)|\\[bAZ]|\(\?:|(?<!\\)[\^$()]"), ""),
    (re.compile(r"(?<!\\)\|.*", re.DOTALL), ""),
    (re.compile(r"(?:\\d|\[0-9\])(?:\{\d+\}|[+*?])?"), "0"),
    (re.compile(r"(?:\\w|\[[aA]-[zZ]\]|\.)[+*?]"), "a"),
    (re.compile(r"\\s[+*?]?"), " "),
    (re.compile(r"(?<!\\)[?+]"), ""),
    (re.compile(r"\\(\W)"), r"\1"),
)
_FIRST_GROUP = re.compile(r"(?<!\\)\((?!\?)(?:[^()\\]|\\.)*\)")


def example_text(pattern: str) -> str:
    for found, instead in _PLAINER:
        pattern = found.sub(instead, pattern)
    return pattern


def example_around(pattern: str, group: str) -> str:
    """The same, with this text where the first group stands; the text itself where there is no simple group."""
    found = _FIRST_GROUP.search(pattern)
    if found is None:
        return group
    return example_text(pattern[: found.start()]) + group + example_text(pattern[found.end() :])
