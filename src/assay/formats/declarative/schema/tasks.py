"""Tasks: dataset, solver, scorers and actions, and the rules between them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.core.errors import UsageError
from assay.formats.declarative.code_shapes import TemplateText, parameters
from assay.formats.declarative.extending import ABSTRACT, EXTENDS
from assay.formats.declarative.from_annotations import REFERENCED_KEY, object_of, word
from assay.formats.declarative.part_keys import scorer_keys
from assay.formats.declarative.records import BenchmarkTask, SystemTask, TaskDataset, TaskEntry
from assay.formats.declarative.schema.filters import ACTION
from assay.formats.declarative.schema.parameters import CONFIG_PARAMETER
from assay.formats.declarative.schema.scorers import SCORER, check_label, described, labels_given, values_given
from assay.formats.declarative.schema.solvers import LIKELIHOOD_SOLVERS, SOLVER
from assay.formats.declarative.schema.task_rules import ENTITY, ENTITY_OF_TASK, about_answers, of_likelihoods
from assay.formats.declarative.shape import (
    Boolean,
    Field,
    Fields,
    ListOf,
    Report,
    Tagged,
    Text,
    mappings,
    refuse_repeated_keys,
)
from assay.formats.declarative.yaml_reader import FieldPath, Plain, hint_here
from assay.part_options import ANSWER, SAMPLE
from assay.prompts.template import expression_reads, template_reads
from assay.schema_rules import Schema

_SNIPPET = "compute_scores_snippet"


def _benchmark_rule(result: Fields, where: FieldPath, report: Report) -> None:
    if result["evaluated_entity_type"] == "dataset":
        if result["solver"] is not None:
            report.wrong((*where, "solver"), "a task that evaluates a dataset has no `solver`")
    else:
        for name in ("dataset", "solver"):
            if result[name] is None:
                report.wrong(where, f"a task that evaluates models needs `{name}`")
    if isinstance(result["scorers"], list):  # and not a placeholder
        scorers = mappings(result["scorers"])
        _likelihood_rule(result["solver"], scorers, where, report)
        _scores_rule(mappings(result["actions"]), scorers, where, report)
        _trials_rule(result["trials"], scorers, where, report)
        if result["solver"] is None:
            _answer_rule(scorers, where, report)
    refuse_repeated_keys(result["scorers"], (*where, "scorers"), report)
    refuse_repeated_keys(result["actions"], (*where, "actions"), report)


def _dataset_key(result: Fields, where: FieldPath, report: Report) -> None:
    if result["source"] == "dataset" and isinstance(result["key"], str) and "/" not in result["key"]:
        REFERENCED_KEY.check(result["key"], (*where, "key"), report)


def _likelihood_rule(solver: Plain, scorers: list[Fields], where: FieldPath, report: Report) -> None:
    """Solver and scorer of likelihoods go together."""
    asks = solver["type"] if isinstance(solver, dict) else None
    for at, scorer in enumerate(scorers):
        for needed, kind in LIKELIHOOD_SOLVERS.items():
            if scorer["type"] == kind and asks != needed:
                report.wrong((*where, "scorers", at, "type"), f"a {kind} scorer needs the solver `{needed}`")
    for needed, kind in LIKELIHOOD_SOLVERS.items():
        if asks == needed and all(scorer["type"] != kind for scorer in scorers):
            report.wrong((*where, "scorers"), f"a {asks} needs a scorer of type `{kind}`")


def _trials_rule(trials: Plain, scorers: list[Fields], where: FieldPath, report: Report) -> None:
    """A number over trials is made of a value that a scorer gives, and is called otherwise."""
    given = [values_given(str(each["type"]), each) for each in scorers]
    known = {name for values in given for name in values or ()}
    numbers = mappings(trials.get("score_aggregators")) if isinstance(trials, dict) else []
    for at, number in enumerate(numbers):
        at_field = (*where, "trials", "score_aggregators", at)
        value, inner = number["score_name"], number["aggregator"]
        if all(values is not None for values in given) and value not in known:
            report.wrong(
                (*at_field, "score_name"), f"no scorer gives a value `{value}`. {hint_here(str(value), known)}"
            )
        name = inner.get("score_name") if isinstance(inner, dict) else None
        if name in known:
            report.wrong(
                (*at_field, "aggregator", "score_name"), f"`{name}` is a value that a scorer gives; call it otherwise"
            )


def _answer_rule(scorers: list[Fields], where: FieldPath, report: Report) -> None:
    """Without a solver there is no answer to compare, or to read."""
    for at, scorer in enumerate(scorers):
        inside = (*where, "scorers", at)
        kind = str(scorer["type"])
        shape = SCORER.choices.get(kind)
        looked_at = _looked_at(kind)
        info = described(kind, scorer)
        needs_answer = info is not None and info.needs_answer
        if needs_answer or (looked_at is not None and scorer.get(looked_at) is None):
            own = f"give `{looked_at}`, or the task a `solver`"
            needed = "it belongs in a task with a `solver`" if needs_answer else own
            report.wrong(inside, f"without a solver, the scorer `{kind}` has no answer to score; {needed}")
        snippet = None if info is None or info.sees_all else scorer.get(_SNIPPET)
        demanded = parameters(str(snippet), "compute_scores", demanded=True) if snippet is not None else []
        if len(demanded) == 2:  # more are too many for every task
            report.wrong_content(
                (*inside, _SNIPPET),
                f"`compute_scores({', '.join(demanded)})` is called with the sample alone: without a `solver` there is "
                "no answer. Give the task a `solver`, or the function one parameter",
            )
        for name, field in shape.fields.items() if shape is not None else ():
            source = scorer.get(name)
            if isinstance(field.shape, TemplateText) and isinstance(source, str):
                _refuse_answer_names(source, (*inside, name), report)


def _looked_at(kind: str) -> str | None:
    """The field that says which text a scorer looks at, where it may be another than the answer."""
    fields = SCORER.choices[kind].fields if kind in SCORER.choices else {}
    return next((name for name in ("text", "value") if name in fields), None)


def _about_answers() -> Schema:
    about = {kind: described(kind, {}) for kind in SCORER.choices}
    needing = [kind for kind, info in about.items() if info is not None and info.needs_answer]
    return about_answers(needing, {kind: at for kind in about if (at := _looked_at(kind)) is not None})


def _refuse_answer_names(source: str, where: FieldPath, report: Report) -> None:
    if report.awaits(where, source):
        return
    try:
        read = template_reads(source)
    except UsageError:  # reported where it was compiled
        return
    for name in dict.fromkeys(path[0] for path in read.paths):
        if name in ANSWER and name not in (*SAMPLE, *read.guarded):
            report.wrong(where, f"the template reads `{name}`, and a task without a `solver` has no answer")


def _scores_rule(actions: list[Fields], scorers: list[Fields], where: FieldPath, report: Report) -> None:
    """A rule reads scores of existing scorers, and values that they give."""
    given = [(str(scorer["key"]) if scorer["key"] else None, str(scorer["type"])) for scorer in scorers]
    by_key = dict(zip(scorer_keys(given), scorers, strict=True))
    for at, action in enumerate(actions):
        rule = action["filter"]
        source = str(rule["expression"]) if isinstance(rule, dict) else ""
        at_field = (*where, "actions", at, "filter", "expression")
        if not source or report.awaits(at_field, source):
            continue
        try:
            read = expression_reads(source)
        except UsageError:  # reported where it was compiled
            continue
        for path in read.paths:
            if path[0] == "scores" and len(path) > 1 and "scores" not in read.guarded:
                _check_score(path, by_key, at_field, report)
        if isinstance(rule, dict) and len(read.paths) == 1 and _LONE_LABEL.fullmatch(source):
            [(_, key, *_)] = read.paths
            _check_compared(rule, by_key.get(key, {}), at_field[:-1], report)


_LONE_LABEL = re.compile(r"\s*(?:\{\{)?\s*scores\.[\w-]+\.label\s*(?:\}\})?\s*")


def _check_compared(rule: Fields, scorer: Fields, where: FieldPath, report: Report) -> None:
    """A label is compared with existing labels: with any other, the rule would never apply, or always."""
    labels = labels_given(str(scorer.get("type")), scorer)
    if not labels:
        return
    if rule["op"] in ("equals", "not_equals"):
        check_label(rule.get("value"), labels, (*where, "value"), report)
    listed = rule.get("values")
    for at, each in enumerate(listed if isinstance(listed, list) else ()):
        check_label(each, labels, (*where, "values", at), report)


def _check_score(path: tuple[str, ...], by_key: Mapping[str, Fields], where: FieldPath, report: Report) -> None:
    key = path[1]
    if key not in by_key:
        report.wrong(where, f"there is no scorer `{key}`. {hint_here(key, by_key) if by_key else ''}".strip())
        return
    known = values_given(str(by_key[key]["type"]), by_key[key])
    if known is not None and len(path) > 2 and path[2] not in known:
        report.wrong(where, f"the scorer `{key}` gives no value `{path[2]}`. {hint_here(path[2], known)}")


def _task_rule(result: Fields, where: FieldPath, report: Report) -> None:
    refuse_repeated_keys(result["config_spec"], (*where, "config_spec"), report)


BENCHMARK = object_of(
    BenchmarkTask,
    "",
    ENTITY,
    *of_likelihoods(LIKELIHOOD_SOLVERS),
    _about_answers,
    word={"type": Field(Text(words=("benchmark_task",)), "benchmark_task", "`benchmark_task`, or another definition.")},
    rule=_benchmark_rule,
    shapes={
        "dataset": object_of(TaskDataset, rule=_dataset_key),
        "solver": SOLVER,
        "scorers": ListOf(SCORER),
        "actions": ListOf(ACTION),
    },
)
DEFINITION = Tagged(
    "task definition",
    {"benchmark_task": BENCHMARK, "system_task": object_of(SystemTask, word=word("system_task"))},
    default="benchmark_task",
    aliases={"declarative_task": "benchmark_task"},
)
TASK = object_of(
    TaskEntry,
    "",
    *ENTITY_OF_TASK,
    common={
        EXTENDS: Field(
            Text(min_length=1), None, "A task file whose fields this one has too, where it does not say otherwise."
        ),
        ABSTRACT: Field(Boolean(), False, "`true` for a file that is only there to be extended, and is not run."),
    },
    rule=_task_rule,
    shapes={"config_spec": ListOf(CONFIG_PARAMETER), "definition": DEFINITION},
)
