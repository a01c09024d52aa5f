"""The contract of an aggregate: kept by a good one, and every clause broken by a bad one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.testing.broken import broken_by, clauses, words

from assay.core.describe import Mean, Value, Whole, describes
from assay.core.types import Summary
from assay.stats.aggregates import mean
from assay.stats.score_table import ScoreTable
from assay.testing import aggregate as contract
from assay.testing import check_aggregate

ROWS = [{"score": float(n % 3 == 0)} for n in range(20)]


def share(table: ScoreTable, *, level: float) -> list[Summary]:
    """A good one, by hand: an interval over samples and groups."""
    return mean(table, level=level)


def but(**changes: Any) -> Callable[..., list[Summary]]:
    """The good one with something else in its summaries."""
    return lambda table, *, level: [replace(each, **changes) for each in share(table, level=level)]


def no_list(table: ScoreTable, *, level: float) -> Any:
    return 0.5


def twice_the_name(table: ScoreTable, *, level: float) -> list[Summary]:
    return share(table, level=level) * 2


def zero_for_nothing(table: ScoreTable, *, level: float) -> list[Summary]:
    return share(table, level=level) if len(table) else [Summary(name="score_mean", value=0.0)]


def no_reason(table: ScoreTable, *, level: float) -> list[Summary]:
    return [replace(each, reason=None) for each in share(table, level=level)]


def failures_as_zeros(table: ScoreTable, *, level: float) -> list[Summary]:
    scored = table.with_open_as({"score": 0.0}) or table
    if not len(table):
        return share(table, level=level)
    return [replace(each, failed=table.failed, timeouts=table.timeouts) for each in share(scored, level=level)]


def failures_uncounted(table: ScoreTable, *, level: float) -> list[Summary]:
    return [replace(each, failed=0) for each in share(table, level=level)]


def missing_as_zero(table: ScoreTable, *, level: float) -> list[Summary]:
    (summary,) = share(table, level=level)
    value = None if summary.value is None else summary.value * summary.scored / len(table)
    return [replace(summary, value=value)]


def missing_uncounted(table: ScoreTable, *, level: float) -> list[Summary]:
    return [replace(each, unscored=0) for each in share(table, level=level)]


def last_in_the_table(table: ScoreTable, *, level: float) -> list[Summary]:
    return [
        replace(each, signature=repr(table._columns.get("score") and table._samples))
        for each in share(table, level=level)
    ]


def counting() -> Any:
    calls = itertools.count()
    return lambda table, *, level: [replace(each, signature=f"{next(calls)}") for each in share(table, level=level)]


def adds_a_row(table: ScoreTable, *, level: float) -> list[Summary]:
    found = share(table, level=level)
    if len(table):
        table.add({"other": 1.0}, sample=99)
    return [replace(each, unscored=0, scored=0) for each in found]


def next_to_the_value(table: ScoreTable, *, level: float) -> list[Summary]:
    return [replace(each, low=each.high) if each.high else each for each in share(table, level=level)]


def half_an_interval(table: ScoreTable, *, level: float) -> list[Summary]:
    return [replace(each, low=None) for each in share(table, level=level)]


def always_narrower(table: ScoreTable, *, level: float) -> list[Summary]:
    return share(table, level=1 - level)


def naive(table: ScoreTable, *, level: float) -> list[Summary]:
    """Takes every row for a sample of its own, as a hand-written standard error does."""
    (summary,) = share(table, level=level)
    rows = table.numbers("score").values
    if summary.value is None:
        return [summary]
    half = 2.0 * level * math.sqrt(rows.var() / len(rows))
    return [replace(summary, low=summary.value - half, high=summary.value + half)]


def clustered_by_sample(table: ScoreTable, *, level: float) -> list[Summary]:
    """Knows attempts, and takes the samples of one group for strangers."""
    known = table.numbers("score")
    without, attempts = ScoreTable(), Counter[int]()
    for sample, value in zip(known.samples.tolist(), known.values, strict=True):
        attempts[sample] += 1
        without.add({"score": float(value)}, sample=sample, attempt=attempts[sample])
    found = share(without, level=level) if len(known) else share(table, level=level)
    (whole,) = share(table, level=level)
    return [replace(whole, low=found[0].low, high=found[0].high)]


@describes(Mean(value=Value(name="score")))
def no_mean(table: ScoreTable, *, level: float) -> list[Summary]:
    return [replace(each, value=each.high) for each in share(table, level=level)]


@describes(Mean(value=Value(name="other")))
def of_another_value(table: ScoreTable, *, level: float) -> list[Summary]:
    return share(table, level=level)


@describes(Whole(rises_with=Value(name="score", range=(0.0, 1.0))))
def falls(table: ScoreTable, *, level: float) -> list[Summary]:
    return [
        each if each.value is None else replace(each, value=-each.value, low=-each.high, high=-each.low)  # type: ignore[operator]
        for each in share(table, level=level)
    ]


BROKEN = [
    (no_mean, contract.is_the_mean_that_its_description_says),
    (falls, contract.never_falls_as_the_number_that_it_names_rises),
    (no_list, contract.gives_numbers_that_are_finite_or_a_reason_why_not),
    (but(value=math.nan), contract.gives_numbers_that_are_finite_or_a_reason_why_not),
    (but(value=None), contract.gives_numbers_that_are_finite_or_a_reason_why_not),
    (twice_the_name, contract.gives_every_number_a_name_of_its_own),
    (but(name=""), contract.gives_every_number_a_name_of_its_own),
    (but(details={"at": object()}), contract.gives_plain_data),
    (zero_for_nothing, contract.has_no_value_where_nothing_was_scored),
    (no_reason, contract.has_no_value_where_nothing_was_scored),
    (failures_as_zeros, contract.counts_failures_and_never_scores_them),
    (failures_uncounted, contract.counts_failures_and_never_scores_them),
    (missing_as_zero, contract.leaves_out_and_counts_a_sample_without_the_values_it_needs),
    (missing_uncounted, contract.leaves_out_and_counts_a_sample_without_the_values_it_needs),
    (last_in_the_table, contract.takes_attempts_in_any_order),
    (counting(), contract.takes_attempts_in_any_order),
    (next_to_the_value, contract.has_intervals_that_hold_the_value),
    (half_an_interval, contract.has_intervals_that_hold_the_value),
    (always_narrower, contract.has_wider_intervals_at_higher_levels),
    (naive, contract.is_no_surer_for_attempts_at_the_same_samples),
    (clustered_by_sample, contract.is_no_surer_for_samples_of_the_same_group),
]


@pytest.mark.parametrize(("aggregate", "clause"), BROKEN)
def test_a_bad_aggregate_breaks_its_clause(aggregate: Any, clause: Any) -> None:
    assert broken_by(lambda: check_aggregate(aggregate, ROWS)).clause == words(clause)


def test_an_aggregate_that_changes_its_table_is_found_out() -> None:
    subject = contract._Aggregate(adds_a_row, tuple(ROWS), {})
    clause = contract.gives_the_same_for_the_same_table_and_leaves_it_as_it_is
    error = broken_by(lambda: contract.hold_to("part", object, [clause], subject))
    assert "the table before and after" in str(error)


def test_a_mean_of_another_value_than_it_says_is_none() -> None:
    rows = [{**row, "other": 2.0} for row in ROWS]
    error = broken_by(lambda: check_aggregate(of_another_value, rows))
    assert error.clause == words(contract.is_the_mean_that_its_description_says)


def test_every_clause_can_break() -> None:
    elsewhere = contract.gives_the_same_for_the_same_table_and_leaves_it_as_it_is
    assert clauses([*(clause for _, clause in BROKEN), elsewhere]) == clauses(contract.CLAUSES)


def test_a_good_aggregate_keeps_the_contract() -> None:
    check_aggregate(share, ROWS)


def test_options_are_handed_on() -> None:
    check_aggregate(mean, [{"seconds": n + 0.5} for n in range(12)], field="seconds", name="time")
