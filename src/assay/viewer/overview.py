"""The overview of a run: distributions, failures by kind, slices by any label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.describe import Range
from assay.core.errors import UsageError
from assay.results.outcomes import OUTCOMES
from assay.viewer.index import Snapshot
from assay.viewer.query import Rows, mean_of, outcomes_of

BINS = 20
SLICES_SHOWN = 100


def distributions(snapshot: Snapshot, order: list[str]) -> list[dict[str, Any]]:
    """Per task, in the given order: how the scores are spread, and the outcomes of the attempts."""
    tasks, scores = snapshot.column("task"), snapshot.column("score")
    spreads = []
    for code, name in enumerate(snapshot.tasks):
        rows = np.flatnonzero((tasks == code) & snapshot.counts)
        if not len(rows) or not name:
            continue
        spreads.append(
            {
                "task": name,
                "rows": len(rows),
                "outcomes": outcomes_of(snapshot, rows),
                "scores": histogram(scores[rows], snapshot.measure(name).bounds),
            }
        )
    places = {name: place for place, name in enumerate(order)}
    return sorted(spreads, key=lambda each: places.get(str(each["task"]), len(places)))


def histogram(values: NDArray[Any], within: Range | None) -> dict[str, Any] | None:
    """Counts in equal bins over a range, which values outside of it widen. None when there is nothing to count."""
    finite = np.isfinite(values)
    there = values if finite.all() else values[finite]
    if not len(there):
        return None
    smallest, largest = float(there.min()), float(there.max())
    start, end = (smallest, largest) if within is None else (min(within[0], smallest), max(within[1], largest))
    if end <= start:
        end = start + 1.0
    # equal bins need no search: this is five times faster than the general way
    places = ((there - start) * (BINS / (end - start))).astype(np.int8)
    counts = np.bincount(np.minimum(places, BINS - 1), minlength=BINS)
    edges = np.linspace(start, end, BINS + 1)
    return {
        "low": start,
        "high": end,
        "counts": counts.tolist(),
        "edges": [round(float(edge), 9) for edge in edges],
        "mean": float(there.mean()),
        "n": len(there),
    }


def failures(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Failures by kind and task, the most frequent first, each with a row to look at."""
    rows = np.flatnonzero((snapshot.column("failure") >= 0) & snapshot.counts)
    kinds, tasks = snapshot.column("failure")[rows], snapshot.column("task")[rows]
    pairs, first, counts = np.unique(np.stack([kinds, tasks]), axis=1, return_index=True, return_counts=True)
    groups = [
        {
            "kind": snapshot.failures[kind],
            "task": snapshot.tasks[task],
            "count": int(count),
            "row": int(rows[example]),
        }
        for kind, task, example, count in zip(*pairs.tolist(), first.tolist(), counts.tolist(), strict=True)
    ]
    return sorted(groups, key=lambda each: -int(each["count"]))


def keys(snapshot: Snapshot) -> list[dict[str, Any]]:
    """What the samples can be sliced by: metadata keys and labels of scorers, with their values as far as kept."""
    listed = []
    for name in sorted(snapshot.names, key=lambda name: (not name.startswith("meta:"), name)):
        kind, _, key = name.partition(":")
        if kind in ("meta", "label"):
            texts = sorted(snapshot.labels.get(name, {}).values())
            listed.append(
                {
                    "key": key if kind == "meta" else name,
                    "values": texts[:SLICES_SHOWN],
                    "more": len(texts) > SLICES_SHOWN,
                }
            )
    return listed


def slices(snapshot: Snapshot, by: str, rows: Rows, level: float) -> dict[str, Any]:
    """The rows grouped by a label, each group with its own mean, interval and outcomes."""
    codes, names = _groups(snapshot, by)
    groups, places, counts = np.unique(codes[rows], return_inverse=True, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:SLICES_SHOWN]
    shown = []
    for place in most.tolist():
        chosen = rows[places == place]
        label = names.get(int(groups[place]))
        shown.append({"value": label, "known": label is not None, **_numbers(snapshot, chosen, level)})
    return {"by": by, "groups": len(groups), "shown": len(shown), "slices": sorted(shown, key=_lowest_first)}


def _lowest_first(part: dict[str, Any]) -> tuple[bool, bool, float]:
    """Where to look first; samples without the label, and parts without a score, come last."""
    value = None if part["score"] is None else part["score"]["value"]
    return not part["known"], value is None, 0.0 if value is None else value


def _groups(snapshot: Snapshot, by: str) -> tuple[NDArray[Any], dict[int, str]]:
    if by == "task":
        return snapshot.column("task"), dict(enumerate(snapshot.tasks))
    if by == "outcome":
        return snapshot.column("outcome"), dict(enumerate(OUTCOMES))
    if by == "attempt":
        attempts = snapshot.column("attempt")
        return attempts, {int(item): str(item) for item in np.unique(attempts).tolist()}
    name = by if by.startswith("label:") else f"meta:{by}"
    if name not in snapshot.names:
        raise UsageError(f"no sample has the metadata key `{by[:80]}`")
    return snapshot.column(name), snapshot.labels.get(name, {})


def _numbers(snapshot: Snapshot, rows: Rows, level: float) -> dict[str, Any]:
    outcomes = outcomes_of(snapshot, rows)
    return {
        "rows": len(rows),
        "outcomes": outcomes,
        "scored": int((~np.isnan(snapshot.column("score")[rows])).sum()),
        "failed": outcomes.get("failed", 0) + outcomes.get("timeout", 0),
        "score": mean_of(snapshot, rows, level),
    }
