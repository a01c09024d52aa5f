"""Translates JavaScript's regular expressions to Python's, where the same syntax means something else."""

from __future__ import annotations

import re

_TOKENS = re.compile(r"\\.|\[\]|\[\^?|\]|\$|\(\?<(?=[A-Za-z_])", re.DOTALL)
_IN_A_CLASS = {r"\d": "0-9", r"\w": "A-Za-z0-9_"}
_ELSEWHERE = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[A-Za-z0-9_]",
    r"\W": "[^A-Za-z0-9_]",
    "$": r"\Z",
    "(?<": "(?P<",
    "[]": "(?!)",
}


def python_pattern(pattern: str) -> str:
    r"""The Python pattern with the same matches: `$` is the very end, `\d` and `\w` are ASCII, groups have names.

    Example: python_pattern(r"^\d+$") == r"^[0-9]+\Z"
    """
    inside = False

    def translate(token: re.Match[str]) -> str:
        nonlocal inside
        text = token[0]
        if inside:
            inside = text != "]"
            return text.replace("[", r"\[") if text.startswith("[") else _IN_A_CLASS.get(text, text)
        inside = text in ("[", "[^")
        return _ELSEWHERE.get(text, text)

    return _TOKENS.sub(translate, pattern)
