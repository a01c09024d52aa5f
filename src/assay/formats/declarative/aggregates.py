"""`metrics:` of a scorer -> aggregates of the task, with the defaults where none are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.catalog import CATALOG
from assay.core.types import PartSpec
from assay.formats.declarative.part_keys import scorer_keys, short_name
from assay.formats.declarative.records import MetricEntry, ScorerEntry, without_nulls
from assay.formats.declarative.schema.scorers import METRIC_TYPES
from assay.formats.declarative.yaml_reader import Plain
from assay.scorers.assertions.assertion_kinds import ASSERTION_TYPES
from assay.scorers.function_calls import ALL_SCORES as CALL_SCORES
from assay.scorers.judging.rag_checker import ALL_SCORES as RAG_SCORES
from assay.stats.score_table import as_text


def default_metrics(scorer: ScorerEntry) -> Sequence[MetricEntry]:
    """The default metrics of a scorer without `metrics`. Python scorers have none."""
    kind, options = scorer.type, scorer.options
    if scorer.purpose == "qa":
        return []
    if kind == "choice_likelihood":
        return _choice_means(options["normalize"])
    if kind == "metric":
        return [_mean("score", name=short_name(str(options["metric"])))]
    if kind == "rag_checker" and isinstance(computed := options["scores_to_compute"], list) and computed:
        return _means(map(str, computed))
    return _DEFAULTS.get(kind, [] if kind in CATALOG["scorer"] else [_mean("score")])


def aggregates_of(scorers: Sequence[tuple[str, ScorerEntry]]) -> tuple[PartSpec, ...]:
    """Every aggregate of every scorer: the first is the task's score.

    Those of `qa` scorers come last, and before them those that list the share of every value.
    """
    parts: list[tuple[tuple[bool, bool], PartSpec]] = []
    for key, scorer in scorers:
        metrics = scorer.metrics if scorer.metrics is not None else default_metrics(scorer)
        names = scorer_keys([(metric.key, metric.type) for metric in metrics])
        for name, metric in zip(names, metrics, strict=True):
            options = without_nulls(metric.options)
            part = PartSpec(key=f"{key}.{name}", use=metric.type, options={"scorer": key, **options})
            parts.append(((scorer.purpose == "qa", part.use == "frequency" and "label" not in options), part))
    return tuple(part for _, part in sorted(parts, key=lambda each: each[0]))


def headline(aggregates: Sequence[PartSpec]) -> str:
    """What the leaderboard calls the task's measure."""
    if not aggregates:
        return "none"
    first = aggregates[0]
    if first.use in ("mean", "max", "min", "std_dev", "weighted_average"):
        return str(first.options.get("name") or f"{first.options['field']}_{first.use}")
    if first.use == "frequency" and "label" in first.options:
        return str(first.options.get("name") or f"{first.options['field']}_{as_text(first.options['label'])}")
    return str(first.options.get("name") or short_name(first.use))


def _choice_means(normalize: Plain) -> list[MetricEntry]:
    """The share of right choices, and what it would be under the other normalisations that can always be computed."""
    others = [each for each in ("raw", "per_character", "per_byte") if each != normalize]
    return [_mean("score", name="accuracy"), *(_mean(each, key=each, name=each) for each in others)]


def _means(fields: Iterable[str]) -> list[MetricEntry]:
    return [_mean(field, key=field) for field in fields]


def _mean(field: str, *, key: str | None = None, name: str | None = None) -> MetricEntry:
    return MetricEntry(type="mean", key=key, options={"field": field, "name": name})


_DEFAULTS: dict[str, Sequence[MetricEntry]] = {
    **dict.fromkeys(
        ("string_equals", "string_equals_mcqa", "model_as_a_judge_classifier"), (_mean("is_correct", name="accuracy"),)
    ),
    **dict.fromkeys(("model_as_a_judge_scorer", "evaluator"), (_mean("score"),)),
    "text_likelihood": [MetricEntry(type="bits_per_byte"), MetricEntry(type="perplexity", options={"unit": "word"})],
    "bleu": [_mean("bleu_score")],
    "labeler_via_model": [MetricEntry(type="frequency", options={"field": "label"})],
    "rag_checker": _means(RAG_SCORES),
    "function_call_coverage": _means(CALL_SCORES),
    **{kind: [_mean("score", name=kind)] for kind in (*METRIC_TYPES, *ASSERTION_TYPES, "extracted_match", "code_exec")},
    "assertions": [_mean("score", key="all_hold", name="all_hold"), _mean("passed", key="passed", name="passed")],
    "instructions": [
        _mean("score", key="strict", name="prompt_strict"),
        _mean("prompt_loose", key="loose", name="prompt_loose"),
    ],
}
