"""Assertions: one scorer, with a type for each of them."""

from __future__ import annotations

from collections.abc import Mapping

from assay.formats.declarative.code_shapes import TemplatedValue, pattern_problem
from assay.formats.declarative.schema.fields import REFERENCED_KEY, Kind, kind, kinds, template
from assay.formats.declarative.schema.together import at_least_one
from assay.formats.declarative.shape import (
    Field,
    Fields,
    ListOf,
    Number,
    Report,
    Tagged,
)
from assay.formats.declarative.yaml_reader import FieldPath
from assay.part_options import ANSWER
from assay.scorers.assertions.json_schema import unsupported
from assay.scorers.assertions.weighted_assertions import ALIKE_ENOUGH, NEGATION, OF_LISTS, OF_SCHEMAS, SIMILAR_ENOUGH

_ASSERTED = TemplatedValue(ANSWER)
_EXPECTED = Field(_ASSERTED, doc="The expected text; may be a template.")
_SCHEMA = "A JSON Schema; may hold templates."
_OWN = {
    "equals": kind("The answer is this text, or JSON that is this value.", value=_EXPECTED),
    "contains": kind("The text occurs in the answer.", value=_EXPECTED),
    "icontains": kind("The same, ignoring case.", value=_EXPECTED),
    "contains_all": kind("All texts of a list occur in the answer.", value=_EXPECTED),
    "contains_any": kind("One of the texts of a list occurs in the answer.", value=_EXPECTED),
    "icontains_all": kind("The same as contains_all, ignoring case.", value=_EXPECTED),
    "icontains_any": kind("The same as contains_any, ignoring case.", value=_EXPECTED),
    "starts_with": kind("The answer begins with the text.", value=_EXPECTED),
    "regex": kind("The pattern is found in the answer.", value=_EXPECTED),
    "is_json": kind("The answer is JSON, and valid under a given schema.", value=Field(_ASSERTED, None, _SCHEMA)),
    "contains_json": kind("The answer contains a JSON object.", value=Field(_ASSERTED, None, _SCHEMA)),
    "json_schema": kind("The answer is JSON, valid under the schema.", value=Field(_ASSERTED, doc=_SCHEMA)),
    "similar": kind(
        "The answer is like the text: in its meaning with an `embedding_model`, else in its spelling.",
        value=_EXPECTED,
        threshold=Field(
            Number(least=0, most=1),
            None,
            f"From 0 to 1; {ALIKE_ENOUGH:g} with an `embedding_model`, {SIMILAR_ENOUGH:g} without.",
        ),
        embedding_model=Field(
            REFERENCED_KEY, None, "The model whose embeddings are compared, by the cosine of their angle."
        ),
    ),
    "word_count": kind(
        "The number of words in the answer is within these limits.",
        min=Field(Number(whole=True, least=0), None, "Fewest words."),
        max=Field(Number(whole=True, least=0), None, "Most words."),
    ),
    "cost": kind(
        "The answer cost at most this much, by the run's prices.",
        max_cost=Field(Number(least=0), doc="In the currency of the price file."),
    ),
    "latency": kind(
        "The model took at most this long.", max_seconds=Field(Number(above=0), doc="Seconds for all its answers.")
    ),
    "finish_reason": kind("The answer ended for this reason.", value=_EXPECTED),
}


def _assertion_rule(result: Fields, where: FieldPath, report: Report) -> None:
    kind = str(result["type"]).removeprefix(NEGATION)
    value = result.get("value")
    if kind in OF_LISTS and value == []:
        report.wrong((*where, "value"), "the list is empty: no text is looked for")
    awaited = isinstance(value, str) and report.awaits((*where, "value"), value)
    if kind == "regex" and not awaited and (problem := pattern_problem(value)):
        report.wrong((*where, "value"), problem)
    is_template = isinstance(value, str) and any(opening in value for opening in ("{{", "{%", "<<"))
    wants_schema = kind in OF_SCHEMAS and value is not None and not is_template
    if wants_schema and (problem := unsupported(value)):
        report.wrong((*where, "value"), f"{problem} is not supported in a schema here")
    if kind == "word_count" and result["min"] is None and result["max"] is None:
        report.wrong(where, "a word_count needs `min`, `max` or both")
    low, high = result.get("min"), result.get("max")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        report.wrong((*where, "max"), f"no text has at least {low} and at most {high} words")


def _together(kind: str) -> tuple[Fields, ...]:
    if kind in OF_LISTS:
        return ({"properties": {"value": {"not": {"type": "array", "maxItems": 0}}}},)
    return (at_least_one("min", "max"),) if kind == "word_count" else ()


_ASSERTIONS = {
    f"{prefix}{name}": Kind(f"{negated}{each.doc}", _assertion_rule, _together(name), each.fields)
    for prefix, negated in (("", ""), (NEGATION, "Not: "))
    for name, each in _OWN.items()
}
ASSERTION_TYPES = tuple(_ASSERTIONS)
_ASSERTION = Tagged(
    "assertion",
    kinds("{} assertion", _ASSERTIONS, weight=Field(Number(above=0), 1, "Its share in `passed`.")),
    aliases={name.replace("_", "-"): name for name in ASSERTION_TYPES if "_" in name},
)
_ABOUT = {"text": template("Template of the text that is looked at; the last answer when absent.", ANSWER, None)}
ASSERTIONS: Mapping[str, Kind] = {
    **{name: each._replace(fields={**each.fields, **_ABOUT}) for name, each in _ASSERTIONS.items()},
    "assertions": kind(
        "A weighted list of assertions: one score, evidence for each.",
        assertions=Field(ListOf(_ASSERTION, least=1), doc="What must hold."),
        threshold=Field(
            Number(least=0, most=1), None, "The share of the weights needed to pass; all of them when absent."
        ),
        **_ABOUT,
    ),
}
