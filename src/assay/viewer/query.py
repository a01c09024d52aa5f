"""Queries of the sample table: which rows, in which order, and the numbers over exactly those rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from assay.results.board.overall import combined_interval, of_one_scale
from assay.results.outcomes import OUTCOMES
from assay.results.query.fields import BUILT_IN, QueryField, Schema
from assay.results.query.parse import parse
from assay.results.query.syntax import And, Compare, Constant, Query, plain_value
from assay.stats.combined_means import TaskScore
from assay.stats.intervals import Interval
from assay.viewer.index import Snapshot

Rows = NDArray[np.integer[Any]]

LOOKED_AT = 1024
"""How many values are sampled to see whether there are few different ones."""


class Filters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which samples; every filter that is given must match."""

    where: str = ""
    """In the query language."""
    task: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    meta: tuple[tuple[str, str], ...] = ()
    """Pairs of a metadata key (`topic`) or a label (`label:judge.grade`) and its value."""
    value: str = "score"
    """The field that the range is about: `score`, or `value:SCORER.NAME`."""
    low: float | None = None
    high: float | None = None
    flip: str = ""
    mark: str = ""

    def query(self) -> Query | None:
        """All filters as one query; None when there is none."""
        parts = list(self._chosen())
        written = parse(self.where)
        if written is not None:
            parts += written.parts if isinstance(written, And) and parts else [written]
        return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))

    def widened(self, schema: Schema) -> Schema:
        """The schema with the keys that were chosen, which no sample may have."""
        chosen = [QueryField(name=field_of(key), kind="text") for key, _ in self.meta]
        unknown = [field for field in chosen if schema.find(field.name) is None]
        return schema.together(Schema(unknown)) if unknown else schema

    def _chosen(self) -> Iterator[Query]:
        """What was chosen in addition to the query."""
        for name, words in (("task", self.task), ("outcome", self.outcome), ("failure", self.failure)):
            if words:
                yield Compare(name, ":", tuple(map(plain_value, words)))
        for key, value in self.meta:
            yield Compare(field_of(key), ":", (plain_value(value),))
        for sign, number in ((">=", self.low), ("<=", self.high)):
            if number is not None:
                yield Compare(field_of(self.value), sign, (Constant(repr(number)),))
        for name, word in (("flip", self.flip), ("mark", self.mark)):
            if word:
                yield Compare(name, ":", (Constant(word),))


def field_of(key: str) -> str:
    """The field that an address of the page names."""
    kind, sign, name = key.partition(":")
    if sign and kind in ("value", "label"):
        return name
    plain = {item.name for item in BUILT_IN}
    return key if key in plain or key.startswith("sample.") else f"metadata.{key}"


class Other(Struct, frozen=True):
    """Another run, joined row by row."""

    worth: NDArray[np.float64]
    """Its score for each row of ours, negated where lower is better; NaN when it has none that counts."""
    row: Rows
    """Its row, or −1."""


def sorted_rows(values: NDArray[np.float64], descending: bool, base: Rows) -> Rows:
    """Every row by its value; ties keep the dataset's order, and rows without a value come last.

    `base` is every row in the dataset's order.
    """
    values = values[base]
    values = -values if descending else values
    missing = np.isnan(values)
    if missing.any():
        there = np.flatnonzero(~missing)
        return np.concatenate([base[there[_stable(values[there])]], base[missing]])
    return base[_stable(values)]


def base_order(snapshot: Snapshot) -> Rows:
    """Every row by task, position in the dataset and attempt."""
    task, index, attempt = (snapshot.column(name) for name in ("task", "index", "attempt"))
    key = (task.astype(np.int64) << 48) + (index.astype(np.int64) << 16) + attempt
    # a run that was not interrupted is nearly in order already
    order = np.arange(snapshot.rows) if bool((key[1:] >= key[:-1]).all()) else np.argsort(key, kind="stable")
    return order.astype(np.int32)


def in_journal_order(rows: Rows, every: int) -> Rows:
    """The same rows of so many, so that memory is read from front to back."""
    if bool((rows[1:] > rows[:-1]).all()):
        return rows
    if len(rows) * 20 < every:
        return np.sort(rows)
    there = np.zeros(every, bool)
    there[rows] = True
    return np.flatnonzero(there).astype(np.int32)


def summary(snapshot: Snapshot, rows: Rows, level: float) -> dict[str, Any]:
    """The numbers over exactly these rows: outcomes, mean score with its interval, time, tokens."""
    return {
        "rows": len(rows),
        "outcomes": outcomes_of(snapshot, rows),
        "score": mean_of(snapshot, rows, level),
        "tokens_in": int(snapshot.column("tokens_in")[rows].sum(dtype=np.int64)),
        "tokens_out": int(snapshot.column("tokens_out")[rows].sum(dtype=np.int64)),
        "seconds": round(float(snapshot.column("seconds")[rows].mean()), 6) if len(rows) else None,
    }


def outcomes_of(snapshot: Snapshot, rows: Rows) -> dict[str, int]:
    """How many of the rows have each outcome that any has."""
    counts = np.bincount(snapshot.column("outcome")[rows], minlength=len(OUTCOMES)).tolist()
    return {name: count for name, count in zip(OUTCOMES, counts, strict=True) if count}


def mean_of(snapshot: Snapshot, rows: Rows, level: float) -> dict[str, Any] | None:
    """The mean score of the rows that have one, with the interval that a leaderboard of just these would have.

    Over several tasks it is the mean of their means, as an overall score is. Tasks whose score is not a mean over
    samples are left out of it; alone, they have the mean of their samples' numbers, and `headline` is False because
    that is not the task's score.
    """
    all_rows = rows
    rows = rows[~np.isnan(snapshot.column("score")[rows])]
    if not len(rows):
        return None
    tasks = snapshot.column("task")[rows]
    codes = np.unique(tasks).tolist()
    names = {code: snapshot.tasks[code] for code in codes}
    chosen = _averaged(snapshot, names.values())
    averaged = [code for code in codes if names[code] in chosen]
    mean: dict[str, Any] = {
        "value": None,
        "low": None,
        "high": None,
        "n": int(np.isin(tasks, averaged).sum()),
        "level": level,
        "headline": all(snapshot.measure(names[code]).headline for code in averaged),
        "tasks": len(averaged),
        "excluded": [names[code] for code in codes if code not in averaged],
    }
    means = [_mean_of_task(snapshot, names[code], rows[tasks == code], level) for code in averaged]
    if not means or any(snapshot.lacks_weights(code, all_rows) for code in averaged):
        return mean
    interval: Any = means[0][1] if len(means) == 1 else _combined(means, level)
    mean["value"] = math.fsum(value for value, _, _ in means) / len(means)
    if interval is not None:
        mean["low"], mean["high"] = interval.low, interval.high
    return mean


def _averaged(snapshot: Snapshot, tasks: Collection[str]) -> set[str]:
    if len(tasks) == 1:
        return set(tasks)
    measures = {name: snapshot.measure(name) for name in tasks}
    return of_one_scale({name: (each.lower_is_better, each.bounds) for name, each in measures.items() if each.headline})


def _mean_of_task(snapshot: Snapshot, task: str, rows: Rows, level: float) -> tuple[float, Interval, int]:
    """The mean, its interval, and how many attempts, or clusters of them, it is of."""
    values, clusters = snapshot.column("score")[rows], clusters_of(snapshot, rows)
    interval = snapshot.measure(task).interval(values, clusters, level)
    return float(values.mean()), interval, len(rows) if clusters is None else len(np.unique(clusters))


def _combined(means: Sequence[tuple[float, Interval, int]], level: float) -> Any:
    scores = [
        TaskScore(mean, each.low, each.high, each.level, each.method, units, each.standard_error)
        for mean, each, units in means
        if each.low is not None and each.high is not None
    ]
    return combined_interval(scores, level) if len(scores) == len(means) else None


def clusters_of(snapshot: Snapshot, rows: Rows) -> NDArray[np.uint64] | None:
    """The cluster of each row: samples of one group, attempts at one sample; None when all rows are independent."""
    groups = snapshot.column("group")[rows]
    if not groups.any() and not (snapshot.column("attempt")[rows] > 1).any():
        return None
    clusters = cluster_column(groups, snapshot.column("index")[rows])
    return clusters if len(np.unique(clusters)) < len(clusters) else None


def cluster_column(groups: NDArray[np.uint64], samples: NDArray[Any]) -> NDArray[np.uint64]:
    """A row's cluster is its group where it has one, else its sample."""
    clusters: NDArray[np.uint64] = np.where(groups != 0, groups, samples.astype(np.uint64))
    return clusters


def _few_codes(values: NDArray[np.float64]) -> NDArray[np.uint16] | None:
    """The rank of each value where there are few different ones, as scores are; None where there are many."""
    step = len(values) // LOOKED_AT
    if not step or len(np.unique(values[::step])) > LOOKED_AT // 2:
        return None
    known = np.unique(values)
    return np.searchsorted(known, values).astype(np.uint16) if len(known) < 1 << 16 else None


def _stable(values: NDArray[np.float64]) -> Rows:
    """The order of the values, ties in the order they came.

    Value and place are packed into one whole number, because sorting numbers is many times faster than sorting
    places by number. The value is rounded for that; where rounding changes the order, a slower sort is used.
    """
    if len(values) >= 1 << 32:
        return np.argsort(values, kind="stable")
    if (codes := _few_codes(values)) is not None:
        return np.argsort(codes, kind="stable").astype(np.int32)  # numbers this small are counted, not compared
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    # turns the order of floats into the order of whole numbers: negative ones are inverted, others get the high bit
    rising = np.where(bits >> 31 == 1, ~bits, bits | np.uint32(1 << 31))
    packed = (rising.astype(np.uint64) << np.uint64(32)) | np.arange(len(values), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64(0xFFFFFFFF)).astype(np.int32)
    moved = values[order]
    return order if bool((moved[1:] >= moved[:-1]).all()) else np.argsort(values, kind="stable")
