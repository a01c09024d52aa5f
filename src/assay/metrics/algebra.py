"""Whether two expressions in TeX have the same value at a few points: a bounded stand-in for simplifying."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 200
DEEPEST = 20
MOST_LETTERS = 2
"""As in the grader of PRM800K: with more, the letters are words."""
_POINTS = ((1.3172, 0.7219), (2.2361, 1.6043), (0.4173, 2.9117))
"""Values of the letters, in the order in which they first occur; no simple equation holds at all of them by chance."""
_SYMBOL = re.compile(r"\\?[a-zA-Z]+|\d+(?:\.\d*)?|\.\d+|[-+*/^(){}\[\]]|\s+|.", re.DOTALL)
_TIMES = ("\\cdot", "\\times", "*")


class _NotReadError(Exception):
    """Not an expression that is read here."""


def same_value(one: str, other: str) -> bool:
    """True when both are read as arithmetic with at most two letters, and agree at every point.

    Example: same_value("2(x+1)", "2x+2")
    """
    if max(len(one), len(other)) > LONGEST:
        return False
    try:
        letters = _letters(one, other)
        pairs = [(_Reader(one, letters, at).value(), _Reader(other, letters, at).value()) for at in _POINTS]
    except (_NotReadError, ArithmeticError, ValueError):
        return False
    return all(abs(left - right) <= 1e-9 * max(1.0, abs(left), abs(right)) for left, right in pairs)


def _letters(*texts: str) -> list[str]:
    found = [symbol for text in texts for symbol in _SYMBOL.findall(text) if symbol.isalpha() and symbol.isascii()]
    if any(len(word) > 2 for word in found):
        raise _NotReadError
    letters = list(dict.fromkeys("".join(found)))
    if len(letters) > MOST_LETTERS:
        raise _NotReadError
    return letters


class _Reader:
    """One expression at one point: sums of products of powers, and products written side by side."""

    def __init__(self, text: str, letters: Sequence[str], point: Sequence[float]) -> None:
        self._symbols = [each for symbol in _SYMBOL.findall(text) if not symbol.isspace() for each in _apart(symbol)]
        self._at = self._depth = 0
        self._values = dict(zip(letters, point, strict=False)) | {"\\pi": 3.141592653589793}

    def value(self) -> complex:
        if not self._symbols:
            raise _NotReadError
        found = self._sum()
        if self._at != len(self._symbols):
            raise _NotReadError
        return found

    def _next(self) -> str:
        return self._symbols[self._at] if self._at < len(self._symbols) else ""

    def _take(self, *wanted: str) -> bool:
        if self._next() not in wanted or not self._next():
            return False
        self._at += 1
        return True

    def _sum(self) -> complex:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _NotReadError
        found = self._signed()
        while self._next() in ("+", "-"):
            found = found + self._product() if self._take("+") else found - self._after("-")
        self._depth -= 1
        return found

    def _after(self, sign: str) -> complex:
        self._take(sign)
        return self._product()

    def _signed(self) -> complex:
        if self._take("-"):
            return -self._product()
        self._take("+")
        return self._product()

    def _product(self) -> complex:
        found = self._power()
        while self._next() and self._next() not in ("+", "-", ")", "}", "]"):
            if self._take("/"):
                found /= self._power()
            else:
                self._take(*_TIMES)
                found *= self._power()
        return found

    def _power(self) -> complex:
        base = self._atom()
        if not self._take("^"):
            return base
        exponent = -self._atom() if self._take("-") else self._atom()
        if abs(exponent) > 50:
            raise _NotReadError
        return complex(base) ** exponent

    def _atom(self) -> complex:
        symbol = self._next()
        self._at += 1
        if symbol in ("(", "{", "["):
            found = self._sum()
            if not self._take({"(": ")", "{": "}", "[": "]"}[symbol]):
                raise _NotReadError
            return found
        if symbol == "\\frac":
            return self._atom() / self._atom()
        if symbol == "\\sqrt":
            degree = self._atom() if self._next() == "[" else 2
            return complex(self._atom()) ** (1 / degree)
        if symbol in self._values:
            return self._values[symbol]
        if symbol[:1].isdigit() or symbol[:1] == ".":
            return float(symbol)
        raise _NotReadError


def _apart(symbol: str) -> Sequence[str]:
    """Letters side by side are a product."""
    return symbol if symbol.isalpha() else (symbol,)
