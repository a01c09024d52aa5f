"""A measure: what an attempt's number is, whether it is right, and which way is better, from the first aggregate."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, Failure, PartSpec, Record, Score, ScoreValue, TaskDefinition
from assay.results.measure import Measure, headline_of, measure_of
from assay.stats.score_table import ScoreTable
from assay.tasks.descriptions import with_descriptions

SCORERS = (PartSpec(key="main", use="metric", options={"metric": "exact_match"}),)
BROKEN = Failure(stage="action", kind="filter", message="no such column")


def task(use: str, **options: Any) -> TaskDefinition:
    part = PartSpec(key="first", use=use, options={"scorer": "main", **options})
    solver, dataset = PartSpec(key="solver", use="no_solver"), DatasetSpec(use="inline")
    return with_descriptions(
        TaskDefinition(
            name="t",
            format="declarative",
            dataset=dataset,
            solver=solver,
            scorers=SCORERS,
            aggregates=(part,),
            metric="m",
        )
    )


def attempt(**values: ScoreValue) -> Record:
    scores = (Score(name="main", values=values), Score(name="other", values={"score": 0.25, "v": 9}))
    return Record(key="0", task="t", sample_id="s", index=0, scores=scores)


BINARY = {"field_gt": "gt", "field_pred": "said", "positive_answer": True, "negative_answer": False}
SPELLED = {**BINARY, "positive_answer": "true", "negative_answer": "false"}
NUMBERS: list[tuple[TaskDefinition, dict[str, ScoreValue], float | None]] = [
    (task("mean", field="v"), {"v": 3}, 3.0),
    (task("mean", field="v"), {"v": True}, 1.0),
    (task("mean", field="v"), {"v": None}, None),
    (task("mean", field="v"), {"v": "3"}, None),
    (task("mean", field="v"), {"v": 10**400}, None),
    (task("mean", field="v"), {"score": 1.0}, None),
    (task("multiclass-classification", field_gt="gt", field_pred="said"), {"gt": "1", "said": 1}, 1.0),
    (task("multiclass-classification", field_gt="gt", field_pred="said"), {"gt": "1", "said": 1.0}, 0.0),
    (task("multiclass-classification", field_gt="gt", field_pred="said"), {"gt": "1"}, None),
    (task("binary-classification", **BINARY), {"gt": True, "said": False}, 0.0),
    (task("binary-classification", **BINARY), {"gt": True, "said": "maybe"}, None),
    (task("binary-classification", **SPELLED), {"gt": False, "said": False}, 1.0),
    (task("frequency", field="v", label=1), {"v": 1}, 1.0),
    (task("frequency", field="v", label=1), {"v": 2}, 0.0),
    (task("frequency", field="v", label=1), {}, None),
    (task("weighted_average", field="v", weights={"1": 0.5, "good": 2}), {"v": 1}, 0.5),
    (task("weighted_average", field="v", weights={"1": 0.5}), {"v": "unknown"}, None),
    (task("perplexity"), {"nats": 1.0, "bits_per_byte": 6.0}, 6.0),
    *(
        (task(use, **options), {"v": 1.0, "score": 1.0, "is_correct": True}, None)
        for use, options in (("std_dev", {"field": "v"}), ("max", {"field": "v"}), ("python", {}))
    ),
]


@pytest.mark.parametrize(("definition", "values", "number"), NUMBERS)
def test_the_number_of_an_attempt(
    definition: TaskDefinition, values: dict[str, ScoreValue], number: float | None
) -> None:
    measure = measure_of(definition)
    assert measure.of(attempt(**values)) == number
    table = ScoreTable()
    table.add(values, sample=0)
    if measure.headline:  # the columns make the same number of it
        assert measure._numbers(table).tolist() == ([] if number is None else [number])


def test_an_attempt_that_broke_or_is_excluded_has_no_number() -> None:
    scores = (Score(name="main", values={"score": 1.0}),)
    record = Record(key="0", task="t", sample_id="s", index=0, scores=scores)
    assert Measure(field="score").of(record) == 1.0
    for lost in ({"failures": (BROKEN,)}, {"excluded": ("rule",)}):
        assert (
            Measure(field="score").of(Record(key="0", task="t", sample_id="s", index=0, scores=scores, **lost)) is None
        )  # type: ignore[arg-type]


MARKS: list[tuple[TaskDefinition, list[float], tuple[float, float] | None]] = [
    (task("mean", field="score"), [0.0, 0.4, 1.0], (0.0, 1.0)),
    (task("mean", field="score"), [0.0, 7.0], None),
    (task("mean", field="v"), [0.0, 1.0], None),
    (task("mean", field="v", bounds=[0, 1]), [0.0, 1.0], (0.0, 1.0)),
    (task("mean", field="v", bounds=[1, 5]), [1.0, 5.0], (1.0, 5.0)),
    (task("multiclass-classification", field_gt="gt", field_pred="said"), [1.0], (0.0, 1.0)),
    (task("weighted_average", field="v", weights={"a": -1, "b": 9}), [9.0], (-1.0, 9.0)),
    (task("weighted_average", field="v", weights={"a": 1}), [1.0], None),
    (task("bits_per_byte"), [0.0, 1.0], None),
]


@pytest.mark.parametrize(("definition", "numbers", "marks"), MARKS)
def test_right_and_wrong_are_the_ends_of_the_range(
    definition: TaskDefinition, numbers: list[float], marks: tuple[float, float] | None
) -> None:
    assert measure_of(definition).marks(np.array(numbers)) == marks


def test_fewer_bits_are_better() -> None:
    bits, share = measure_of(task("bits_per_byte")), measure_of(task("mean", field="score"))
    assert (bits.upwards(6.0), bits.upwards(0.4), share.upwards(0.4)) == (-6.0, -0.4, 0.4)


def test_a_task_that_lists_shares_has_no_headline() -> None:
    assert headline_of(task("frequency", field="v")) is None
    assert headline_of(task("frequency", field="v", label="a")) is not None


@pytest.mark.parametrize("weights", [None, 3, {"a": "b"}, {"a": 10**400}])
def test_weights_that_are_none_get_a_sentence(weights: Any) -> None:
    with pytest.raises(UsageError, match="`weights` must be numbers by label"):
        measure_of(task("weighted_average", field="v", weights=weights))


@pytest.mark.parametrize(
    ("scorer", "field", "lower"),
    [("rag", "hallucination", True), ("rag", "noise_sensitivity_in_relevant", True), ("rag", "faithfulness", False)],
)
def test_what_counts_faults_is_better_the_lower(scorer: str, field: str, lower: bool) -> None:
    scorers = (PartSpec(key="rag", use="rag_checker"), PartSpec(key="own", use="python"))
    found = measure_of(
        with_descriptions(msgspec.structs.replace(task("mean", scorer=scorer, field=field), scorers=scorers))
    )
    assert found.lower_is_better is lower
    assert found.marks(np.array([0.0, 0.5])) == ((1.0, 0.0) if lower else (0.0, 1.0))
    assert found.upward_bounds == ((-1.0, 0.0) if lower else (0.0, 1.0))


def test_a_name_alone_says_nothing() -> None:
    scorers = (PartSpec(key="own", use="python"),)
    own = msgspec.structs.replace(task("mean", scorer="own", field="hallucination"), scorers=scorers)
    assert (measure_of(with_descriptions(own)).lower_is_better, measure_of(with_descriptions(own)).bounds) == (
        False,
        None,
    )
