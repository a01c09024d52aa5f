"""Scorers: who scores an answer or a sample, by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import msgspec

from assay.catalog import CATALOG, JUDGES, resolve
from assay.core.describe import ScorerInfo, about, mean_of, share
from assay.formats.declarative.from_annotations import an, object_of, word
from assay.formats.declarative.part_keys import short_name
from assay.formats.declarative.records import ScorerEntry, without_nulls
from assay.formats.declarative.schema.assertions import ASSERTION, asserting
from assay.formats.declarative.schema.metrics import METRIC, fields_read, needs_number
from assay.formats.declarative.shape import (
    Field,
    Fields,
    ListOf,
    ObjectOf,
    PartTypes,
    Report,
    Rule,
    Tagged,
    Text,
    mappings,
    refuse_repeated_keys,
    require_one,
)
from assay.formats.declarative.yaml_reader import FieldPath, Plain, hint_here
from assay.part_options import PartInfo, info_of
from assay.schema_rules import Schema, exactly_one
from assay.scorers.assertions.assertion_kinds import ASSERTION_TYPES
from assay.scorers.judging.panel import LABELS, PanelOptions, verdict_of
from assay.scorers.judging.panel import described as with_panel_described
from assay.scorers.judging.panel import problems as panel_problems
from assay.scorers.over_row import ONE_TARGET

_SCORE = ScorerInfo(values=(share("score"),))


def described(kind: str, options: Mapping[str, Plain]) -> ScorerInfo | None:
    """What a type of scorers says of itself; None for the author's own, which is not imported to read a file."""
    if kind in ASSERTION_TYPES:
        said = _described("assertions", {}) or _SCORE
        return with_panel_described(msgspec.structs.replace(said, aggregates=(mean_of("score", name=kind),)), options)
    if kind in CATALOG["metric"] and kind not in CATALOG["scorer"]:
        return _described("metric", {**options, "metric": kind})
    if kind == "metric" and (metric := str(options.get("metric"))) not in CATALOG["metric"]:
        said = msgspec.structs.replace(_SCORE, aggregates=(mean_of("score", name=short_name(metric)),))
        return with_panel_described(said, options)
    return _described(kind, options) if kind in CATALOG["scorer"] else None


def _described(use: str, options: Mapping[str, Plain]) -> ScorerInfo | None:
    said = about(resolve("scorer", use), options)
    return with_panel_described(said, options) if isinstance(said, ScorerInfo) else None


def values_given(kind: str, options: Mapping[str, Plain]) -> Sequence[str] | None:
    """The values that a scorer's scores hold; None where that is not known before it has scored something."""
    info = described(kind, options)
    return None if info is None or info.more_values or not info.values else [value.name for value in info.values]


def _scorer(name: str) -> ObjectOf | None:
    """What can be written of a scorer: the options of its factory. None for one that says nothing of files."""
    called, reads = an(f"{name} scorer"), []
    if given := values_given(name, {}):
        reads = [partial(_reads_given, given)]
    if name in ASSERTION_TYPES:
        made = asserting(name, called, **_COMMON)
        text = object_of(resolve("scorer", "assertions")).fields["text"]
        made = replace(made, fields={**made.fields, "text": text})
    elif name in CATALOG["scorer"]:
        if info_of(resolve("scorer", name)) is None:
            return None
        shapes = {"assertions": ListOf(ASSERTION, least=1)} if name == "assertions" else {}
        made = object_of(resolve("scorer", name), called, word=word(name), common=_COMMON, shapes=shapes)
    else:
        made = _of_metric(name, called)
    made = _with_people(name, made)
    return replace(made, rule=_metrics_rule(name, made.rule), together=(*made.together, *reads))


def _of_metric(name: str, called: str) -> ObjectOf:
    """The scorer `metric` with this metric, which needs no options of its own."""
    any_metric = resolve("scorer", "metric")
    info = PartInfo(f"The metric `{name}` of the answer and the expected text.", _TARGET, one_of=ONE_TARGET)
    made = object_of(any_metric, called, info=info, word=word(name), common=_COMMON)
    return replace(made, fields={field: made.fields[field] for field in made.fields if field not in _METRICS_OWN})


def _reads_given(given: Sequence[str]) -> Schema:
    """The metrics of a scorer read values that it gives."""
    fields = dict.fromkeys(field for metric in METRIC.choices for field in fields_read(metric))
    one: Schema = {"anyOf": [{"enum": list(given)}, {"not": {"type": "string"}}, {"pattern": "<<|[@^]"}]}
    return {"properties": {"metrics": {"items": {"patternProperties": {f"^({'|'.join(fields)})$": one}}}}}


def _with_people(name: str, made: ObjectOf) -> ObjectOf:
    """A scorer may compare what it says with labels of people, and one with a judge may have several."""
    info = described(name, {})
    if info is None or verdict_of(info) is None:
        return made
    if info.verdict is not None and "model_key" in made.fields:
        return _with_panel(name, made)
    return replace(made, fields={**made.fields, LABELS: _PANEL[LABELS]})


def _with_panel(name: str, made: ObjectOf) -> ObjectOf:
    """A scorer with a judge may have several, and labels of people."""
    one = made.fields["model_key"]
    fields = {**made.fields, "model_key": Field(one.shape, None, one.doc, one.placeholder), **_PANEL}
    either = ("model_key", JUDGES)

    def check(result: Fields, where: FieldPath, report: Report) -> None:
        if made.rule is not None:
            made.rule(result, where, report)
        require_one(result, either, where, report, made.name)
        if result["rule"] is not None and result[JUDGES] is None and result["model_key"] is not None:
            report.wrong((*where, "rule"), "one judge needs no rule: leave it out, or name several `judges`")
        for sentence in panel_problems(_described(name, result), without_nulls(result)):
            report.wrong(where, sentence)

    return replace(made, fields=fields, rule=check, together=(*made.together, exactly_one(*either)))


_PANEL = object_of(PanelOptions).fields
_METRICS_OWN = ("metric", "options")
_COMMON = object_of(ScorerEntry, shapes={"metrics": ListOf(METRIC)}).fields


def _metrics_rule(kind: str, rule: Rule | None) -> Rule:
    """The scorer's own rule, and that its metrics have unique keys and read values that it gives."""

    def check(result: Fields, where: FieldPath, report: Report) -> None:
        if rule is not None:
            rule(result, where, report)
        if result["metrics"] == [] and result["purpose"] == "score":
            message = "computes no number; leave it out, name some, or say `purpose: qa` where none is wanted"
            report.wrong((*where, "metrics"), message)
        refuse_repeated_keys(result["metrics"], (*where, "metrics"), report)
        known, info = values_given(kind, result), described(kind, result)
        texts = [value.name for value in info.values if value.kind == "label"] if info is not None else []
        for at, metric in enumerate(mappings(result["metrics"])):
            _one_kind_of_row(metric, (*where, "metrics", at), report)
            for name in fields_read(str(metric["type"])):
                field = metric.get(name)
                if field in report.values_over_trials:
                    continue
                if isinstance(field, str) and known is not None and field not in known:
                    at_field = (*where, "metrics", at, name)
                    if not report.awaits(at_field, field):
                        report.wrong(at_field, f"this scorer gives no value `{field}`. {hint_here(field, known)}")
                elif field in texts and needs_number(str(metric["type"]), name):
                    why = f"`{field}` is a text, which has no {metric['type']}; a `frequency` is the share of one label"
                    report.wrong((*where, "metrics", at, name), why)
            if labels := labels_given(kind, result):
                _check_labels(metric, labels, (*where, "metrics", at), report)

    return check


def _one_kind_of_row(metric: Fields, where: FieldPath, report: Report) -> None:
    """A metric is over samples or over attempts."""
    read = {name: metric.get(name) for name in fields_read(str(metric["type"]))}
    over_trials = [each in report.values_over_trials for each in read.values()]
    if any(over_trials) and not all(over_trials):
        name = next(name for name, each in read.items() if each not in report.values_over_trials)
        report.wrong((*where, name), f"`{read[name]}` is of each attempt, and the metric's other field of each sample")


def labels_given(kind: str, options: Mapping[str, Plain]) -> list[str]:
    """The labels that the value `label` of a scorer may have; none where any text may be one."""
    info = described(kind, options)
    known = [label for value in info.values if value.name == "label" for label in value.labels] if info else []
    return [] if any("<<" in label for label in known) else known


def _check_labels(metric: Fields, labels: list[str], where: FieldPath, report: Report) -> None:
    """A share of a label that is never given is always 0; a label without a weight leaves no mean."""
    label, weights = metric.get("label"), metric.get("weights")
    if label is not None:
        check_label(label, labels, (*where, "label"), report)
    if metric.get("field_pred") == "label":
        for name in ("positive_answer", "negative_answer"):
            if metric.get(name) is not None:
                check_label(metric[name], labels, (*where, name), report)
    if isinstance(weights, dict):
        for name in weights:
            check_label(name, labels, (*where, "weights", name), report)
        if missing := [f"`{each}`" for each in labels if each not in weights]:
            report.wrong((*where, "weights"), f"no weight for the valid label {', '.join(missing)}")


def check_label(label: Plain, labels: list[str], where: FieldPath, report: Report) -> None:
    if str(label) not in labels and not (isinstance(label, str) and report.awaits(where, label)):
        report.wrong(where, f"`{label}` is not among `valid_labels`. {hint_here(str(label), labels)}")


_TARGET = 'ground_truth: "{{ sample.answer }}"'
ASSERTED_ELSEWHERE = ("contains", "starts_with")
"""Metrics whose names are those of assertions, which count the case of letters; `type: metric` has them too."""
METRIC_TYPES = tuple(name for name in CATALOG["metric"] if name not in ASSERTED_ELSEWHERE)
_TYPES = (*CATALOG["scorer"], *METRIC_TYPES, *ASSERTION_TYPES)
SCORER = Tagged(
    "scorer",
    PartTypes(_TYPES, _scorer),
    kind="scorer",
    own=ObjectOf("a scorer", "A scorer of an installed package or your own.", {**_COMMON, "type": Field(Text())}),
)
