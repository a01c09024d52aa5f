"""The kinds of assertions about an answer: each with its options, what decides it, and a text for which it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

from msgspec import Meta

from assay.core.types import Trace
from assay.metrics.overlap import edit_similarity
from assay.part_options import ANSWER, Doc, InFiles, ModelKey, PartInfo, Problem, TemplateOption
from assay.patterns.matching import PatternTimeoutError, pattern_found, pattern_problem
from assay.prompts.jinja_filters import as_javascript
from assay.scorers.assertions.json_schema import conforms, same, unsupported

SIMILAR_ENOUGH = 0.8
ALIKE_ENOUGH = 0.75
"""The default threshold of `similar` for embeddings, as elsewhere."""
NEGATION = "not_"


class Held(NamedTuple):
    """Whether an assertion holds, and what was found."""

    holds: bool
    reason: str = ""


Data = Mapping[str, Any]
"""The data of an assertion, with its templates rendered."""


class OfValue(TypedDict):
    """The options of most assertions."""

    value: Annotated[Any, TemplateOption("The expected text; may be a template.", ANSWER)]


class OfSchema(TypedDict):
    value: Annotated[Any, TemplateOption("A JSON Schema; may hold templates.", ANSWER)]


class OfAnySchema(TypedDict):
    value: NotRequired[Annotated[Any, TemplateOption("A JSON Schema; may hold templates.", ANSWER)]]


class OfSimilarity(OfValue):
    threshold: NotRequired[
        Annotated[
            float,
            Meta(ge=0, le=1),
            Doc(f"From 0 to 1; {ALIKE_ENOUGH:g} with an `embedding_model`, {SIMILAR_ENOUGH:g} without."),
        ]
    ]
    embedding_model: NotRequired[
        Annotated[str, ModelKey("The model whose embeddings are compared, by the cosine of their angle.")]
    ]


class OfWords(TypedDict):
    min: NotRequired[Annotated[int, Meta(ge=0), Doc("Fewest words.")]]
    max: NotRequired[Annotated[int, Meta(ge=0), Doc("Most words.")]]


class OfCost(TypedDict):
    max_cost: Annotated[float, Meta(ge=0), Doc("In the currency of the price file.")]


class OfLatency(TypedDict):
    max_seconds: Annotated[float, Meta(gt=0), Doc("Seconds for all its answers.")]


class InAList(TypedDict):
    """What an assertion has in addition where it is one of several."""

    weight: NotRequired[Annotated[float, Meta(gt=0), Doc("Its share in `passed`."), InFiles(1)]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionKind:
    """What an assertion says of itself, what decides it, and a text for which it holds.

    One of `of_value`, `of_text` and `of_trace` decides it; what it cost is known to the scorer alone.
    """

    info: PartInfo
    options: Any = OfValue
    of_value: Callable[[str, Any], bool] | None = None
    """From the text and the `value`."""
    of_text: Callable[[str, Data], Held] | None = None
    of_trace: Callable[[Trace, Data], Held] | None = None
    proposed: Callable[[Any], str | None] | None = None
    """A text for which it holds, out of its `value`: for checking a task without a model."""
    printed: tuple[type, ...] = ()
    """What a value that is one `{{ … }}` may be apart from a text."""
    is_schema: bool = False
    """Whether its value is a JSON Schema."""

    @property
    def is_about_text(self) -> bool:
        return self.of_value is not None or self.of_text is not None


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
    return [as_javascript(item) for item in value] if isinstance(value, list) else comma_separated(as_javascript(value))


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


def _equal(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, dict | list) else as_javascript(value)


def _all(value: Any) -> str:
    """A text with commas is a list of the texts between them."""
    return " ".join(map(as_javascript, value)) if isinstance(value, list) else as_javascript(value)


def _first(value: Any) -> str:
    return as_javascript(value[0] if isinstance(value, list) and value else value)


def _json_text(schema: Any) -> str | None:
    if not schema:
        return "{}"
    from assay.scorers.assertions.json_example import example_of  # needed only when a task is checked

    value = example_of(schema)
    return json.dumps(value) if conforms(value, schema) else None


def _matching(pattern: Any) -> str | None:
    from assay.patterns.example import example_text  # needed only when a task is checked

    return example_text(str(pattern))


_ANSWER = 'value: "{{ sample.answer }}"'
_CITY = 'value: "{{ sample.city }}"'
_OBJECT = "value: {type: object, required: [city]}"


def _texts_listed(options: Mapping[str, Any]) -> list[Problem]:
    return [(("value",), "the list is empty: no text is looked for")] if options["value"] == [] else []


_NO_EMPTY_LIST = {"properties": {"value": {"not": {"type": "array", "maxItems": 0}}}}


def _of_texts(doc: str, example: str) -> PartInfo:
    return PartInfo(doc, example, check=_texts_listed, editor=(_NO_EMPTY_LIST,))


def _found_pattern(options: Mapping[str, Any]) -> list[Problem]:
    problem = pattern_problem(options["value"])
    return [(("value",), problem)] if problem else []


def _known_schema(options: Mapping[str, Any]) -> list[Problem]:
    schema = options["value"]
    is_template = isinstance(schema, str) and any(opening in schema for opening in ("{{", "{%", "<<"))
    if schema is None or is_template or not (problem := unsupported(schema)):
        return []
    return [(("value",), f"{problem} is not supported in a schema here")]


def _words_within(options: Mapping[str, Any]) -> list[Problem]:
    low, high = options["min"], options["max"]
    if isinstance(low, int) and isinstance(high, int) and low > high:
        return [(("max",), f"no text has at least {low} and at most {high} words")]
    return []


def _similar(text: str, given: Data) -> Held:
    likeness = edit_similarity(text.strip(), str(given["value"]).strip())
    return Held(likeness >= float(given.get("threshold", SIMILAR_ENOUGH)), f"{likeness:.3f}")


def _words(text: str, given: Data) -> Held:
    words = len(text.split())
    return Held(given.get("min", 0) <= words <= given.get("max", words), f"{words} words")


def _schema(text: str, given: Data) -> Held:
    return Held(_is_json(text, given["value"]))


def _seconds(trace: Trace, given: Data) -> Held:
    seconds = sum(completion.seconds for completion in trace.completions)
    return Held(seconds <= float(given["max_seconds"]), f"{seconds:.3f} s")


def _finish(trace: Trace, given: Data) -> Held:
    reason = trace.completions[-1].finish_reason if trace.completions else None
    return Held(reason == str(given["value"]), str(reason))


KINDS: dict[str, AssertionKind] = {
    "equals": AssertionKind(
        info=PartInfo("The answer is this text, or JSON that is this value.", _ANSWER),
        of_value=_equals,
        proposed=_equal,
        printed=(list, dict),
    ),
    "contains": AssertionKind(
        info=PartInfo("The text occurs in the answer.", _CITY),
        of_value=lambda text, value: as_javascript(value) in text,
        proposed=as_javascript,
    ),
    "icontains": AssertionKind(
        info=PartInfo("The same, ignoring case.", _CITY),
        of_value=lambda text, value: as_javascript(value).lower() in text.lower(),
        proposed=as_javascript,
    ),
    "contains_all": AssertionKind(
        info=_of_texts("All texts of a list occur in the answer.", "value: [Bern, Aare]"),
        of_value=lambda text, value: all(each in text for each in _texts(value)),
        proposed=_all,
        printed=(list,),
    ),
    "contains_any": AssertionKind(
        info=_of_texts("One of the texts of a list occurs in the answer.", "value: [Bern, Berne]"),
        of_value=lambda text, value: any(each in text for each in _texts(value)),
        proposed=_first,
        printed=(list,),
    ),
    "icontains_all": AssertionKind(
        info=_of_texts("The same as contains_all, ignoring case.", "value: [bern, aare]"),
        of_value=lambda text, value: all(each.lower() in text.lower() for each in _texts(value)),
        proposed=_all,
        printed=(list,),
    ),
    "icontains_any": AssertionKind(
        info=_of_texts("The same as contains_any, ignoring case.", "value: [bern, berne]"),
        of_value=lambda text, value: any(each.lower() in text.lower() for each in _texts(value)),
        proposed=_first,
        printed=(list,),
    ),
    "starts_with": AssertionKind(
        info=PartInfo("The answer begins with the text.", 'value: "Dear {{ sample.name }}"'),
        of_value=lambda text, value: text.startswith(tuple(value) if isinstance(value, list) else str(value)),
        proposed=_first,
    ),
    "regex": AssertionKind(
        info=PartInfo("The pattern is found in the answer.", r"value: '\b[0-9]{4}\b'", check=_found_pattern),
        of_value=lambda text, value: pattern_found(str(value), text),
        proposed=_matching,
    ),
    "is_json": AssertionKind(
        info=PartInfo("The answer is JSON, and valid under a given schema.", _OBJECT, check=_known_schema),
        options=OfAnySchema,
        of_value=_is_json,
        proposed=_json_text,
        is_schema=True,
    ),
    "contains_json": AssertionKind(
        info=PartInfo("The answer contains a JSON object.", _OBJECT, check=_known_schema),
        options=OfAnySchema,
        of_value=_contains_json,
        proposed=_json_text,
        is_schema=True,
    ),
    "json_schema": AssertionKind(
        info=PartInfo(
            "The answer is JSON, valid under the schema.",
            "value: {type: object, properties: {city: {type: string}}}",
            check=_known_schema,
        ),
        options=OfSchema,
        of_text=_schema,
        proposed=_json_text,
        is_schema=True,
    ),
    "similar": AssertionKind(
        info=PartInfo(
            "The answer is like the text: in its meaning with an `embedding_model`, else in its spelling.",
            f"{_ANSWER}, threshold: 0.9",
        ),
        options=OfSimilarity,
        of_text=_similar,
        proposed=str,
    ),
    "word_count": AssertionKind(
        info=PartInfo(
            "The number of words in the answer is within these limits.",
            "min: 5, max: 50",
            any_of=("min", "max"),
            check=_words_within,
        ),
        options=OfWords,
        of_text=_words,
    ),
    "cost": AssertionKind(
        info=PartInfo("The answer cost at most this much, by the run's prices.", "max_cost: 0.002"), options=OfCost
    ),
    "latency": AssertionKind(
        info=PartInfo("The model took at most this long.", "max_seconds: 5"), options=OfLatency, of_trace=_seconds
    ),
    "finish_reason": AssertionKind(info=PartInfo("The answer ended for this reason.", "value: stop"), of_trace=_finish),
}
ASSERTION_TYPES = (*KINDS, *(f"{NEGATION}{name}" for name in KINDS))
"""The words for assertions in files, each with its negation."""
ASSERTIONS: dict[str, Callable[[str, Any], bool]] = {
    name.replace("_", "-"): kind.of_value for name, kind in KINDS.items() if kind.of_value is not None
}
"""Those about a text and a value, as samples name them."""
