"""An example text that a regular expression matches, built from the parts of the pattern and then tried.

Look-around assertions (`(?=…)`, `(?!…)`, `\\b`) are ignored, so some patterns get a text that does not match. A few
choices of repetitions and alternatives are tried; where none matches, the first one is returned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from assay.patterns.matching import BadPatternError, PatternTimeoutError, pattern_found

MOST_CHARACTERS = 10_000
_CHARACTERS = "a0 A-_.!/中\n\t"
"""Characters of every kind, tried in this order for a character class."""
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
    """A text that the pattern matches, where one is found."""
    return _first_match(pattern, {})


def example_around(pattern: str, group: str) -> str:
    """The same, with `group` as the text of the first group; `group` itself where the pattern has no group."""
    if not re.compile(pattern).groups:
        return group
    return _first_match(pattern, {1: group})


def _first_match(pattern: str, fixed_groups: Mapping[int, str]) -> str:
    texts = _candidates(pattern, fixed_groups)
    try:
        return next((text for text in texts if pattern_found(pattern, text)), texts[0] if texts else "")
    except PatternTimeoutError:
        return texts[0]


class _Choice(NamedTuple):
    """How often to repeat, and which alternative to take."""

    times: int
    branch: int


_CHOICES = [_Choice(times, branch) for times in (1, 3, 8, 0) for branch in (0, 1, 2)]


def _candidates(pattern: str, fixed_groups: Mapping[int, str]) -> list[str]:
    try:
        parsed = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPatternError(str(error)) from error
    texts = dict.fromkeys(_text(parsed, choice, dict(fixed_groups), frozenset(fixed_groups)) for choice in _CHOICES)
    return [text for text in texts if len(text) <= MOST_CHARACTERS]


def _text(parts: Any, choice: _Choice, groups: dict[int, str], fixed: frozenset[int]) -> str:
    text = ""
    for code, argument in parts:
        text += _part(code, argument, choice, groups, fixed)
        if len(text) > MOST_CHARACTERS:
            break
    return text


def _part(code: Any, argument: Any, choice: _Choice, groups: dict[int, str], fixed: frozenset[int]) -> str:  # noqa: PLR0911
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.NOT_LITERAL:
        return next((character for character in _CHARACTERS if ord(character) != argument), "")
    if code is codes.ANY:
        return "a"
    if code is codes.IN:
        return _one_of(argument)
    if code is codes.BRANCH:
        return _text(argument[1][min(choice.branch, len(argument[1]) - 1)], choice, groups, fixed)
    if code in _REPEATS:
        least, most, repeated = argument
        times = max(int(least), min(choice.times, int(most)))
        text = _text(repeated, choice, groups, fixed)
        return text * min(times, MOST_CHARACTERS // max(1, len(text)) + 1)
    if code is codes.SUBPATTERN:
        number = argument[0]
        if number in fixed:
            return groups[number]
        text = _text(argument[3], choice, groups, fixed)
        if number is not None:
            groups[number] = text
        return text
    if code is codes.ATOMIC_GROUP:
        return _text(argument, choice, groups, fixed)
    return groups.get(int(argument), "") if code is codes.GROUPREF else ""


def _one_of(items: Any) -> str:
    """A character of a class."""
    negated = items[0][0] is codes.NEGATE
    members = [item for item in items if item[0] is not codes.NEGATE]
    if not negated and members[0][0] in (codes.LITERAL, codes.RANGE):
        code, argument = members[0]
        return chr(argument if code is codes.LITERAL else argument[0])
    fitting = (
        character for character in _CHARACTERS if any(_contains(item, character) for item in members) is not negated
    )
    return next(fitting, "")


def _contains(item: Any, character: str) -> bool:
    code, argument = item
    if code is codes.LITERAL:
        return bool(ord(character) == argument)
    if code is codes.RANGE:
        return bool(argument[0] <= ord(character) <= argument[1])
    return bool(code is codes.CATEGORY) and re.match(_CATEGORIES[argument], character) is not None
