"""How long ago something was, in words."""

from __future__ import annotations

import time
from calendar import timegm

DATE = "%Y-%m-%dT%H:%M:%SZ"


def seconds_between(earlier: str, later: str) -> float:
    """The seconds from one date of a run file to another, none where the clock went back."""
    return max(0.0, float(timegm(time.strptime(later, DATE)) - timegm(time.strptime(earlier, DATE))))


def age_text(seconds: float) -> str:
    """An age in the largest unit of which there are two."""
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
