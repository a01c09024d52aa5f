"""How users' names and values appear in messages: short, in the terms of the file that they come from.

The one home of "did you mean": the known name with the most similar spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType

LONGEST = 60
"""The most characters of a value in a sentence."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
HALF_A_CHARACTER = "the text holds half a character (a lone surrogate), which cannot be sent"


DID_YOU_MEAN = "Did you mean"
"""How a sentence about a misspelt name begins."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name with the most similar spelling, one of the same characters first; None if none is similar."""
    import difflib  # only wrong names need it

    known = list(known)
    turned = [each for each in known if sorted(each) == sorted(name)]  # `=>` is `>=`, not `>`
    near = difflib.get_close_matches(name, turned or known, n=1, cutoff=0 if turned else 0.6)
    return near[0] if near else None


def hint(name: str, known: Iterable[str], otherwise: str = "Known") -> str:
    """The end of a sentence about an unknown name: the nearest one, or those there are."""
    known = list(known)
    near = nearest(name, known)
    return f"{DID_YOU_MEAN} `{near}`?" if near else f"{otherwise}: {few(known, MOST_KNOWN) or 'none'}"


MOST_KNOWN = 40
"""Names that a hint lists: more than there are parts of one kind, and few of a large module's."""


def few(names: Sequence[str], most: int = 6) -> str:
    """The names, separated by commas; of many only the first, and how many more."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1:,} more"


def count_of(number: int, noun: str) -> str:
    """A number with its noun: `1 request`, `2,000 requests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def in_json(value: object) -> str:
    """A value in JSON's terms, shown if it is short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {show(value)}"
    if isinstance(value, int | float):
        return f"the number {show(value)}"
    return "an object" if isinstance(value, Mapping) else "a list"


def in_yaml(value: object) -> str:
    """A value in YAML's terms, shown if it is short."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    return f"the text `{value[:LONGEST]}`" if isinstance(value, str) else str(value)[:LONGEST]


def in_python(value: object) -> str:
    """A value by its type, and itself where that is short: never by its address in memory."""
    if value is None:
        return "None"
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return f"the {'class' if isinstance(value, type) else 'function'} `{value.__qualname__}`"
    shown = repr(value)
    if " at 0x" in shown:
        return f"an object of the class `{type(value).__qualname__}`"
    return f"{type(value).__name__} {shown}" if len(shown) <= LONGEST else f"a {type(value).__name__}"


def quoted(value: object) -> str:
    """What to write instead of a number where a string is wanted: `, "4"`; nothing for other values."""
    return f', "{show(value)}"' if type(value) in (int, float) else ""


def plain(name: object) -> str:
    """A name without quotes around it."""
    return repr(str(name)[:LONGEST])[1:-1]


def show(value: object) -> str:
    """A value as Python writes it."""
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "…" + text[-1]


def show_no_score(value: object) -> str:
    """A value that cannot be a score. Very long integers are not written out, which would take seconds."""
    return f"an integer of {value.bit_length():,} bits" if isinstance(value, int) else repr(value)[:200]


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, cut to a length."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def setting_in_words(value: object) -> str:
    """The value of a setting in a sentence about what changed; what was not given has none, a hash its first digits."""
    if value is None:
        return "not set"
    if isinstance(value, str) and _SHA256.fullmatch(value):
        return value[:8]
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else repr(value)
