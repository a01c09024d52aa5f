"""`metrics:` of a scorer -> aggregates of the task, with the defaults where none are given."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.describe import mean_of
from assay.core.types import PartSpec
from assay.formats.declarative.part_keys import scorer_keys, short_name
from assay.formats.declarative.records import MetricEntry, ScorerEntry, without_nulls
from assay.formats.declarative.schema.scorers import described
from assay.stats.score_table import as_text


def default_metrics(scorer: ScorerEntry) -> Sequence[MetricEntry]:
    """The default metrics of a scorer without `metrics`. Python scorers have none."""
    if scorer.purpose == "qa":
        return []
    info = described(scorer.type, scorer.options)
    defaults = info.aggregates if info is not None else None
    chosen = (mean_of("score"),) if defaults is None else defaults
    return [MetricEntry(type=each.use, key=each.key, options=each.options) for each in chosen]


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
    if first.use in ("mean", "max", "min", "median", "quantile", "std_dev", "weighted_average"):
        return str(first.options.get("name") or f"{first.options['field']}_{first.use}")
    if first.use == "frequency" and "label" in first.options:
        return str(first.options.get("name") or f"{first.options['field']}_{as_text(first.options['label'])}")
    return str(first.options.get("name") or short_name(first.use))
