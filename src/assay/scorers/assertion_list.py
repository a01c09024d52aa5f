"""A list of deterministic assertions about a text, all of which must hold: equals, contains, regex, is-json, …"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Failure, Sample, Score, Trace
from assay.patterns.matching import PatternTimeoutError, pattern_found

Assertion = Callable[[str, Any], bool]


class AssertionList:
    """`score` is 1.0 when every one of `extras.assertions` holds; `passed` is the share that does."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        asserted = sample.extras.get("assertions")
        if not isinstance(asserted, list) or not asserted:
            raise self._bad("extras.assertions must be a list of objects with `type` and `value`")
        try:
            held = [holds(trace.prediction, each) for each in asserted]
        except PatternTimeoutError as error:
            raise FailureError(Failure(stage="scorer", part=self.name, kind="timeout", message=str(error))) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._bad(f"an assertion cannot be checked: {type(error).__name__}: {error}") from error
        broken = [each["type"] for each, right in zip(asserted, held, strict=True) if not right]
        return Score(
            name=self.name,
            values={"score": float(all(held)), "passed": sum(held) / len(held)},
            reason=f"does not hold: {', '.join(broken)}" if broken else None,
        )

    def _bad(self, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message))


def holds(text: str, assertion: dict[str, Any]) -> bool:
    """Whether one assertion is true of a text; `not-` before its type turns it round."""
    kind = str(assertion["type"])
    checked = ASSERTIONS[kind.removeprefix("not-")](text, assertion.get("value"))
    return not checked if kind.startswith("not-") else checked


def _is_json(text: str, value: Any) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _contains_json(text: str, value: Any) -> bool:
    """Whether an object or a list stands in the text: then a flat one does, which holds no other."""
    return ("]" in text or "}" in text) and _FLAT_JSON.search(text) is not None


# Nothing is given back, and of two openings that reach the same place one is inside the other's strings: no text makes
# the search slow.
_BLANKS = r"[ \t\n\r]*+"
_STRING = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_PLAIN = rf"(?:{_STRING}|{_NUMBER}|true|false|null|NaN|-?Infinity){_BLANKS}"
_PAIR = rf"{_STRING}{_BLANKS}:{_BLANKS}{_PLAIN}"
_FLAT_JSON = re.compile(
    rf"[\[{{](?![\[{{])(?:(?<=\[){_BLANKS}(?:{_PLAIN}(?:,{_BLANKS}{_PLAIN})*+)?\]"
    rf"|(?<=\{{){_BLANKS}(?:{_PAIR}(?:,{_BLANKS}{_PAIR})*+)?\}})"
)


def _equals(text: str, value: Any) -> bool:
    if isinstance(value, dict | list):
        return _is_json(text, None) and json.loads(text) == value
    return text.strip() == str(value).strip()


def _texts(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else str(value).split(",")
    return [str(part).strip() for part in parts]


ASSERTIONS: dict[str, Assertion] = {
    "equals": _equals,
    "contains": lambda text, value: str(value) in text,
    "icontains": lambda text, value: str(value).lower() in text.lower(),
    "contains-all": lambda text, value: all(each in text for each in _texts(value)),
    "contains-any": lambda text, value: any(each in text for each in _texts(value)),
    "icontains-all": lambda text, value: all(each.lower() in text.lower() for each in _texts(value)),
    "icontains-any": lambda text, value: any(each.lower() in text.lower() for each in _texts(value)),
    "starts-with": lambda text, value: text.startswith(str(value)),
    "regex": lambda text, value: pattern_found(str(value), text),
    "is-json": _is_json,
    "contains-json": _contains_json,
}


def assertions(key: str, *, context: object = None) -> AssertionList:
    """Every one of `extras.assertions` must hold: equals, contains, regex, is-json, …, each also with `not-` before."""
    return AssertionList(key)
