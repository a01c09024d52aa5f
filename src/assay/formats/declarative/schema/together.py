"""Which fields go together, as JSON Schema: what an editor can know of the rules that the shapes check."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from assay.formats.declarative.yaml_reader import Plain

Schema = dict[str, Plain]
_REFERS: Schema = {"type": "object", "required": ["$ref"]}
"""The content of another file stands here, which an editor does not see."""


def given(name: str) -> Schema:
    """The field is there and not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def absent(*names: str) -> Schema:
    """None of the fields is there, but for nulls."""
    return {"properties": {name: {"type": "null"} for name in names}}


def exactly_one(*names: str) -> Schema:
    return {"oneOf": [given(name) for name in names]}


def at_least_one(*names: str) -> Schema:
    return {"anyOf": [given(name) for name in names]}


def all_of(*schemas: Schema) -> Schema:
    return {"allOf": list(schemas)}


def implies(condition: Schema, then: Schema) -> Schema:
    return {"if": condition, "then": then}


def is_one(name: str, words: Collection[str]) -> Schema:
    """The field is there and one of the words."""
    return {"type": "object", "required": [name], "properties": {name: {"enum": list(words)}}}


def of_type(*words: str) -> Schema:
    """A mapping of one of these types, or one that stands in another file."""
    return {"anyOf": [_REFERS, is_one("type", words)]}


def reads_one_of(fields: Collection[str], values: Collection[str]) -> Schema:
    """The metrics of a scorer read values that it gives."""
    one: Schema = {"anyOf": [{"enum": list(values)}, {"not": {"type": "string"}}, {"pattern": "<<"}]}
    named: Schema = {f"^({'|'.join(fields)})$": one}
    return {"properties": {"metrics": {"items": {"patternProperties": named}}}}


def default_of(kind: str) -> Schema:
    """A default is of its parameter's kind."""
    return {"properties": {"default_value": {"type": [kind, "null"]}}}


ADAPTED: Schema = {
    "oneOf": [
        all_of(given("key"), absent("process_input", "process_output")),
        all_of(given("process_input"), given("process_output"), absent("key")),
    ]
}
FEW_SHOT = all_of(exactly_one("dataset", "examples"), implies(given("dataset"), given("count")))
FEW_SHOT_INPUT = implies(given("few_shot"), {"properties": {"input_builder": of_type("chat_completion")}})


def _contains_generate(loops: int) -> Schema:
    """Builders of which one asks the evaluated model, in so many loops within each other at most."""
    asks: list[Plain] = [of_type("generate")]
    if loops:
        inner: Schema = {"properties": {"message_builders": _contains_generate(loops - 1)}}
        asks.append(all_of(is_one("type", ["loop"]), inner))
    return {"anyOf": [{"type": "string"}, {"contains": {"anyOf": asks}}]}


ASKS_MODEL: Schema = {"properties": {"message_builders": _contains_generate(3)}}


def about_answers(need_answer: Collection[str], looked_at: Mapping[str, str]) -> Schema:
    """Without a solver there is no answer: some scorers have nothing to score, others name what they look at."""
    rules: list[Plain] = [implies(is_one("type", need_answer), {"not": {}})]
    for name in dict.fromkeys(looked_at.values()):
        kinds = [kind for kind, field in looked_at.items() if field == name]
        rules.append(implies(is_one("type", kinds), given(name)))
    return implies(absent("solver"), {"properties": {"scorers": {"items": {"allOf": rules}}}})


def of_likelihoods(scorer_of: Mapping[str, str]) -> list[Schema]:
    """Solvers and scorers of likelihoods go together."""
    rules: list[Schema] = []
    for solver, scorer in scorer_of.items():
        has_scorer: Schema = {"type": "array", "contains": is_one("type", [scorer])}
        has_solver: Schema = {"required": ["solver"], "properties": {"solver": of_type(solver)}}
        rules.append(implies({"required": ["scorers"], "properties": {"scorers": has_scorer}}, has_solver))
        is_asked: Schema = {"required": ["solver"], "properties": {"solver": is_one("type", [solver])}}
        wanted: Schema = {"anyOf": [{"type": "string"}, {"contains": of_type(scorer)}]}
        rules.append(implies(is_asked, {"required": ["scorers"], "properties": {"scorers": wanted}}))
    return rules


_BENCHMARK: Schema = {
    "properties": {"type": {"enum": ["benchmark_task", "declarative_task"]}},
    "not": _REFERS,
}
_ENTITY = "evaluated_entity_type"
_ABOUT_MODELS = all_of(given("dataset"), given("solver"))
ENTITY = implies(
    {"required": [_ENTITY]}, {"if": is_one(_ENTITY, ["dataset"]), "then": absent("solver"), "else": _ABOUT_MODELS}
)
"""Of a definition that says what it evaluates."""


def _of_definition(rule: Schema) -> Schema:
    return {"properties": {"definition": implies(_BENCHMARK, rule)}}


_UNSAID: Schema = {"not": {"required": [_ENTITY]}}
_INFERRED: Schema = {"anyOf": [_ABOUT_MODELS, {"required": ["dataset"], "not": {"required": ["solver"]}}]}
ENTITY_OF_TASK: list[Schema] = [
    implies(absent(_ENTITY), _of_definition(implies(_UNSAID, _INFERRED))),
    implies(
        is_one(_ENTITY, ["dataset"]),
        _of_definition(all_of(absent("solver"), {"properties": {_ENTITY: {"enum": ["dataset"]}}})),
    ),
    implies(
        is_one(_ENTITY, ["model"]),
        _of_definition(all_of(_ABOUT_MODELS, {"properties": {_ENTITY: {"enum": ["model"]}}})),
    ),
]
"""Of a task: the old place of what it evaluates, and what follows where neither place says it."""
