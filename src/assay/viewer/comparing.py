"""Runs side by side: the paired statistics of `assay diff` from the indexes, and the samples of all of them in rows."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.stats.paired import PairedComparison, compare, holm
from assay.viewer.query import Rows, clusters_of
from assay.viewer.run_view import RunView

MOST_RUNS = 8


def compare_runs(runs: list[RunView], level: float = 0.95) -> dict[str, Any]:
    """Each run against the first: overall and by task. Positive differences mean the other run is better."""
    first = runs[0]
    return {
        "runs": [run.name for run in runs],
        "level": level,
        "pairs": [_pair(first, other, level) for other in runs[1:]],
    }


def _pair(first: RunView, second: RunView, level: float) -> dict[str, Any]:
    before, after, rows = paired_scores(first, second)
    snapshot = first.snapshot()
    tasks = snapshot.column("task")[rows]
    groups = clusters_of(snapshot, rows)
    by_task = []
    for code, name in enumerate(snapshot.tasks):
        there = tasks == code
        if there.any():
            inner = None if groups is None else groups[there]
            found = compare(before[there], after[there], groups=inner, level=level)
            lower = snapshot.measure(name).lower_is_better
            by_task.append({"task": name, "lower_is_better": lower, **_plain(found)})
    adjusted = holm([each["p_value"] for each in by_task if each["p_value"] is not None])
    remaining = iter(adjusted)
    for each in by_task:
        each["p_holm"] = next(remaining) if each["p_value"] is not None else None
    return {
        "first": first.name,
        "second": second.name,
        "overall": _plain(compare(before, after, groups=groups, level=level)),
        "tasks": by_task,
        "only_first": _scored(first) - len(rows),
        "only_second": _scored(second) - len(rows),
        "sentences": differences(first, second),
    }


def paired_scores(first: RunView, second: RunView) -> tuple[NDArray[np.float64], NDArray[np.float64], Rows]:
    """The scores of samples that both runs scored, more being better, and the first run's rows of them."""
    joined, snapshot = first.joined(second), first.snapshot()
    before = snapshot.column("worth")
    rows = np.flatnonzero(snapshot.counts & ~np.isnan(before) & ~np.isnan(joined.worth))
    return before[rows], joined.worth[rows], rows


def differences(first: RunView, second: RunView) -> list[str]:
    """What besides the answers differs: questions, scoring, settings."""
    a, b = first.run_file(), second.run_file()
    said = []
    for name in {*a.tasks, *b.tasks}:
        if name not in a.tasks or name not in b.tasks:
            said.append(f"task {name} is only in {first.name if name in a.tasks else second.name}")
        elif a.tasks[name] != b.tasks[name]:
            said.append(f"task {name} is not the same in both: its questions, the asking or the scoring changed")
    for what, before, after in (("model", a.model, b.model), ("setting", a.settings, b.settings)):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                said.append(f"{what} {key}: {_shown(before.get(key))} → {_shown(after.get(key))}")
    return sorted(said)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else text[:79] + "…"


def _scored(run: RunView) -> int:
    snapshot = run.snapshot()
    return int((~np.isnan(snapshot.column("score")) & snapshot.counts).sum())


def _plain(found: PairedComparison) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return {"wins": 0, "losses": 0, "ties": 0, "p_value": None, **plain}
