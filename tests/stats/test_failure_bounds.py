"""Failure bounds are the least and the most that any outcome of the failed attempts gives, and no guess elsewhere."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import catalog
from assay.core.describe import About, about, share
from assay.core.types import Summary
from assay.stats import aggregates
from assay.stats.failure_bounds import with_bounds
from assay.stats.repetitions import repetitions
from assay.stats.score_table import ScoreTable
from assay.tasks.descriptions import as_task_says

SHARE = {"score": share("score")}
AGREEMENT = ("consistency", "flip_rate")
LABELS = {"bad": -1.0, "fair": 0.25, "good": 2.0}
MARKS = (0.0, 0.5, 1.0)
CASES: dict[str, tuple[Callable[..., list[Summary]], dict[str, Any], tuple[Any, ...]]] = {
    "mean": (aggregates.mean, {"field": "score"}, MARKS),
    "max": (aggregates.maximum, {"field": "score"}, MARKS),
    "min": (aggregates.minimum, {"field": "score"}, MARKS),
    "weighted_average": (aggregates.weighted_average, {"field": "label", "weights": LABELS}, tuple(LABELS)),
    "frequency": (aggregates.frequency, {"field": "label", "label": "good"}, tuple(LABELS)),
    "repetitions": (repetitions, {"field": "score", "k": (1, 2, 3)}, MARKS),
}


def runs(values: Sequence[Any]) -> st.SearchStrategy[list[tuple[int, int, str | None, Any]]]:
    """Small runs: sample, attempt, group, and the value, where None failed; at most five attempts did."""
    attempt = st.tuples(
        st.integers(0, 4), st.integers(1, 3), st.sampled_from([None, "g", "h"]), st.sampled_from([None, *values])
    )
    found = st.lists(attempt, min_size=1, max_size=9, unique_by=lambda each: each[:2])
    return found.filter(lambda each: sum(value is None for *_, value in each) <= 5)


def table_of(run: Sequence[tuple[int, int, str | None, Any]], field: str) -> ScoreTable:
    table = ScoreTable(dict.fromkeys(SHARE, (0.0, 1.0)))
    for sample, attempt, group, value in run:
        if value is None:
            table.add_failure(timeout=sample % 2 == 0, sample=sample, attempt=attempt, group=group)
        else:
            table.add({field: value}, sample=sample, attempt=attempt, group=group)
    return table


def described(use: str, options: dict[str, Any]) -> About | None:
    return as_task_says(about(catalog.resolve("aggregate", use), options, SHARE), options)


def every_outcome(run: Sequence[tuple[int, int, str | None, Any]], values: Sequence[Any]) -> Iterator[Any]:
    """The run with its failed attempts scored in every way there is."""
    failed = [place for place, (*_, value) in enumerate(run) if value is None]
    for outcome in itertools.product(values, repeat=len(failed)):
        filled = list(run)
        for place, value in zip(failed, outcome, strict=True):
            filled[place] = (*run[place][:3], value)
        yield filled


@pytest.mark.parametrize("use", CASES)
@settings(max_examples=40)
@given(data=st.data())
def test_bounds_are_the_extremes_over_every_outcome_of_the_failed_attempts(use: str, data: st.DataObject) -> None:
    aggregate, options, values = CASES[use]
    run = data.draw(runs(values))
    table = table_of(run, options["field"])
    made = partial(aggregate, **options)
    possible: dict[str, list[float]] = {}
    for filled in every_outcome(run, values):
        for summary in made(table_of(filled, options["field"])):
            if summary.value is not None:
                possible.setdefault(summary.name, []).append(summary.value)
    for summary in with_bounds(made(table), made, table, described(use, options)):
        if summary.value is None or not table.failed + table.timeouts or summary.name in AGREEMENT:
            assert summary.bounds is None
            continue
        assert summary.bounds is not None
        assert summary.bounds.low == pytest.approx(min(possible[summary.name]), abs=1e-12)
        assert summary.bounds.high == pytest.approx(max(possible[summary.name]), abs=1e-12)
        if len({attempt[0] for attempt in run}) == len(run):
            # with one attempt at each sample nothing was left out, so what was measured lies between
            assert summary.bounds.low - 1e-12 <= summary.value <= summary.bounds.high + 1e-12


@settings(max_examples=40)
@given(run=runs(MARKS))
def test_the_interval_at_an_end_is_that_of_a_run_that_came_out_so(run: list[tuple[int, int, str | None, Any]]) -> None:
    table = table_of(run, "score")
    [summary] = with_bounds(aggregates.mean(table), aggregates.mean, table, described("mean", {}))
    if summary.bounds is None:
        return
    ends = ((summary.bounds.low_interval, 0.0), (summary.bounds.high_interval, 1.0))
    for interval, value in ends:
        filled = [(*place, value if score is None else score) for *place, score in run]
        [whole] = aggregates.mean(table_of(filled, "score"))  # type: ignore[arg-type]
        assert interval == (None if whole.low is None else (whole.low, whole.high))


@pytest.mark.parametrize(
    ("use", "options", "value"),
    [
        ("mean", {"field": "seconds"}, 0.5),
        ("mean", {"field": "score"}, 3.0),
        ("mean", {"field": "stars", "bounds": (1, 5)}, 6.0),
        ("std_dev", {"field": "score"}, 0.5),
        ("frequency", {"field": "score"}, 0.5),
    ],
)
def test_a_number_that_could_be_anything_has_none(use: str, options: dict[str, Any], value: float) -> None:
    table = ScoreTable()
    table.add({options["field"]: value}, sample=0)
    table.add_failure(sample=1)
    plain = {"mean": aggregates.mean, "std_dev": aggregates.std_dev, "frequency": aggregates.frequency}[use]
    made = partial(plain, **options)
    assert [each.bounds for each in with_bounds(made(table), made, table, described(use, options))] == [None]


def test_a_declared_range_says_what_wrong_and_right_are() -> None:
    table = ScoreTable()
    table.add({"stars": 4}, sample=0)
    table.add_failure(sample=1)
    made = partial(aggregates.mean, field="stars", bounds=(1, 5))
    [summary] = with_bounds(made(table), made, table, described("mean", {"field": "stars", "bounds": (1, 5)}))
    assert summary.bounds is not None
    assert (summary.bounds.low, summary.bounds.high) == (2.5, 4.5)
    assert (summary.bounds.wrong, summary.bounds.right) == (1.0, 5.0)


@pytest.mark.parametrize("use", ["binary-classification", "multiclass-classification"])
@pytest.mark.parametrize("said", [["yes", "yes"], ["no", "yes"], ["no", "no"]])
def test_the_accuracy_of_a_classification_has_bounds_and_its_precision_none(use: str, said: list[str]) -> None:
    options: dict[str, Any] = {"field_gt": "gt", "field_pred": "said"}
    if use == "binary-classification":
        options |= {"positive_answer": "yes", "negative_answer": "no"}
    classify = partial(catalog.resolve("aggregate", use), **options)
    table, possible = ScoreTable(), []
    for sample, answer in enumerate(said):
        table.add({"gt": "yes", "said": answer}, sample=sample)
    for truth, answer in itertools.product(("yes", "no"), repeat=2):
        filled = copy.deepcopy(table)
        filled.add({"gt": truth, "said": answer}, sample=9)
        possible.append(classify(filled)[0].value)
    table.add_failure(sample=9)
    accuracy, *others = with_bounds(classify(table), classify, table, described(use, options))
    assert accuracy.bounds is not None
    assert (accuracy.bounds.low, accuracy.bounds.high) == (min(possible), max(possible))
    assert all(each.bounds is None for each in others)
