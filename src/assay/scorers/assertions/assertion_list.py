"""A list of deterministic assertions about a text, all of which must hold: equals, contains, regex, is-json, …"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Scorer
from assay.core.types import Completion, Failure, Sample, Score, Trace
from assay.metrics.evidence import LONGEST_QUOTE, note
from assay.patterns.matching import PatternTimeoutError, pattern_found
from assay.prompts.jinja_filters import as_javascript
from assay.scorers.assertions.json_schema import conforms, same

Assertion = Callable[[str, Any], bool]


class AssertionList:
    """`score` is 1.0 when every one of `extras.assertions` holds; `passed` is the share that does."""

    only_computes = True

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
            metadata={
                "evidence": [note(_as_text(each), good=right) for each, right in zip(asserted, held, strict=True)]
            },
        )

    def gold(self, sample: Sample) -> Completion | None:
        """An answer built from the assertions themselves; None where none can be built, or they cannot be checked."""
        from assay.scorers.assertions.assertion_gold import Wanted, gold_text  # needed only when a task is checked

        asserted = sample.extras.get("assertions")
        if not isinstance(asserted, list) or not asserted:
            return None
        try:
            wanted = [
                Wanted(kind.removeprefix("not-").replace("-", "_"), kind.startswith("not-"), each)
                for each in asserted
                for kind in [str(each["type"])]
            ]
            text = gold_text(wanted, lambda text: all(holds(text, each) for each in asserted))
        except (PatternTimeoutError, KeyError, TypeError, ValueError, AttributeError):
            return None  # scoring reports it
        return None if text is None else Completion(text=text)

    def _bad(self, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message))


def _as_text(assertion: dict[str, Any]) -> str:
    """An assertion in a line."""
    value = assertion.get("value")
    return str(assertion["type"]) if value is None else f"{assertion['type']} {str(value)[:LONGEST_QUOTE]}"


def holds(text: str, assertion: dict[str, Any]) -> bool:
    """Whether one assertion holds for a text; `not-` before its type negates it."""
    kind = str(assertion["type"])
    checked = ASSERTIONS[kind.removeprefix("not-")](text, assertion.get("value"))
    return not checked if kind.startswith("not-") else checked


def _is_json(text: str, schema: Any) -> bool:
    """Whether the whole text is JSON, and conforms to the schema if there is one."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return not schema or conforms(value, schema)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _contains_json(text: str, schema: Any) -> bool:
    """Whether the text contains a JSON object, one that conforms to the schema if there is one."""
    return any(not schema or conforms(each, schema) for each in _objects(text))


MAX_JSON = 100_000
"""Characters that an object inside a text may have."""
MAX_JSON_WORK = 8_000_000
"""Characters that are read in search of objects, those of failed tries included."""
_COST_OF_A_TRY = 100
_OPENING = re.compile(r"\{(?=[ \t\n\r]*+[\"}])")


def _objects(text: str) -> Iterator[Any]:
    """The outermost JSON objects of a text."""
    work = 0
    opening = _OPENING.search(text)
    while opening is not None:
        at = opening.start()
        try:
            value, size = _DECODER.raw_decode(text[at : at + MAX_JSON])
            yield value
        except ValueError as error:
            work, size = work + getattr(error, "pos", MAX_JSON), 1
        except RecursionError:
            work, size = work + MAX_JSON, 1
        work += _COST_OF_A_TRY
        if work > MAX_JSON_WORK:
            raise PatternTimeoutError(f"the text begins too many JSON objects ({len(text):,} characters)")
        opening = _OPENING.search(text, at + size)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _equals(text: str, value: Any) -> bool:
    if value is None or isinstance(value, dict | list):
        try:
            return same(json.loads(text, parse_constant=_refuse_constant), value)
        except (ValueError, RecursionError):
            return False
    return text == as_javascript(value)


_FIELD = re.compile(r'[\s,]*+(?:"((?:[^"\\]++|\\["\\]|\\|"")*+)"\s*+(?=,|\Z)|([^",][^,]*+))')


def _texts(value: Any) -> list[str]:
    """The texts of a list, or those between the commas of one text."""
    return [as_javascript(each) for each in value] if isinstance(value, list) else comma_separated(as_javascript(value))


def comma_separated(value: str) -> list[str]:
    """The texts between the commas of one text; a text in quotes may hold commas itself."""
    fields, at, text = [], 0, value.rstrip(", \t\n\r")
    while at < len(text):
        field = _FIELD.match(text, at)
        if field is None:
            raise ValueError(f"the quotes in {text!r} do not end")
        quoted, plain = field.groups()
        fields.append(plain.strip() if quoted is None else re.sub(r'\\(["\\])|""', lambda m: m[1] or '"', quoted))
        at = field.end()
    return fields


ASSERTIONS: dict[str, Assertion] = {
    "equals": _equals,
    "contains": lambda text, value: as_javascript(value) in text,
    "icontains": lambda text, value: as_javascript(value).lower() in text.lower(),
    "contains-all": lambda text, value: all(each in text for each in _texts(value)),
    "contains-any": lambda text, value: any(each in text for each in _texts(value)),
    "icontains-all": lambda text, value: all(each.lower() in text.lower() for each in _texts(value)),
    "icontains-any": lambda text, value: any(each.lower() in text.lower() for each in _texts(value)),
    "starts-with": lambda text, value: text.startswith(tuple(value) if isinstance(value, list) else str(value)),
    "regex": lambda text, value: pattern_found(str(value), text),
    "is-json": _is_json,
    "contains-json": _contains_json,
}


def assertions(
    key: str,
    *,
    assertions: Sequence[Mapping[str, Any]] | None = None,
    threshold: float | None = None,
    text: str | None = None,
    has_solver: bool = True,
    context: BuildContext = NO_CONTEXT,
) -> Scorer:
    """Every one of `assertions`, or of the sample's `extras.assertions`, must hold: equals, contains, regex, is-json, …

    Each can be negated with the prefix `not-`. Those of the task may have a `weight`, and may be templates; with a
    `threshold`, that share of the weights is enough. `text` is the template of the text to check.
    """
    if assertions is None:
        return AssertionList(key)
    from assay.scorers.assertions.weighted_assertions import WeightedAssertions

    return WeightedAssertions(key, assertions, threshold, text, has_solver, context)
