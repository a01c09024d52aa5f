"""Whether two expressions in TeX have the same value at a few points: a bounded stand-in for simplifying."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

LONGEST = 200
DEEPEST = 20
MOST_LETTERS = 2
"""As in the grader of PRM800K: with more, the letters are words."""
_POINTS = ((1.3172, 0.7219), (2.2361, 1.6043), (0.4173, 2.9117))
"""Values of the letters, in the order in which they first occur; no simple equation holds at all of them by chance."""
_SYMBOL = re.compile(r"\\?[a-zA-Z]+|\d+(?:\.\d*)?|\.\d+|[-+*/^(){}\[\]]|\s+|.", re.DOTALL)
_TIMES = ("\\cdot", "\\times", "*")


class _NotReadError(Exception):
    """Not an expression that this module can read."""


def same_value(answer: str, target: str) -> bool:
    """True when both are read as arithmetic with at most two letters, and agree at every point.

    Example: same_value("2(x+1)", "2x+2")
    """
    if max(len(answer), len(target)) > LONGEST:
        return False
    try:
        letters = _letters(answer, target)
        pairs = [(_Reader(answer, letters, at).value(), _Reader(target, letters, at).value()) for at in _POINTS]
    except (_NotReadError, ArithmeticError, ValueError):
        return False
    return all(abs(left - right) <= 1e-9 * max(1.0, abs(left), abs(right)) for left, right in pairs)


def _letters(*texts: str) -> list[str]:
    words = [symbol for text in texts for symbol in _SYMBOL.findall(text) if symbol.isalpha() and symbol.isascii()]
    if any(len(word) > 2 for word in words):
        raise _NotReadError
    letters = list(dict.fromkeys("".join(words)))
    if len(letters) > MOST_LETTERS:
        raise _NotReadError
    return letters


class _Reader:
    """One expression at one point: sums of products of powers, and products written side by side."""

    def __init__(self, text: str, letters: Sequence[str], point: Sequence[float]) -> None:
        symbols = (symbol for symbol in _SYMBOL.findall(text) if not symbol.isspace())
        self._symbols = [*chain.from_iterable(map(_factors, symbols))]
        self._at = self._depth = 0
        self._values = dict(zip(letters, point, strict=False)) | {"\\pi": 3.141592653589793}

    def value(self) -> complex:
        value = self._sum()
        if self._at != len(self._symbols):
            raise _NotReadError
        return value

    def _next(self) -> str:
        return self._symbols[self._at] if self._at < len(self._symbols) else ""

    def _take(self, *wanted: str) -> bool:
        if self._next() not in wanted:
            return False
        self._at += 1
        return True

    def _sum(self) -> complex:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _NotReadError
        total = self._signed_product()
        while self._next() in ("+", "-"):
            total += self._signed_product()
        self._depth -= 1
        return total

    def _signed_product(self) -> complex:
        if self._take("-"):
            return -self._product()
        self._take("+")
        return self._product()

    def _product(self) -> complex:
        product = self._power()
        while self._next() and self._next() not in ("+", "-", ")", "}", "]"):
            if self._take("/"):
                product /= self._power()
            else:
                self._take(*_TIMES)
                product *= self._power()
        return product

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
            value = self._sum()
            if not self._take({"(": ")", "{": "}", "[": "]"}[symbol]):
                raise _NotReadError
            return value
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


def _factors(symbol: str) -> Sequence[str]:
    """Letters side by side are a product."""
    return symbol if symbol.isalpha() else (symbol,)
