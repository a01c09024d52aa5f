"""An upper bound on the work of matching a pattern, computed from its syntax tree.

A backtracking engine tries, from every position of the text, every way through the pattern. The bound counts those
ways: alternatives add, a sequence multiplies, a repetition of something with several ways has those ways to the power
of its turns. It is far too high for most patterns and never too low, which is the safe side: a pattern above the limit
is merely matched in another process.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SMALL_EFFORT = log(5_000_000)
"""The logarithm of the steps that are allowed in this process: some hundredths of a second."""
_LENGTHS = [2**power for power in range(23)]
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def small_effort(pattern: str, flags: int, length: int) -> bool:
    """Whether the pattern is sure to be quick on any text of this length."""
    return length <= _longest_quick_text(pattern, flags)


@lru_cache(maxsize=1024)
def _longest_quick_text(pattern: str, flags: int) -> int:
    try:
        tree = parser.parse(pattern, flags)
        quick = [length for length in _LENGTHS if _log_steps(tree, length) <= SMALL_EFFORT]
    except (RecursionError, OverflowError):
        return -1
    return max(quick, default=-1)


def _log_steps(tree: Any, length: int) -> float:
    """From each position of the text, each way through the whole pattern."""
    return log(length + 1) + _log_ways(tree, length) + log(1 + _walk(tree))


def _log_ways(tree: Any, length: int) -> float:
    """The logarithm of the number of ways through a part of a pattern, on a text of this length."""
    return sum(_log_ways_of_node(code, argument, length) for code, argument in tree)


def _log_ways_of_node(code: Any, argument: Any, length: int) -> float:
    if code in _REPEATS:
        low, high, body = argument
        turns = min(int(high), int(low) + length)  # beyond the minimum, a turn that consumes nothing ends it
        return log(turns - int(low) + 1) + turns * _log_ways(body, length)
    if code is codes.GROUPREF:
        return log(length + 1)  # comparing takes one step per character
    parts = _parts(code, argument)
    return max((_log_ways(part, length) for part in parts), default=0.0) + log(max(len(parts), 1))


def _walk(tree: Any) -> float:
    """How many steps one way takes, with every repetition at its minimum."""
    total = 0.0
    for code, argument in tree:
        if code in _REPEATS:
            total += 1 + int(argument[0]) * (1 + _walk(argument[2]))
        else:
            total += 1 + sum(_walk(part) for part in _parts(code, argument))
    return total


def _parts(code: Any, argument: Any) -> list[Any]:
    """The patterns inside a node, one for each alternative."""
    if code is codes.SUBPATTERN:
        return [argument[-1]]
    if code is codes.ATOMIC_GROUP:
        return [argument]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code is codes.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []
