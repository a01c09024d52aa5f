"""A text in which a regular expression is found, made out of its parts: a proposal, tried before it is given.

Assertions about what stands around (`(?=…)`, `(?!…)`, `\\b`) are passed over, so some patterns get no text that fits; a
few ways of repeating and choosing are tried, and the first proposal stands where none is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from assay.patterns.matching import BadPatternError, PatternTimeoutError, pattern_found

MOST_CHARACTERS = 10_000
_CANDIDATES = "a0 A-_.!/中\n\t"
"""Characters of every kind, in the order in which they are tried where a class leaves the choice."""
_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def example_text(pattern: str) -> str:
    """The first proposal in which the pattern is found, else the first of all."""
    return _fitting(pattern, {})


def example_around(pattern: str, group: str) -> str:
    """The same, with this text where the first group stands; the text itself where there is no group."""
    if not re.compile(pattern).groups:
        return group
    return _fitting(pattern, {1: group})


def _fitting(pattern: str, given: Mapping[int, str]) -> str:
    first: str | None = None
    for text in _proposals(pattern, given):
        first = text if first is None else first
        try:
            if pattern_found(pattern, text):
                return text
        except PatternTimeoutError:
            break
    return first or ""


class _Way(NamedTuple):
    """How repetitions and alternatives are read."""

    times: int
    branch: int


_WAYS = [_Way(times, branch) for times in (1, 3, 8, 0) for branch in (0, 1, 2)]


def _proposals(pattern: str, given: Mapping[int, str]) -> Iterator[str]:
    try:
        parsed = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPatternError(str(error)) from error
    found = dict.fromkeys(_text(parsed, way, dict(given), frozenset(given)) for way in _WAYS)
    yield from (text for text in found if len(text) <= MOST_CHARACTERS)


def _text(parts: Any, way: _Way, groups: dict[int, str], fixed: frozenset[int]) -> str:
    made = ""
    for code, argument in parts:
        made += _part(code, argument, way, groups, fixed)
        if len(made) > MOST_CHARACTERS:
            break
    return made


def _part(code: Any, argument: Any, way: _Way, groups: dict[int, str], fixed: frozenset[int]) -> str:  # noqa: PLR0911
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.NOT_LITERAL:
        return next((each for each in _CANDIDATES if ord(each) != argument), "")
    if code is codes.ANY:
        return "a"
    if code is codes.IN:
        return _one_of(argument)
    if code is codes.BRANCH:
        return _text(argument[1][min(way.branch, len(argument[1]) - 1)], way, groups, fixed)
    if code in _REPEATS:
        least, most, repeated = argument
        times = max(int(least), min(way.times, int(most)))
        text = _text(repeated, way, groups, fixed)
        return text * min(times, MOST_CHARACTERS // max(1, len(text)) + 1)
    if code is codes.SUBPATTERN:
        number = argument[0]
        if number in fixed:
            return groups[number]
        text = _text(argument[3], way, groups, fixed)
        if number is not None:
            groups[number] = text
        return text
    if code is codes.ATOMIC_GROUP:
        return _text(argument, way, groups, fixed)
    return groups.get(int(argument), "") if code is codes.GROUPREF else ""


def _one_of(items: Any) -> str:
    """A character of a class."""
    negated = items[0][0] is codes.NEGATE
    members = [item for item in items if item[0] is not codes.NEGATE]
    if not negated and members[0][0] in (codes.LITERAL, codes.RANGE):
        code, argument = members[0]
        return chr(argument if code is codes.LITERAL else argument[0])
    fitting = (each for each in _CANDIDATES if any(_holds(item, each) for item in members) is not negated)
    return next(fitting, "")


def _holds(item: Any, character: str) -> bool:
    code, argument = item
    if code is codes.LITERAL:
        return bool(ord(character) == argument)
    if code is codes.RANGE:
        return bool(argument[0] <= ord(character) <= argument[1])
    return bool(code is codes.CATEGORY) and re.match(_CATEGORIES[argument], character) is not None
