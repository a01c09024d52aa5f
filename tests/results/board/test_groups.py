"""Means over groups of tasks: weighted by samples or all alike, over every task below."""

from __future__ import annotations

import pytest
from msgspec import convert

from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.results.board.board_types import TaskRow
from assay.results.board.groups import group_rows
from assay.task_records import GroupMetric, TaskGroup, TaskLabels


def definition(name: str, *groups: TaskGroup) -> TaskDefinition:
    part = PartSpec(key="x", use="lm_eval")
    return TaskDefinition(
        name=name,
        format="lm_eval",
        dataset=DatasetSpec(use="lm_eval"),
        solver=part,
        scorers=(part,),
        aggregates=(),
        metric="acc",
        shown=TaskLabels(groups=groups),
    )


def row(name: str, value: float | None, scored: int) -> TaskRow:
    needed = {
        "correct": None,
        "latency_ms": 0.0,
        "sha256": "",
        "fingerprint": "",
        "signature": "",
        "metric": "acc",
        "range": [0.0, 1.0],
    }
    counts = dict.fromkeys(("total", "scored", "failed", "timeouts", "excluded", "remaining"), 0)
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    cell = {"name": "acc", "value": value, "low": low, "high": high, "scored": scored}
    about = {"task": name, "score": value, "complete": True, "coverage": 1.0, "aggregates": [cell]}
    return convert({**about, **needed, **counts}, TaskRow)


def group(name: str, *, weight_by_size: bool) -> TaskGroup:
    return TaskGroup(name=name, metrics=(GroupMetric(metric="acc", weight_by_size=weight_by_size),))


def test_a_group_counts_all_tasks_below_it_by_their_samples_or_alike() -> None:
    sized, alike = group("all", weight_by_size=True), group("part", weight_by_size=False)
    definitions = [definition("a", sized, alike), definition("b", sized, alike), definition("c", sized)]
    rows = [row("a", 0.2, 30), row("b", 0.8, 10), row("c", 0.5, 60)]
    whole, part = group_rows(definitions, rows, 0.95)
    assert (whole.group, whole.tasks, whole.score) == ("all", ["a", "b", "c"], pytest.approx(0.06 + 0.08 + 0.3))
    assert (part.group, part.score, part.weight_by_size) == ("part", pytest.approx(0.5), False)
    assert part.interval is not None
    # two equal, independent errors halve their variance
    assert part.interval.high - part.interval.low == pytest.approx(0.2 / 2**0.5)


def test_a_task_without_a_score_leaves_its_group_without_one() -> None:
    one = group("all", weight_by_size=True)
    (found,) = group_rows([definition("a", one), definition("b", one)], [row("a", 0.2, 3), row("b", None, 0)], 0.95)
    assert (found.score, found.reason) == (None, "there is no score of b")
