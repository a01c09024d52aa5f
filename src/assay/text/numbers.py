"""Numbers as people read them, wherever they are shown; `viewer/static/numbers.js` writes them in the browser.

Both follow the table in `number_forms.js` and are compared by `tests/text/number_cases.json`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Protocol

_TABLE = Path(__file__).with_name("number_forms.js").read_text(encoding="utf-8")
FORMS: dict[str, Any] = json.loads(_TABLE.partition("FORMS = ")[2].rstrip(";\n"))
MISSING: str = FORMS["missing"]


class Ends(Protocol):
    """What has two ends: an interval, bounds, a number with its interval."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def number(value: float | None, digits: int = FORMS["digits"]) -> str:
    """A score; a dash where there is none."""
    return MISSING if value is None else f"{value:z.{digits}f}"


def signed(value: float | None, digits: int = FORMS["digits"]) -> str:
    """A difference with its sign, to as many digits as it takes to differ from 0."""
    if value is None:
        return MISSING
    for longer in range(digits, FORMS["most_digits_of_a_difference"] + 1):
        if float(text := f"{value:+z.{longer}f}"):
            return text
    return f"{0:+.{digits}f}"


def interval(ends: Ends | None, digits: int = FORMS["digits"]) -> str:
    """The ends of an interval, or of bounds."""
    if ends is None or ends.low is None or ends.high is None:
        return MISSING
    return f"{number(ends.low, digits)} – {number(ends.high, digits)}"


def signed_interval(ends: Ends | None, digits: int = FORMS["digits"]) -> str:
    """The ends of the interval of a difference."""
    if ends is None or ends.low is None or ends.high is None:
        return MISSING
    return f"{signed(ends.low, digits)} – {signed(ends.high, digits)}"


def p_value(p: float | None) -> str:
    """`0.03`, or `< 0.0001`."""
    if p is None:
        return MISSING
    forms = FORMS["p_values"]
    if p < forms["least"]:
        return f"< {forms['least']}"
    return next((f"{p:.{digits}f}" for below, digits in forms["digits"] if p < below), forms["above"])


def equals_p(p: float | None) -> str:
    """`p = 0.03`, `p < 0.0001`."""
    shown = p_value(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def percent(share: float | None) -> str:
    """`97.5 %`; only all is 100 %, and only none is 0 %."""
    if share is None:
        return MISSING
    digits = FORMS["percent_digits"]
    least = 10.0**-digits
    if 0 < share * 100 < least:
        return f"< {least:g} %"
    if 100 - least < share * 100 < 100:
        return f"> {100 - least:g} %"
    return f"{round(share * 100, digits):g} %"


def count(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """`0.25`, `12`, `1.5k`, `3M`: as short as an axis needs it."""
    if value is None:
        return MISSING
    size, unit = next((pair for pair in FORMS["sizes"] if abs(value) >= pair[0]), (1.0, ""))
    return _significant(value / size) + unit


def short_signed(value: float) -> str:
    return f"+{short(value)}" if value > 0 else short(value)


def seconds(value: float | None) -> str:
    """`120 µs`, `35 ms`, `1.2 s`, `5 min`, `2 h`."""
    if value is None:
        return MISSING
    if not value:
        return "0 s"
    factor, unit = next(((factor, unit) for below, factor, unit in FORMS["seconds"] if value < below), FORMS["hours"])
    return f"{_significant(value * factor)} {unit}"


def milliseconds(value: float | None) -> str:
    """Large ones have no decimals, which percentiles to three digits do not have."""
    forms = FORMS["milliseconds"]
    return count(value) if value is None or value >= forms["whole_from"] else f"{value:.{forms['digits']}f}"


def amount(value: float, currency: str | None = None) -> str:
    """Money: cents where there are any, else as many digits as it takes, and never an exponent."""
    forms = FORMS["money"]
    sign = forms["signs"].get(currency, f"{currency} ") if currency else ""
    if value == 0 or value >= forms["whole_from"]:
        return f"{sign}{value:,.{forms['digits']}f}"
    if value >= forms["plain_below"]:
        return f"{sign}{value:.{forms['significant_digits']}g}"
    return f"{sign}{value:.{1 - math.floor(math.log10(value))}f}"


def error_text(level: float) -> str:
    """The chance of error that a level leaves: `5 %`."""
    return level_text(1.0 - level)


def level_text(share: float) -> str:
    """The level of an interval or a test: `95 %`."""
    return f"{share * 100:.4g} %"


def _significant(value: float) -> str:
    """As few digits as it takes, at most three, and an exponent for the smallest only."""
    rounded = float(f"{value:.{FORMS['significant_digits']}g}")
    return f"{rounded:g}".replace("e-0", "e-")
