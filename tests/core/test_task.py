"""What a task is: its definition and content, not where its files lie; and which scorer looks at a sample."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.core.test_attempt import Says, a_task

from assay.core.task import task_fingerprint
from assay.core.types import DatasetSpec, PartSpec, Sample, TaskDefinition
from assay.task_records import Provenance, TaskLabels, TaskPlan

DEFINITION = TaskDefinition(
    name="t",
    format="spec_file",
    dataset=DatasetSpec(use="table", options={"path": "a.csv", "columns": ["q"]}, sha256="abc", size=3),
    solver=PartSpec(key="solver", use="single_turn"),
    scorers=(PartSpec(key="m", use="exact_match"),),
    aggregates=(PartSpec(key="mean", use="mean"),),
    metric="m",
    source="tasks/t.jsonl",
)


def changed(**changes: Any) -> str:
    return task_fingerprint(msgspec.structs.replace(DEFINITION, **changes))


def dataset(**changes: Any) -> DatasetSpec:
    return msgspec.structs.replace(DEFINITION.dataset, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": dataset(options={"path": "elsewhere/b.csv", "columns": ["q"]})},
        {"source": "other.jsonl"},
        {"description": "other words"},
        {"category": "sums"},
        {"provenance": Provenance(files=("x",)), "plan": TaskPlan(trials=2), "shown": TaskLabels(display_name="T")},
    ],
)
def test_places_and_descriptions_make_no_other_task(changes: dict[str, Any]) -> None:
    assert changed(**changes) == task_fingerprint(DEFINITION)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"dataset": dataset(sha256="def")},
        {"dataset": dataset(size=4)},
        {"dataset": dataset(options={"path": "a.csv", "columns": ["p"]})},
        {"solver": PartSpec(key="solver", use="pass_through")},
        {"scorers": (PartSpec(key="m", use="exact_match", options={"case": True}),)},
        {"aggregates": ()},
        {"actions": (PartSpec(key="a", use="exclude"),)},
    ],
)
def test_another_prompt_or_scorer_makes_another_task(changes: dict[str, Any]) -> None:
    assert changed(**changes) != task_fingerprint(DEFINITION)


def test_a_sample_may_name_its_one_scorer() -> None:
    task = a_task(Says("a", 1), Says("b", 2))
    assert [scorer.name for scorer in task.scorers_for(Sample(id="1"))] == ["a", "b"]
    assert [scorer.name for scorer in task.scorers_for(Sample(id="1", scorer="b"))] == ["b"]
    with pytest.raises(KeyError):
        [*task.scorers_for(Sample(id="1", scorer="c"))]
