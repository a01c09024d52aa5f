"""`metrics:` of a scorer -> aggregates of the task, with the defaults where none are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.describe import mean_of
from assay.core.types import PartSpec
from assay.formats.declarative.part_keys import scorer_keys, short_name
from assay.formats.declarative.records import MetricEntry, ScoreAggregator, ScorerEntry, without_nulls
from assay.formats.declarative.schema.metrics import fields_read
from assay.formats.declarative.schema.scorers import described, values_given
from assay.stats.score_table import as_text

NAMED_BY_FIELD = ("mean", "max", "min", "median", "quantile", "std_dev", "weighted_average")
"""Metrics of one number, called by the value that they read."""


def default_metrics(scorer: ScorerEntry) -> Sequence[MetricEntry]:
    """The default metrics of a scorer without `metrics`. Python scorers have none."""
    if scorer.purpose == "qa":
        return []
    info = described(scorer.type, scorer.options)
    defaults = info.aggregates if info is not None else None
    chosen = (mean_of("score"),) if defaults is None else defaults
    return [MetricEntry(type=item.use, key=item.key, options=item.options) for item in chosen]


def aggregates_of(
    scorers: Sequence[tuple[str, ScorerEntry]], over_trials: Sequence[ScoreAggregator] = ()
) -> tuple[PartSpec, ...]:
    """Every aggregate of every scorer: the first is the task's score.

    Those of `qa` scorers come last, and before them those that list the share of every value. A number over trials
    that no metric reads is reported as its mean.
    """
    parts: list[tuple[tuple[bool, bool], PartSpec]] = []
    numbers = {each.name: each for each in over_trials}
    unread = dict(numbers)
    for key, scorer in scorers:
        metrics = scorer.metrics if scorer.metrics is not None else default_metrics(scorer)
        names = scorer_keys([(metric.key, metric.type) for metric in metrics])
        for name, metric in zip(names, metrics, strict=True):
            options = without_nulls(metric.options)
            part = PartSpec(key=f"{key}.{name}", use=metric.type, options={"scorer": key, **options})
            read = [numbers[name] for field in fields_read(metric.type) if (name := str(options.get(field))) in numbers]
            if read:
                part = _over_trials(part, read)
                for number in read:
                    unread.pop(number.name, None)
            parts.append(((scorer.purpose == "qa", part.use == "frequency" and "label" not in options), part))
    for number in unread.values():
        for key in _givers(number.score_name, scorers):
            part = PartSpec(
                key=f"{key}.{number.name}",
                use="mean",
                options={"scorer": key, "field": number.name, "name": number.name},
            )
            parts.append(((False, False), _over_trials(part, [number])))
    return tuple(part for _, part in sorted(parts, key=lambda each: each[0]))


def _givers(value: str, scorers: Sequence[tuple[str, ScorerEntry]]) -> list[str]:
    """The scorers that give a value; those of which it is not known where none is said to."""
    given = {key: values_given(scorer.type, scorer.options) for key, scorer in scorers}
    known = [key for key, values in given.items() if values is not None and value in values]
    return known or [key for key, values in given.items() if values is None]


def _over_trials(part: PartSpec, read: Sequence[ScoreAggregator]) -> PartSpec:
    """The aggregate over samples, of numbers over the attempts at each."""
    own = dict(part.options)
    outer: dict[str, Any] = {name: own.pop(name) for name in ("scorer", "lower_is_better", "name") if name in own}
    if "name" not in outer and part.use in NAMED_BY_FIELD:
        outer["name"] = f"{own['field']}_{part.use}"
    trials = [
        {"name": each.name, "field": each.score_name, "function": each.aggregator.function, "k": each.aggregator.k}
        for each in read
    ]
    return PartSpec(
        key=part.key, use="over_trials", options={**outer, "trials": trials, "use": part.use, "options": own}
    )


def headline(aggregates: Sequence[PartSpec]) -> str:
    """What the leaderboard calls the task's measure."""
    if not aggregates:
        return "none"
    first = aggregates[0]
    if first.use in NAMED_BY_FIELD:
        return str(first.options.get("name") or f"{first.options['field']}_{first.use}")
    if first.use == "frequency" and "label" in first.options:
        return str(first.options.get("name") or f"{first.options['field']}_{as_text(first.options['label'])}")
    return str(first.options.get("name") or short_name(first.use))
