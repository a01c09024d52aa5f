"""Questions to the sample table: which rows, in which order, and what the numbers are over exactly those rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.reports.board.overall import TaskScore, combined_interval
from assay.reports.marks import THRESHOLD
from assay.reports.outcomes import OUTCOMES
from assay.stats.intervals import Interval
from assay.viewer.index import Snapshot
from assay.viewer.rows import label_hash

Rows = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

SORTS = {
    "order": "the order of the dataset",
    "score": "the score",
    "seconds": "the time it took",
    "tokens_in": "tokens asked",
    "tokens_out": "tokens answered",
    "retries": "retries",
    "length": "the size of the record",
    "written": "the order of finishing",
    "changed": "how much the score moved against the other run",
}
FLIPS = ("flipped", "same", "better", "worse")
MARKED = ("any", "none", "right", "wrong", "unclear", "disagree")


class Filters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which samples; everything that is given must hold."""

    task: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    meta: tuple[tuple[str, str], ...] = ()
    """Pairs of a metadata key (`topic`) or a label (`label:judge.grade`) and its value."""
    value: str = "score"
    """The column that the score range is about: `score`, or `value:SCORER.NAME`."""
    low: float | None = None
    high: float | None = None
    search: str = ""
    flip: str = ""
    mark: str = ""


class Other(Struct, frozen=True):
    """Another run, joined row by row."""

    worth: NDArray[np.float64]
    """Its score for each row of ours, turned so that more is better; NaN when it has none that counts."""
    row: Rows
    """Its row, or −1."""


def matching(
    snapshot: Snapshot, filters: Filters, *, found: Rows | None, others: Sequence[Other], marks: Mapping[int, str]
) -> Mask:
    """The rows that every filter lets through. `found` are the rows of a text search, `marks` human verdicts by row."""
    mask = snapshot.counts.copy()
    if filters.task:
        mask &= np.isin(snapshot.column("task"), _codes(snapshot.tasks, filters.task))
    if filters.outcome:
        mask &= np.isin(snapshot.column("outcome"), _codes(list(OUTCOMES), filters.outcome))
    if filters.failure:
        mask &= np.isin(snapshot.column("failure"), _codes(snapshot.failures, filters.failure))
    for key, value in filters.meta:
        name = key if key.startswith("label:") else f"meta:{key}"
        mask &= snapshot.column(name) == np.uint64(label_hash(value))
    if filters.low is not None or filters.high is not None:
        mask &= _within(numbers(snapshot, filters.value), filters.low, filters.high)
    if found is not None:
        hits = np.zeros(snapshot.rows, bool)
        hits[found[found < snapshot.rows]] = True
        mask &= hits
    if filters.flip:
        if not others:
            raise UsageError("whether a sample flipped needs another run to compare with (`against`)")
        flips = [_flipped(snapshot.column("worth"), other, filters.flip) for other in others]
        mask &= np.logical_and.reduce(flips) if filters.flip == "same" else np.logical_or.reduce(flips)
    if filters.mark:
        mask &= _marked(snapshot, marks, filters.mark)
    return mask


def sorted_rows(snapshot: Snapshot, sort: str, descending: bool, others: Sequence[Other], base: Rows) -> Rows:
    """Every row in the order asked for; ties keep the dataset's order, and rows without a value come last.

    `base` is every row in the dataset's order.
    """
    if sort == "order":
        return base[::-1] if descending else base
    if sort == "written":
        return np.arange(snapshot.rows, dtype=np.int32)[:: -1 if descending else 1]
    values = _sort_values(snapshot, sort, others)[base]
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


def numbers(snapshot: Snapshot, name: str) -> NDArray[np.float64]:
    """A column of numbers by the name people use for it."""
    if name == "score" or (name.startswith("value:") and name in snapshot.names):
        return snapshot.column(name)
    if name in ("seconds", "tokens_in", "tokens_out", "retries", "length"):
        return snapshot.column(name).astype(np.float64)
    raise UsageError(f"there is no value `{name}` in this run; there are: {', '.join(['score', *_values(snapshot)])}")


def summary(snapshot: Snapshot, rows: Rows, level: float) -> dict[str, Any]:
    """The numbers over exactly these rows: outcomes, mean score with its interval, time, tokens."""
    outcomes = np.bincount(snapshot.column("outcome")[rows], minlength=len(OUTCOMES))
    return {
        "rows": len(rows),
        "outcomes": {name: int(count) for name, count in zip(OUTCOMES, outcomes, strict=True) if count},
        "score": mean_of(snapshot, rows, level),
        "tokens_in": int(snapshot.column("tokens_in")[rows].sum(dtype=np.int64)),
        "tokens_out": int(snapshot.column("tokens_out")[rows].sum(dtype=np.int64)),
        "seconds": round(float(snapshot.column("seconds")[rows].mean()), 6) if len(rows) else None,
    }


def mean_of(snapshot: Snapshot, rows: Rows, level: float) -> dict[str, Any] | None:
    """The mean score of the rows that have one, with the interval that a leaderboard of just these would have.

    Over several tasks it is the mean of their means, as an overall score is. Tasks whose score is no mean over samples
    have no part in that; by themselves they have the mean of their samples' numbers, and `headline` says that this is
    not the task's score.
    """
    asked = rows
    rows = rows[~np.isnan(snapshot.column("score")[rows])]
    if not len(rows):
        return None
    tasks = snapshot.column("task")[rows]
    codes = np.unique(tasks).tolist()
    names = {code: snapshot.tasks[code] for code in codes}
    averaged = [code for code in codes if snapshot.measure(names[code]).in_overall] if len(codes) > 1 else codes
    found: dict[str, Any] = {
        "value": None,
        "low": None,
        "high": None,
        "n": int(np.isin(tasks, averaged).sum()),
        "level": level,
        "headline": all(snapshot.measure(names[code]).headline for code in averaged),
        "tasks": len(averaged),
        "left_out": [names[code] for code in codes if code not in averaged],
    }
    means = [_mean_of_task(snapshot, names[code], rows[tasks == code], level) for code in averaged]
    if not means or any(snapshot.lacks_weights(code, asked) for code in averaged):
        return found
    interval: Any = means[0][1] if len(means) == 1 else _combined(means, level)
    found["value"] = math.fsum(value for value, _, _ in means) / len(means)
    if interval is not None:
        found["low"], found["high"] = interval.low, interval.high
    return found


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
    """What stands together of one task: samples with one group, attempts at one sample; None when each stands alone."""
    groups = snapshot.column("group")[rows]
    if not groups.any() and not (snapshot.column("attempt")[rows] > 1).any():
        return None
    clusters = cluster_column(groups, snapshot.column("index")[rows])
    return clusters if len(np.unique(clusters)) < len(clusters) else None


def cluster_column(groups: NDArray[np.uint64], samples: NDArray[Any]) -> NDArray[np.uint64]:
    """A row's cluster is its group where it has one, else its sample."""
    found: NDArray[np.uint64] = np.where(groups != 0, groups, samples.astype(np.uint64))
    return found


def _codes(known: Sequence[str], wanted: Sequence[str]) -> list[int]:
    return [known.index(name) for name in wanted if name in known]


def _values(snapshot: Snapshot) -> list[str]:
    return [name for name in snapshot.names if name.startswith("value:")]


def _within(values: NDArray[np.float64], low: float | None, high: float | None) -> Mask:
    mask = ~np.isnan(values)
    if low is not None:
        mask &= values >= low
    if high is not None:
        mask &= values <= high
    return mask


def _flipped(worth: NDArray[np.float64], other: Other, flip: str) -> Mask:
    """Only rows that both runs scored can have moved; better means that the other run is."""
    moved = other.worth - worth
    mask: Mask = {
        "same": moved == 0,
        "better": moved > 0,
        "worse": moved < 0,
        "flipped": (moved != 0) & ~np.isnan(moved),
    }[flip]
    return mask


def _marked(snapshot: Snapshot, marks: Mapping[int, str], wanted: str) -> Mask:
    mask = np.zeros(snapshot.rows, bool)
    if wanted == "disagree":
        share = snapshot.column("share")
        for row, verdict in marks.items():
            if verdict != "unclear" and not np.isnan(share[row]):
                mask[row] = (share[row] >= THRESHOLD) != (verdict == "right")
        return mask
    mask[[row for row, verdict in marks.items() if wanted in ("any", "none", verdict)]] = True
    return ~mask if wanted == "none" else mask


def _sort_values(snapshot: Snapshot, sort: str, others: Sequence[Other]) -> NDArray[np.float64]:
    if sort == "changed":
        if not others:
            raise UsageError("sorting by how much the score moved needs another run to compare with (`against`)")
        moved: NDArray[np.float64] = others[0].worth - snapshot.column("worth")
        return moved
    return numbers(snapshot, sort)


def _stable(values: NDArray[np.float64]) -> Rows:
    """The order of the values, ties in the order they came.

    Value and place are packed into one whole number, because sorting numbers is many times quicker than sorting
    places by number. The value is rounded for that; where rounding would show, the slower way is taken.
    """
    if len(values) >= 1 << 32:
        return np.argsort(values, kind="stable")
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    # turns the order of floats into the order of whole numbers: negative ones are flipped, others lifted
    rising = np.where(bits >> 31 == 1, ~bits, bits | np.uint32(1 << 31))
    packed = (rising.astype(np.uint64) << np.uint64(32)) | np.arange(len(values), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64(0xFFFFFFFF)).astype(np.int32)
    moved = values[order]
    return order if bool((moved[1:] >= moved[:-1]).all()) else np.argsort(values, kind="stable")
