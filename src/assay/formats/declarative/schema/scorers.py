"""Scorers: who scores an answer or a sample, by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalog import CATALOG, resolve
from assay.formats.declarative.from_signature import kind_of_part, one_of
from assay.formats.declarative.schema.assertions import ASSERTION_TYPES, ASSERTIONS
from assay.formats.declarative.schema.fields import (
    USER_KEY,
    Kind,
    an,
    mapping,
    text,
    word,
)
from assay.formats.declarative.schema.metrics import FIELDS_READ, METRIC
from assay.formats.declarative.schema.together import reads_one_of
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
)
from assay.formats.declarative.yaml_reader import FieldPath, Plain, hint_here
from assay.metrics.choice_likelihood import NORMALIZATIONS
from assay.scorers.function_calls import ALL_SCORES as CALL_SCORES
from assay.scorers.judging.rag_checker import ALL_SCORES as RAG_SCORES
from assay.scorers.over_row import ONE_TARGET

_MARK = ("is_correct",)
_GIVES: Mapping[str, Sequence[str]] = {
    "bleu": ("bleu_score",),
    "string_equals": _MARK,
    "string_equals_mcqa": _MARK,
    "choice_likelihood": ("score", *NORMALIZATIONS),
    "text_likelihood": ("nats", "bytes", "words", "bits_per_byte", "tokens"),
    "model_as_a_judge_classifier": _MARK,
    "model_as_a_judge_scorer": ("score",),
    "labeler_via_model": ("label",),
    "rag_checker": RAG_SCORES,
    "function_call_coverage": CALL_SCORES,
    **dict.fromkeys(("metric", "extracted_match", *CATALOG["metric"]), ("score",)),
    **dict.fromkeys(("assertions", *ASSERTION_TYPES), ("score", "passed")),
    "code_exec": ("score", "outcome"),
    "instructions": ("score", "prompt_loose", "followed", "missed", "followed_loosely", "missed_loosely"),
}


def values_given(kind: str, options: Mapping[str, Plain]) -> Sequence[str] | None:
    """The values that a scorer's scores hold; None where that is not known before it has scored something."""
    if kind not in _GIVES:
        return None
    computed = options.get("scores_to_compute")
    return [str(name) for name in computed] if computed and isinstance(computed, list) else _GIVES[kind]


def _scorer(name: str) -> ObjectOf:
    kind = _kind(name)
    reads = (reads_one_of(FIELDS_READ, _GIVES[name]),) if name in _GIVES else ()
    fields = {**_COMMON, "type": word(name), **kind.fields}
    rule = _metrics_rule(name, kind.rule)
    return ObjectOf(an(f"{name} scorer"), kind.doc, fields, rule, (*kind.together, *reads), kind.example)


_COMMON = {
    "key": Field(USER_KEY, None, "The scorer's name inside the task."),
    "purpose": Field(Text(words=("score", "qa")), "score", "`qa` feeds actions and evidence, not the metrics."),
    "metrics": Field(ListOf(METRIC), None, "What is computed over all samples."),
    "display_name": text("Display name.", None),
}


def _metrics_rule(kind: str, rule: Rule | None) -> Rule:
    """The scorer's own rule, and that its metrics have unique keys and read values that it gives."""

    def check(result: Fields, where: FieldPath, report: Report) -> None:
        if rule is not None:
            rule(result, where, report)
        refuse_repeated_keys(result["metrics"], (*where, "metrics"), report)
        known = values_given(kind, result)
        for at, metric in enumerate(mappings(result["metrics"])):
            for name in FIELDS_READ:
                field = metric.get(name)
                if isinstance(field, str) and known is not None and field not in known:
                    at_field = (*where, "metrics", at, name)
                    if not report.awaits(at_field, field):
                        report.wrong(at_field, f"this scorer gives no value `{field}`. {hint_here(field, known)}")
            if labels := labels_given(kind, result):
                _check_labels(metric, labels, (*where, "metrics", at), report)

    return check


def labels_given(kind: str, options: Mapping[str, Plain]) -> list[str]:
    """The labels that the value `label` of a scorer may have; none where any text may be one."""
    labels = options.get("valid_labels") if kind == "labeler_via_model" else None
    known = [str(label) for label in labels] if isinstance(labels, list) else []
    return [] if any("<<" in label for label in known) else known


def _check_labels(metric: Fields, labels: list[str], where: FieldPath, report: Report) -> None:
    """A share of a label that is never given is always 0; a label without a weight leaves no mean."""
    label, weights = metric.get("label"), metric.get("weights")
    if label is not None:
        check_label(label, labels, (*where, "label"), report)
    if isinstance(weights, dict):
        for name in weights:
            check_label(name, labels, (*where, "weights", name), report)
        if missing := [f"`{each}`" for each in labels if each not in weights]:
            report.wrong((*where, "weights"), f"no weight for the valid label {', '.join(missing)}")


def check_label(label: Plain, labels: list[str], where: FieldPath, report: Report) -> None:
    if str(label) not in labels and not (isinstance(label, str) and report.awaits(where, label)):
        report.wrong(where, f"`{label}` is not among `valid_labels`. {hint_here(str(label), labels)}")


def _kind(name: str) -> Kind:
    """What can be written of a scorer: the options of its factory."""
    if name in ASSERTIONS:
        return ASSERTIONS[name]
    called = an(f"{name} scorer")
    if name in CATALOG["scorer"]:
        return kind_of_part(resolve("scorer", name), called)
    any_metric = kind_of_part(resolve("scorer", "metric"), called)
    own = {field: entry for field, entry in any_metric.fields.items() if field not in ("metric", "options")}
    doc = f"The metric `{name}` of the answer and the expected text."
    return any_metric._replace(doc=doc, rule=one_of(ONE_TARGET, called), fields=own, example=_TARGET)


_TARGET = 'ground_truth: "{{ sample.answer }}"'
ASSERTED_ELSEWHERE = ("contains", "starts_with")
"""Metrics whose names are those of assertions, which count the case of letters; `type: metric` has them too."""
METRIC_TYPES = tuple(name for name in CATALOG["metric"] if name not in ASSERTED_ELSEWHERE)
_OF_OTHER_FORMATS = (
    *("system_evidence", "choice_probability", "lettered_choice", "drop", "model_graded", "sample_assertions"),
    *("recorded", "lm_eval", "inspect"),
)
"""Scorers that no YAML file names."""
_TYPES = (*(name for name in CATALOG["scorer"] if name not in _OF_OTHER_FORMATS), *METRIC_TYPES, *ASSERTIONS)
SCORER = Tagged(
    "scorer",
    PartTypes(_TYPES, _scorer),
    kind="scorer",
    own=mapping("a scorer", "A scorer of an installed package or your own.", **_COMMON, type=Field(Text())),
)
