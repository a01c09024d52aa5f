"""Scorers: who scores an answer or a sample, by what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.metrics.choice_likelihood import NORMALIZATIONS
from assay.scorers.function_calls import ALL_SCORES as CALL_SCORES
from assay.scorers.rag_checker import ALL_SCORES as RAG_SCORES
from assay.tasks.declarative.schema.fields import REFERENCED_KEY, USER_KEY, text, word
from assay.tasks.declarative.schema.metrics import FIELDS_READ, METRIC
from assay.tasks.declarative.shape import Field, ListOf, MapOf, Number, Report, Rule, Shaped, Tagged, Text, Truth
from assay.tasks.declarative.yaml_reader import FieldPath, nearest

JUDGE_SYSTEM_PROMPT = "You are a helpful assistant and will be used to judge the output of another model."
LABELER_SYSTEM_PROMPT = (
    "You are a helpful assistant and will be used to label the output of another model or a dataset sample."
)


def _scorer(
    kind: str, doc: str, rule: Rule | None = None, *, gives: Sequence[str] | None = None, **own: Field
) -> Shaped:
    """`gives` are the values that its scores hold, where they are known before it has scored anything."""
    common = {
        "key": Field(USER_KEY, None, "The scorer's name inside the task."),
        "purpose": Field(Text(words=("score", "qa")), "score", "`qa` feeds actions and evidence, not the metrics."),
        "metrics": Field(ListOf(METRIC), None, "What is computed over all samples."),
        "display_name": text("The name people see.", None),
        "type": word(kind),
    }
    return Shaped(f"a {kind} scorer", doc, {**common, **own}, rule if gives is None else _known_fields(rule, gives))


def _known_fields(rule: Rule | None, gives: Sequence[str]) -> Rule:
    """The scorer's own rule, and that its metrics read values which it gives."""

    def check(result: dict[str, Any], where: FieldPath, report: Report) -> None:
        if rule is not None:
            rule(result, where, report)
        known = result.get("scores_to_compute") or gives
        for at, metric in enumerate(result["metrics"] or ()):
            for name in FIELDS_READ:
                field = metric.get(name)
                if isinstance(field, str) and field not in known and not (report.placeholders and "<<" in field):
                    told = f"this scorer gives no value `{field}`. {nearest(field, known)}"
                    report.wrong((*where, "metrics", at, name), told)

    return check


def _choice_fields(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    """The old `…_field` names are read as templates over the sample."""
    for name in ("ground_truth_choice", "choices"):
        old = result.pop(f"{name}_field")
        if old is not None:
            report.warn((*where, f"{name}_field"), f"`{name}_field` is old; write `{name}: '{{{{ sample.{old} }}}}'`")
        if result[name] is None and old is not None:
            result[name] = f"{{{{ sample.{old} }}}}"
        elif result[name] is None:
            report.wrong(where, f"a string_equals_mcqa scorer needs the field `{name}`")
        elif old is not None:
            report.wrong((*where, f"{name}_field"), f"given beside `{name}`; keep `{name}`")


def _score_range(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    low, high = result["score_min"], result["score_max"]
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and not low < high:
        report.wrong((*where, "score_max"), f"must be above score_min ({low}), got {high}")


def _label_sets(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    correct, incorrect = result["correct_labels"], result["incorrect_labels"]
    if not isinstance(correct, list) or not isinstance(incorrect, list):
        return
    both = sorted({str(x) for x in correct} & {str(x) for x in incorrect})
    if both:
        report.wrong((*where, "incorrect_labels"), f"`{both[0]}` is also a correct label")


def _one_evaluator(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    given = [name for name in ("command", "url", "model_key") if result[name] is not None]
    if len(given) != 1:
        found = f"got {' and '.join(given)}" if given else "got none of them"
        report.wrong(where, f"an evaluator scorer needs one of `command`, `url` and `model_key`; {found}")


_MARK = ("is_correct",)
_GROUND_TRUTH = text("Template of the expected text; may read `sample`.")
_VALUE = text("Template of the text compared; the last answer of the model when absent.", None)
_MODEL_KEY = Field(REFERENCED_KEY, doc="The key of the model that judges.")
_STRUCTURED = Field(Truth(), False, "Whether the judge is asked for JSON by schema.")
_PROMPT = text("Template of the user message; may read `sample`, `model_output`, `messages`, `solver_output`.")
SCORER = Tagged(
    "scorer",
    {
        "bleu": _scorer(
            "bleu",
            "Word overlap with the expected text.",
            gives=("bleu_score",),
            ground_truth=_GROUND_TRUTH,
            value=_VALUE,
        ),
        "string_equals": _scorer(
            "string_equals", "Exact equality of two texts.", gives=_MARK, ground_truth=_GROUND_TRUTH, value=_VALUE
        ),
        "string_equals_mcqa": _scorer(
            "string_equals_mcqa",
            "The first character of the answer against the right choice.",
            _choice_fields,
            gives=_MARK,
            ground_truth_choice=text("Template of the right choice.", None),
            choices=text("Template of the list of choices.", None),
            ground_truth_choice_field=text("Old name.", None),
            choices_field=text("Old name.", None),
        ),
        "choice_likelihood": _scorer(
            "choice_likelihood",
            "Whether the choice that the model finds likeliest is the right one.",
            gives=("score", *NORMALIZATIONS),
            ground_truth_choice=text("Template of the right choice: its text, its letter, or its number from 0."),
            normalize=Field(Text(words=tuple(NORMALIZATIONS)), "raw", "What is compared between choices."),
        ),
        "text_likelihood": _scorer(
            "text_likelihood",
            "What the text cost the model: nats, bytes, words, tokens.",
            gives=("nats", "bytes", "words", "bits_per_byte", "tokens"),
        ),
        "model_as_a_judge_classifier": _scorer(
            "model_as_a_judge_classifier",
            "A judge says one of the labels.",
            _label_sets,
            gives=_MARK,
            model_key=_MODEL_KEY,
            system_prompt=text("The judge's instructions.", JUDGE_SYSTEM_PROMPT),
            user_prompt=_PROMPT,
            correct_labels=Field(ListOf(Text(), least=1)),
            incorrect_labels=Field(ListOf(Text())),
            use_structured_outputs=_STRUCTURED,
        ),
        "model_as_a_judge_scorer": _scorer(
            "model_as_a_judge_scorer",
            "A judge gives a number, brought to [0, 1].",
            _score_range,
            gives=("score",),
            model_key=_MODEL_KEY,
            system_prompt=text("The judge's instructions.", JUDGE_SYSTEM_PROMPT),
            user_prompt=_PROMPT,
            score_min=Field(Number(), 0.0),
            score_max=Field(Number(), 1.0),
            use_structured_outputs=_STRUCTURED,
        ),
        "labeler_via_model": _scorer(
            "labeler_via_model",
            "A model labels the answer or the sample.",
            gives=("label",),
            model_key=_MODEL_KEY,
            system_prompt=text("The labeler's instructions.", LABELER_SYSTEM_PROMPT),
            user_prompt=_PROMPT,
            valid_labels=Field(ListOf(Text()), [], "Empty allows any label."),
            use_structured_outputs=_STRUCTURED,
        ),
        "python": _scorer(
            "python", "The author's `compute_scores`, one sample at a time.", compute_scores_snippet=text(min_length=1)
        ),
        "python_all_samples": _scorer(
            "python_all_samples",
            "The author's `compute_scores` over all samples at once.",
            compute_scores_snippet=text(min_length=1),
        ),
        "rag_checker": _scorer(
            "rag_checker",
            "Claims of answer, target and retrieved chunks, checked against each other by a judge.",
            gives=RAG_SCORES,
            query_column=text("Column of the question.", "query"),
            target_column=text("Column of the expected answer.", "target"),
            scores_to_compute=Field(ListOf(Text(words=RAG_SCORES)), None, "All eleven when absent."),
            judge_model_key=_MODEL_KEY,
        ),
        "function_call_coverage": _scorer(
            "function_call_coverage",
            "Which of the required function calls were made.",
            gives=CALL_SCORES,
            function_calls=text("Template of a JSON list of names or {name, arguments}."),
            mode=Field(Text(words=("any_order", "in_order")), "any_order"),
        ),
        "evaluator": _scorer(
            "evaluator",
            "A command, an HTTP service or a judge model that speaks evaluator protocol v2.",
            _one_evaluator,
            command=Field(ListOf(Text(), least=1), None, "The program and its arguments; needs `--trust`."),
            url=text("The address that candidates are posted to.", None),
            model_key=Field(REFERENCED_KEY, None, "The key of the model that judges."),
            objective=text("What a good answer is, for a judge.", None),
            quality_dimensions=Field(MapOf(Number(), least=1), None, "Names and weights, for a judge."),
            hard_constraints=Field(ListOf(Text()), None, "What must hold, for a judge."),
            cwd=text("Working directory of the program.", None),
            headers=Field(MapOf(Text()), None, "Sent with every request to the service."),
            pass_env=Field(ListOf(Text()), None, "Variables to pass to the program besides the usual ones."),
            timeout_seconds=Field(Number(), None, "Patience for one evaluation."),
            score_range=Field(Text(words=("unit", "any")), "unit", "`unit` is [0, 1], `any` every finite number."),
            task_model=text("The name of the model the candidate is meant for.", None),
        ),
    },
)
