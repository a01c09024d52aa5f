"""Rules between the fields of a task as JSON Schema: what an editor can know of those that `tasks.py` checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from assay.schema_rules import REFERS, Schema, absent, all_of, given, implies, is_one, of_type


def about_answers(need_answer: Collection[str], looked_at: Mapping[str, str]) -> Schema:
    """Without a solver there is no answer: some scorers have nothing to score, others name what they look at."""
    rules: list[Schema] = [implies(is_one("type", need_answer), {"not": {}})]
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
    "not": REFERS,
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
