"""Scorers under assay's own names: metrics, extraction, assertions, programs and instructions."""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalog import CATALOG, OWN_NAME, is_name, names
from assay.metrics.instructions import CHECKS
from assay.patterns.matching import BadPatternError, checked_pattern
from assay.scorers.json_schema import unsupported
from assay.scorers.weighted_assertions import ALIKE_ENOUGH, NEGATION, OF_LISTS, OF_SCHEMAS, SIMILAR_ENOUGH
from assay.tasks.declarative.code_shapes import TemplatedValue
from assay.tasks.declarative.schema.fields import ANSWER, REFERENCED_KEY, Kind, kind, kinds, mapping, template, text
from assay.tasks.declarative.schema.together import at_least_one, exactly_one
from assay.tasks.declarative.shape import (
    Anything,
    Boolean,
    Field,
    Fields,
    ListOf,
    MapOf,
    Number,
    OrMapping,
    Report,
    Rule,
    Tagged,
    Text,
    TextOr,
    mappings,
    require_one,
)
from assay.tasks.declarative.yaml_reader import FieldPath, Plain, hint_here

ASSERTED_ELSEWHERE = ("contains", "starts_with")
"""Metrics whose names are those of assertions, which count the case of letters; `type: metric` has them too."""
METRIC_TYPES = tuple(name for name in CATALOG["metric"] if name not in ASSERTED_ELSEWHERE)
_WITHOUT_TARGETS = {"label_in_set": "allowed", "forbidden_patterns": "patterns"}
VALUE = template("Template of the text compared; the last answer of the model when absent.", ANSWER, None)
_TARGETS = {
    "ground_truth": template("Template of the expected text.", default=None),
    "ground_truths": template("Template of a list of expected texts; the best one counts.", default=None),
}
_COMPARED = {
    "value": VALUE,
    "post_process": Field(
        Text(words=tuple(CATALOG["post_process"])), "none", "What is extracted from the answer before it is compared."
    ),
}
_ONE_TARGET = exactly_one(*_TARGETS)


def _one_target(result: Fields, where: FieldPath, report: Report) -> None:
    require_one(result, list(_TARGETS), where, report, f"the scorer {result['type']}")


def _named_metric(result: Fields, where: FieldPath, report: Report) -> None:
    _one_target(result, where, report)
    name = str(result["metric"])
    is_known = OWN_NAME.fullmatch(name) or is_name("metric", name)
    if not is_known and not report.awaits((*where, "metric"), name):
        report.wrong((*where, "metric"), f"unknown metric `{name}`. {hint_here(name, names('metric'))}")


def _patterns(name: str) -> Rule:
    def check(result: Fields, where: FieldPath, report: Report) -> None:
        patterns = result[name]
        for at, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
            check_pattern(pattern, (*where, name, at), report)

    return check


def check_pattern(pattern: Plain, where: FieldPath, report: Report) -> None:
    """That a text is a regular expression; one with a template in it has to wait for its rows."""
    if not isinstance(pattern, str) or "{{" in pattern or "{%" in pattern or report.awaits(where, pattern):
        return
    try:
        checked_pattern(pattern)
    except (BadPatternError, ValueError) as error:
        report.wrong(where, str(error))


_METRICS = {
    **{
        name: kind(
            f"The metric `{name}` of the answer and the expected text.",
            _one_target,
            _ONE_TARGET,
            **_TARGETS,
            **_COMPARED,
        )
        for name in METRIC_TYPES
        if name not in _WITHOUT_TARGETS
    },
    "label_in_set": kind(
        "Whether the answer is one of the allowed labels.",
        allowed=Field(ListOf(Text(), least=1), doc="The labels."),
        **_COMPARED,
    ),
    "forbidden_patterns": kind(
        "Whether none of the patterns is found in the answer.",
        _patterns("patterns"),
        patterns=Field(ListOf(Text(), least=1), doc="Regular expressions."),
        **_COMPARED,
    ),
    "metric": kind(
        "A metric by its name: built in, from an installed package, or your own.",
        _named_metric,
        _ONE_TARGET,
        metric=text("A metric's name, or `package.module:function`.", min_length=1),
        options=Field(MapOf(Anything()), {}, "What the metric finds in its extras."),
        **_TARGETS,
        **_COMPARED,
    ),
}


# -- extraction --------------------------------------------------------------------------------------------------------

_STEP = OrMapping(
    Text(words=("strip", "strip_start", "lowercase", "uppercase")),
    mapping(
        "an extraction step",
        "What a pattern finds: its first group, or the whole match.",
        regex=text("The pattern.", min_length=1),
        select=Field(Number(whole=True), 0, "Which match: 0 is the first, -1 the last."),
        fallback=text("Used when nothing matches.", ""),
    ),
)


def _extracted_match_rule(result: Fields, where: FieldPath, report: Report) -> None:
    _one_target(result, where, report)
    _patterns("regexes_to_ignore")(result, where, report)
    steps = result["extract"]
    for at, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict):
            check_pattern(step["regex"], (*where, "extract", at, "regex"), report)


_EXTRACTED_MATCH = kind(
    "Equality after an answer is extracted by named steps.",
    _extracted_match_rule,
    _ONE_TARGET,
    **_TARGETS,
    value=VALUE,
    extract=Field(ListOf(_STEP), [], "What is done to the answer before it is compared, in this order."),
    ignore_case=Field(Boolean(), False, "Ignore case."),
    ignore_punctuation=Field(Boolean(), False, "Ignore punctuation."),
    ignore_numbers=Field(Boolean(), False, "Ignore digits."),
    regexes_to_ignore=Field(ListOf(Text()), [], "Taken out of answer and expected text."),
)


# -- programs and instructions -----------------------------------------------------------------------------------------

_CHECKS = ("tests", "io_pairs", "expressions", "expected_stdout")


def _one_check(result: Fields, where: FieldPath, report: Report) -> None:
    require_one(result, _CHECKS, where, report, "a code_exec scorer")


_CODE_EXEC = kind(
    "Runs the answer in the sandbox; the share of checks that hold.",
    _one_check,
    exactly_one(*_CHECKS),
    tests=template("Template of a test program.", default=None),
    entry_point=template("Template of the name of the function that `tests` calls.", default=None),
    prelude=template("Template of code placed before the answer.", default=None),
    io_pairs=template("Template of a list of [input, result].", default=None),
    function=template("Template of the function that `io_pairs` call; `f` when absent.", default=None),
    star=Field(Boolean(), None, "Whether each input is a list of arguments."),
    expressions=template("Template of a list of expressions that must be true.", default=None),
    expected_stdout=template("Template of what the program must print.", default=None),
    stdin=template("Template of what it reads.", default=None),
    solution=template("Template of a program that passes, which `assay check` tries.", default=None),
    value=VALUE,
    post_process=Field(
        Text(words=tuple(CATALOG["post_process"])), "extract_code_block", "What is extracted from the answer."
    ),
    cpu_seconds=Field(Number(above=0), None, "Seconds of CPU for one program."),
    memory_mb=Field(Number(whole=True, least=64), None, "Memory for one program."),
    min_tier=text("The weakest sandbox that may run it.", None),
    all_or_nothing=Field(Boolean(), False, "1.0 when all checks hold, else 0.0, as pass@k wants."),
    imports=Field(TextOr(Text(words=("any",)), ListOf(Text())), None, "Modules to allow beyond the pure ones."),
)


def _instructions_rule(result: Fields, where: FieldPath, report: Report) -> None:
    for at, each in enumerate(mappings(result["instructions"])):
        inside = (*where, "instructions", at)
        if "id" not in each:
            report.wrong(inside, "an instruction needs the field `id`", lacks="id")
        elif (name := each["id"]) not in CHECKS:
            known = hint_here(str(name), CHECKS)
            report.wrong((*inside, "id"), f"`{name}` is not an instruction that can be checked. {known}")


_INSTRUCTIONS = kind(
    "Whether instructions that a program can check are followed.",
    _instructions_rule,
    {"properties": {"instructions": {"items": {"required": ["id"], "properties": {"id": {"enum": list(CHECKS)}}}}}},
    instructions=Field(
        TextOr(template("").shape, ListOf(MapOf(Anything()), least=1)),
        doc="The instructions, each with its `id` and options; or a template of such a list.",
    ),
    value=VALUE,
)


# -- assertions --------------------------------------------------------------------------------------------------------

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
    if kind == "regex":
        check_pattern(value, (*where, "value"), report)
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
NAMED_SCORERS: Mapping[str, Kind] = {
    **_METRICS,
    **{name: each._replace(fields={**each.fields, **_ABOUT}) for name, each in _ASSERTIONS.items()},
    "assertions": kind(
        "A weighted list of assertions: one score, evidence for each.",
        assertions=Field(ListOf(_ASSERTION, least=1), doc="What must hold."),
        threshold=Field(
            Number(least=0, most=1), None, "The share of the weights needed to pass; all of them when absent."
        ),
        **_ABOUT,
    ),
    "extracted_match": _EXTRACTED_MATCH,
    "code_exec": _CODE_EXEC,
    "instructions": _INSTRUCTIONS,
}
