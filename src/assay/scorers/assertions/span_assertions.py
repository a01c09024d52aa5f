"""Assertions about the spans of a trace: how many match a pattern, how long they take, how many are errors.

A pattern is a glob without case: `*` is any text on one line, `?` one character.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from assay.scorers.assertions.graded_assertions import Graded
from assay.spans import Span

JAVASCRIPT_SPACE = (
    "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript trims off a text."""
_STAR, _ONE = map(ord, "*?")
_LINE_ENDS = frozenset(map(ord, "\n\r\u2028\u2029"))
_AN_ERROR = re.compile("error|failed|failure|exception|timeout|abort", re.IGNORECASE | re.ASCII)
_ERROR_STATUS = 2
_HTTP_ERROR = 400


# -- patterns -------------------------------------------------------------------------------------------------------


def matches(text: str, pattern: str) -> bool:
    """Whether the whole text matches, in time proportional to the product of the lengths."""
    units, glob = _units(text), _units(pattern)
    at = place = 0
    star = resumed = -1
    while at < len(units):
        if place < len(glob) and glob[place] == _STAR:
            star, resumed, place = place, at, place + 1
        elif place < len(glob) and (glob[place] == units[at] or _is_any(glob[place], units[at])):
            at, place = at + 1, place + 1
        elif star >= 0 and units[resumed] not in _LINE_ENDS:  # the last `*` takes one more
            resumed += 1
            at, place = resumed, star + 1
        else:
            return False
    return all(item == _STAR for item in glob[place:])


def _is_any(wanted: int, unit: int) -> bool:
    return wanted == _ONE and unit not in _LINE_ENDS


@lru_cache(maxsize=1024)
def _units(text: str) -> array[int]:
    """The text without case, in the 16-bit units that JavaScript's patterns work on."""
    return array("H", "".join(map(_without_case, text)).encode("utf-16-le", "surrogatepass"))


def _without_case(character: str) -> str:
    upper = character.upper()
    if len(upper) != 1 or (ord(character) > 127 and ord(upper) < 128) or ord(upper) > 0xFFFF:
        return character
    return upper


# -- assertions -----------------------------------------------------------------------------------------------------


def span_count(spans: Sequence[Span], value: Any) -> Graded:
    """`trace-span-count`: from `min` to `max` spans match."""
    count = sum(matches(span["name"], value["pattern"]) for span in spans)
    holds = value.get("min", count) <= count <= value.get("max", count)
    return Graded(holds, float(holds), f"{count} of {len(spans)} spans match")


def span_duration(spans: Sequence[Span], value: Any) -> Graded:
    """`trace-span-duration`: every span that matches, or their percentile, takes at most `max` milliseconds."""
    pattern = value.get("pattern", "*")
    durations = sorted(
        span["endTime"] - span["startTime"]
        for span in spans
        if span.get("endTime") is not None and matches(span["name"], pattern)
    )
    if not durations:
        return Graded(True, 1.0, "no ended span matches")
    share = value.get("percentile", 100) / 100
    duration = durations[max(0, math.ceil(share * len(durations)) - 1)]
    holds = duration <= value["max"]
    return Graded(holds, float(holds), f"{duration:g} ms over {len(durations)} spans")


def error_spans(spans: Sequence[Span], value: Any) -> Graded:
    """`trace-error-spans`: at most `max_count` of the spans that match are errors, and at most `max_percentage`."""
    limits = value if isinstance(value, Mapping) else {} if value is None else {"max_count": value}
    matching = [span for span in spans if matches(span["name"], limits.get("pattern", "*"))]
    if not matching:
        return Graded(True, 1.0, "no span matches")
    errors = [span for span in matching if is_error(span)]
    most = limits.get("max_count", math.inf if "max_percentage" in limits else 0)
    holds = len(errors) <= most and len(errors) / len(matching) * 100 <= limits.get("max_percentage", math.inf)
    names = ", ".join(str(span["name"]) for span in errors[:3])
    return Graded(holds, float(holds), f"{len(errors)} of {len(matching)} spans are errors{names and f': {names}'}")


def is_error(span: Span) -> bool:
    """Whether a span failed: by its status, by the attributes that programs set, or by its message."""
    status, attributes = span.get("statusCode") or 0, span.get("attributes") or {}
    if status == _ERROR_STATUS or status >= _HTTP_ERROR:
        return True
    flags = (attributes.get(name) for name in ("error", "exception", "failed", "failure"))
    if any(flag is True or flag == "true" or isinstance(flag, dict | list) for flag in flags):
        return True
    if attributes.get("http.status_code") is not None and _number(attributes["http.status_code"]) >= _HTTP_ERROR:
        return True
    if "ERROR" in (attributes.get("otel.status_code"), attributes.get("status.code")):
        return True
    return bool(_AN_ERROR.search(span.get("statusMessage") or ""))


def _number(value: Any) -> float:
    """A status as JavaScript reads it: a number, or the text of one; anything else is not a number."""
    if isinstance(value, bool | int | float):
        return float(value)
    text = str(value).strip(JAVASCRIPT_SPACE) if isinstance(value, str) else ""
    return float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) else math.nan


SPAN_ASSERTIONS: dict[str, Callable[[Sequence[Span], Any], Graded]] = {
    "trace-span-count": span_count,
    "trace-span-duration": span_duration,
    "trace-error-spans": error_spans,
}
