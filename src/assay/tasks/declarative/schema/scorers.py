"""Scorers: who scores an answer or a sample, by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.metrics.choice_likelihood import NORMALIZATIONS
from assay.scorers.function_calls import ALL_SCORES as CALL_SCORES
from assay.scorers.rag_checker import ALL_SCORES as RAG_SCORES
from assay.tasks.declarative.schema.fields import (
    ANSWER,
    REFERENCED_KEY,
    USER_KEY,
    Kind,
    an,
    kind,
    mapping,
    snippet,
    template,
    text,
    word,
)
from assay.tasks.declarative.schema.metrics import FIELDS_READ, METRIC
from assay.tasks.declarative.schema.named_scorers import ASSERTION_TYPES, METRIC_TYPES, NAMED_SCORERS, VALUE
from assay.tasks.declarative.schema.together import exactly_one, reads_one_of
from assay.tasks.declarative.shape import (
    Boolean,
    Field,
    Fields,
    ListOf,
    MapOf,
    Number,
    ObjectOf,
    Report,
    Rule,
    Tagged,
    Text,
    mappings,
    refuse_repeated_keys,
    require_one,
)
from assay.tasks.declarative.yaml_reader import FieldPath, Plain, hint_here

JUDGE_SYSTEM_PROMPT = "You are a helpful assistant and will be used to judge the output of another model."
LABELER_SYSTEM_PROMPT = (
    "You are a helpful assistant and will be used to label the output of another model or a dataset sample."
)


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
    **dict.fromkeys(("metric", "extracted_match", *METRIC_TYPES), ("score",)),
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


def _scorer(name: str, kind: Kind) -> ObjectOf:
    reads = (reads_one_of(FIELDS_READ, _GIVES[name]),) if name in _GIVES else ()
    fields = {**_COMMON, "type": word(name), **kind.fields}
    rule = _metrics_rule(name, kind.rule)
    return ObjectOf(an(f"{name} scorer"), kind.doc, fields, rule, (*kind.together, *reads))


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


def _choice_fields(result: Fields, where: FieldPath, report: Report) -> None:
    """The old `…_field` names are read as templates over the sample."""
    for name in ("ground_truth_choice", "choices"):
        old = result.pop(f"{name}_field")
        if old is not None:
            report.warn((*where, f"{name}_field"), f"is deprecated; write `{name}: '{{{{ sample.{old} }}}}'`")
        if result[name] is None and old is not None:
            result[name] = f"{{{{ sample.{old} }}}}"
        elif result[name] is None:
            report.wrong(where, f"a string_equals_mcqa scorer needs the field `{name}`")
        elif old is not None:
            report.wrong((*where, f"{name}_field"), f"`{name}` is given too; keep only that")


def _score_range(result: Fields, where: FieldPath, report: Report) -> None:
    low, high = result["score_min"], result["score_max"]
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and not low < high:
        report.wrong((*where, "score_max"), f"must be above score_min ({low}), got {high}")


def _label_sets(result: Fields, where: FieldPath, report: Report) -> None:
    correct, incorrect = result["correct_labels"], result["incorrect_labels"]
    if not isinstance(correct, list) or not isinstance(incorrect, list):
        return
    both = sorted({str(x) for x in correct} & {str(x) for x in incorrect})
    if both:
        report.wrong((*where, "incorrect_labels"), f"`{both[0]}` is also a correct label")


def _one_evaluator(result: Fields, where: FieldPath, report: Report) -> None:
    require_one(result, ("command", "url", "model_key"), where, report, "an evaluator scorer")


_GROUND_TRUTH = template("Template of the expected text; may read `sample`.")
_MODEL_KEY = Field(REFERENCED_KEY, doc="The key of the model that judges.")
_STRUCTURED = Field(Boolean(), False, "Whether the judge is asked for JSON by schema.")
_PROMPT = template(
    "Template of the user message; may read `sample`, `model_output`, `messages`, `solver_output`.", ANSWER
)
_SCORERS = {
    "bleu": kind("Word overlap with the expected text.", ground_truth=_GROUND_TRUTH, value=VALUE),
    "string_equals": kind("Exact equality of two texts.", ground_truth=_GROUND_TRUTH, value=VALUE),
    "string_equals_mcqa": kind(
        "The first character of the answer against the right choice.",
        _choice_fields,
        exactly_one("ground_truth_choice", "ground_truth_choice_field"),
        exactly_one("choices", "choices_field"),
        ground_truth_choice=template("Template of the right choice.", default=None),
        choices=template("Template of the list of choices.", default=None),
        ground_truth_choice_field=text("Old name.", None),
        choices_field=text("Old name.", None),
    ),
    "choice_likelihood": kind(
        "Whether the choice that the model finds likeliest is the right one.",
        ground_truth_choice=template("Template of the right choice: its text, its letter, or its number from 0."),
        normalize=Field(Text(words=tuple(NORMALIZATIONS)), "raw", "What is compared between choices."),
    ),
    "text_likelihood": kind("What the text cost the model: nats, bytes, words, tokens."),
    "model_as_a_judge_classifier": kind(
        "A judge gives one of the labels.",
        _label_sets,
        model_key=_MODEL_KEY,
        system_prompt=template("The judge's instructions.", ANSWER, JUDGE_SYSTEM_PROMPT),
        user_prompt=_PROMPT,
        correct_labels=Field(ListOf(Text(), least=1), doc="Labels that mean the answer is right."),
        incorrect_labels=Field(ListOf(Text()), doc="Labels that mean it is wrong."),
        use_structured_outputs=_STRUCTURED,
    ),
    "model_as_a_judge_scorer": kind(
        "A judge gives a number, scaled to [0, 1].",
        _score_range,
        model_key=_MODEL_KEY,
        system_prompt=template("The judge's instructions.", ANSWER, JUDGE_SYSTEM_PROMPT),
        user_prompt=_PROMPT,
        score_min=Field(Number(), 0.0, "The worst mark, which becomes 0."),
        score_max=Field(Number(), 1.0, "The best mark, which becomes 1."),
        use_structured_outputs=_STRUCTURED,
    ),
    "labeler_via_model": kind(
        "A model labels the answer or the sample.",
        model_key=_MODEL_KEY,
        system_prompt=template("The labeler's instructions.", ANSWER, LABELER_SYSTEM_PROMPT),
        user_prompt=_PROMPT,
        valid_labels=Field(ListOf(Text()), [], "Empty allows any label."),
        use_structured_outputs=_STRUCTURED,
    ),
    "python": kind(
        "The author's `compute_scores`, one sample at a time.",
        compute_scores_snippet=snippet("compute_scores", "Returns a mapping of names to values."),
    ),
    "python_all_samples": kind(
        "The author's `compute_scores(samples)`, over the whole dataset at once.",
        compute_scores_snippet=snippet("compute_scores", "Returns a list of such mappings, one per sample."),
    ),
    "rag_checker": kind(
        "Claims of answer, target and retrieved chunks, checked against each other by a judge.",
        query_column=text("Column of the question.", "query"),
        target_column=text("Column of the expected answer.", "target"),
        scores_to_compute=Field(ListOf(Text(words=RAG_SCORES)), None, "All eleven when absent."),
        judge_model_key=_MODEL_KEY,
    ),
    "function_call_coverage": kind(
        "Which of the required function calls were made.",
        function_calls=template("Template of a JSON list of names or {name, arguments}."),
        mode=Field(Text(words=("any_order", "in_order")), "any_order", "Whether the order of the list counts."),
    ),
    "evaluator": kind(
        "A command, an HTTP service or a judge model that speaks evaluator protocol v2.",
        _one_evaluator,
        exactly_one("command", "url", "model_key"),
        command=Field(ListOf(Text(), least=1), None, "The program and its arguments; needs `--trust`."),
        url=text("The address that candidates are posted to.", None),
        model_key=Field(REFERENCED_KEY, None, "The key of the model that judges."),
        objective=text("What a good answer is, for a judge.", None),
        quality_dimensions=Field(MapOf(Number(), least=1), None, "Names and weights, for a judge."),
        hard_constraints=Field(ListOf(Text()), None, "What must hold, for a judge."),
        cwd=text("Working directory of the program.", None),
        headers=Field(MapOf(Text()), None, "Sent with every request to the service."),
        pass_env=Field(
            ListOf(Text()),
            None,
            "Credentials of the environment to pass to the program, by the names of their variables.",
        ),
        timeout_seconds=Field(Number(), None, "Time limit for one evaluation."),
        score_range=Field(Text(words=("unit", "any")), "unit", "`unit` is [0, 1], `any` every finite number."),
        task_model=text("The name of the model the candidate is meant for.", None),
    ),
    **NAMED_SCORERS,
}
SCORER = Tagged(
    "scorer",
    {name: _scorer(name, each) for name, each in _SCORERS.items()},
    kind="scorer",
    own=mapping("a scorer", "A scorer of an installed package or your own.", **_COMMON, type=Field(Text())),
)
