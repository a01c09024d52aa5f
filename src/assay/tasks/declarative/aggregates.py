"""`metrics:` of a scorer -> aggregates of the task, with the defaults where none are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.types import PartSpec
from assay.scorers.function_calls import ALL_SCORES as CALL_SCORES
from assay.scorers.rag_checker import ALL_SCORES as RAG_SCORES
from assay.stats.score_table import as_text
from assay.tasks.declarative.yaml_reader import Document, FieldPath

_ACCURACY = [{"type": "mean", "field": "is_correct", "name": "accuracy"}]


def default_metrics(scorer: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: PLR0911 - one line per kind
    """What a scorer without `metrics` comes to. Python scorers say what they mean themselves: nothing."""
    if scorer["purpose"] == "qa":
        return []
    kind = scorer["type"]
    if kind in ("string_equals", "string_equals_mcqa", "model_as_a_judge_classifier"):
        return _ACCURACY
    if kind in ("model_as_a_judge_scorer", "evaluator"):
        return [{"type": "mean", "field": "score"}]
    if kind == "choice_likelihood":
        return _choice_means(scorer["normalize"])
    if kind == "text_likelihood":
        return [{"type": "bits_per_byte"}, {"type": "perplexity", "unit": "word"}]
    if kind == "bleu":
        return [{"type": "mean", "field": "bleu_score"}]
    if kind == "labeler_via_model":
        return [{"type": "frequency", "field": "label"}]
    if kind == "rag_checker":
        return _means(scorer["scores_to_compute"] or RAG_SCORES)
    return _means(CALL_SCORES) if kind == "function_call_coverage" else []


def aggregates_of(
    scorers: Sequence[tuple[str, dict[str, Any]]], document: Document, where: FieldPath
) -> tuple[PartSpec, ...]:
    """Every aggregate of every scorer: the first is the task's score.

    Those that only assure quality come last, and before them those that list the share of every value.
    """
    parts: list[tuple[tuple[bool, bool], PartSpec]] = []
    for at, (key, scorer) in enumerate(scorers):
        metrics = scorer["metrics"] if scorer["metrics"] is not None else default_metrics(scorer)
        names = metric_keys(metrics, document, (*where, at, "metrics"))
        for name, metric in zip(names, metrics, strict=True):
            options = {field: value for field, value in metric.items() if field not in ("type", "key")}
            options = {field: value for field, value in options.items() if value is not None}
            part = PartSpec(key=f"{key}.{name}", use=metric["type"], options={"scorer": key, **options})
            parts.append(((scorer["purpose"] == "qa", part.use == "frequency" and "label" not in options), part))
    return tuple(part for _, part in sorted(parts, key=lambda each: each[0]))


def metric_keys(metrics: Sequence[dict[str, Any]], document: Document, where: FieldPath) -> list[str]:
    """Given keys, unique; the others are called by their type, numbered on repeats."""
    taken = {str(metric["key"]) for metric in metrics if metric.get("key")}
    seen: set[str] = set()
    found: list[str] = []
    for at, metric in enumerate(metrics):
        given = metric.get("key")
        if given is not None and given in seen:
            raise document.error((*where, at, "key"), f"`{given}` is given twice")
        name = given or free_name(str(metric["type"]), taken | seen)
        seen.add(name)
        found.append(name)
    return found


def free_name(wanted: str, taken: set[str]) -> str:
    """The name itself, or with `_2`, `_3`, … when it is taken."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}_{number}" in taken:
        number += 1
    return f"{wanted}_{number}"


def headline(aggregates: Sequence[PartSpec]) -> str:
    """What the leaderboard calls the task's measure."""
    if not aggregates:
        return "none"
    first = aggregates[0]
    if first.use in ("mean", "max", "min", "std_dev", "weighted_average"):
        return str(first.options.get("name") or f"{first.options['field']}_{first.use}")
    if first.use == "frequency" and "label" in first.options:
        return str(first.options.get("name") or f"{first.options['field']}_{as_text(first.options['label'])}")
    return str(first.options.get("name") or first.use)


def _choice_means(normalize: str) -> list[dict[str, Any]]:
    """The share of right choices, and what it would be under the other normalisations that can always be told."""
    others = [each for each in ("raw", "per_character", "per_byte") if each != normalize]
    return [
        {"type": "mean", "field": "score", "name": "accuracy"},
        *({"type": "mean", "key": each, "field": each, "name": each} for each in others),
    ]


def _means(fields: Sequence[str]) -> list[dict[str, Any]]:
    return [{"type": "mean", "key": field, "field": field} for field in fields]
