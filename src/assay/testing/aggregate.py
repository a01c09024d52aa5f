"""What every aggregate must do."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from assay.core.describe import About, Mean, Value, Whole, about
from assay.core.seams import Aggregate
from assay.core.types import PartSpec, ScoreValue, Summary
from assay.results.measure import described_measure
from assay.stats.score_table import ScoreTable
from assay.tasks.descriptions import as_task_says
from assay.testing.contract import clauses_about, expect, given, hold_to, picture, same, shown

ScoreRow = Mapping[str, ScoreValue]
LEVELS = (0.5, 0.8, 0.95, 0.99)
TIMES = 4
ROUNDING = 1e-9
NARROWEST = 0.75
"""The least width, as a share, after repeating every row: clustered methods do not agree to the last digit."""


class _Aggregate(NamedTuple):
    function: Aggregate
    rows: Sequence[ScoreRow]
    options: Mapping[str, Any]

    @property
    def about(self) -> About | None:
        """What it says of itself with these options, and the task's `bounds`."""
        said = about(self.function, self.options)
        return None if said is None else as_task_says(said, self.options)

    def of(self, table: ScoreTable, level: float = 0.95) -> list[Summary]:
        with given(f"rows={shown(self.rows)}", f"options={shown(dict(self.options))}", f"level={level}"):
            summaries = self.function(table, level=level, **self.options)
            expect(isinstance(summaries, list), f"returned {shown(summaries)}, no list of summaries")
            expect(len(summaries) > 0, "returned an empty list: where there is no number, a summary says why")
            for summary in summaries:
                expect(isinstance(summary, Summary), f"returned a list with {shown(summary)}, no `assay.Summary`")
            return summaries

    def table(self, attempts: int = 1, *, in_groups: bool = False, seed: int | None = None) -> ScoreTable:
        """The rows as a table: each so many times, as attempts of one sample or as samples of one group."""
        rows = [(sample, attempt) for sample in range(len(self.rows)) for attempt in range(attempts)]
        if seed is not None:
            random.Random(seed).shuffle(rows)
        table = ScoreTable()
        for sample, attempt in rows:
            if in_groups:
                table.add(self.rows[sample], sample=sample * attempts + attempt, group=f"group {sample}")
            else:
                table.add(self.rows[sample], sample=sample, attempt=attempt + 1)
        return table


def check_aggregate(aggregate: Aggregate, rows: Iterable[ScoreRow], **options: Any) -> None:
    """`BrokenContractError` where an aggregate makes a number of nothing, counts a failure as a score, or is surer than
    its samples allow.

    `rows` are what its scorer gives, the values of one sample each: ten or more, not all alike. `options` are its own.
    """
    hold_to("aggregate", aggregate, CLAUSES, _Aggregate(aggregate, tuple(rows), options))


def gives_numbers_that_are_finite_or_a_reason_why_not(aggregate: _Aggregate) -> None:
    for summary in aggregate.of(aggregate.table()):
        with given(f"summary `{summary.name}` of rows={shown(aggregate.rows)}"):
            for part in ("value", "low", "high"):
                number = getattr(summary, part)
                expect(number is None or math.isfinite(number), f"{part} is {number!r}")
            expect(summary.value is not None or bool(summary.reason), "there is neither a value nor a reason")


def gives_every_number_a_name_of_its_own(aggregate: _Aggregate) -> None:
    names = [summary.name for summary in aggregate.of(aggregate.table())]
    expect(all(names), "a number has no name")
    expect(len({*names}) == len(names), f"the names are {shown(names)}")


def gives_plain_data(aggregate: _Aggregate) -> None:
    for summary in aggregate.of(aggregate.table()):
        try:
            msgspec.json.encode(summary)
        except (TypeError, ValueError, OverflowError) as error:
            expect(False, f"JSON cannot hold `{summary.name}`: {error}")


def has_no_value_where_nothing_was_scored(aggregate: _Aggregate) -> None:
    broken = ScoreTable()
    for sample in range(3):
        broken.add_failure(sample=sample, timeout=sample == 0)
    for table, what in ((ScoreTable(), "an empty table"), (broken, "a table of three failures")):
        for summary in aggregate._replace(rows=()).of(table):
            with given(what):
                expect(summary.value is None, f"`{summary.name}` is {summary.value}")
                expect(summary.low is None and summary.high is None, f"`{summary.name}` has an interval")
                expect(bool(summary.reason), f"`{summary.name}` does not say why it has no value")


def counts_failures_and_never_scores_them(aggregate: _Aggregate) -> None:
    table = aggregate.table()
    for more in range(5):
        table.add_failure(sample=len(aggregate.rows) + more, timeout=more < 2)
    whole = {summary.name: summary for summary in aggregate.of(aggregate.table())}
    for summary in aggregate.of(table):
        with given(f"rows={shown(aggregate.rows)} and five failures, two of them timeouts"):
            before = whole.get(summary.name)
            expect(before is not None, f"there is a number `{summary.name}`, which was not there before")
            value, without = summary.value, before and before.value
            same(without, value, f"`{summary.name}` without the failures and with them")
            same((3, 2), (summary.failed, summary.timeouts), f"failures and timeouts of `{summary.name}`")


def leaves_out_and_counts_a_sample_without_the_values_it_needs(aggregate: _Aggregate) -> None:
    table = aggregate.table()
    table.add({"a value of another name": 1.0}, sample=len(aggregate.rows))
    whole = {summary.name: summary for summary in aggregate.of(aggregate.table())}
    for summary in aggregate.of(table):
        before = whole.get(summary.name)
        if before is not None and before.value is not None:
            with given(f"rows={shown(aggregate.rows)} and a sample with none of these values"):
                same(before.value, summary.value, f"`{summary.name}` without that sample and with it")
                same(
                    (before.scored, before.unscored + 1),
                    (summary.scored, summary.unscored),
                    f"what `{summary.name}` should and does count as scored and unscored",
                )


def takes_attempts_in_any_order(aggregate: _Aggregate) -> None:
    in_order = picture(aggregate.of(aggregate.table(2)))
    for seed in range(3):
        with given(f"rows={shown(aggregate.rows)}, each twice, in another order (random.Random({seed}))"):
            same(in_order, picture(aggregate.of(aggregate.table(2, seed=seed))), "the summaries")


def gives_the_same_for_the_same_table_and_leaves_it_as_it_is(aggregate: _Aggregate) -> None:
    table = aggregate.table()
    before = (len(table), table.names, table.failed, table.timeouts, picture(table.labels(*table.names).codes.tolist()))
    first, second = picture(aggregate.of(table)), picture(aggregate.of(table))
    same(first, second, "two calls")
    after = (len(table), table.names, table.failed, table.timeouts, picture(table.labels(*table.names).codes.tolist()))
    same(before, after, "the table before and after")


def has_intervals_that_hold_the_value(aggregate: _Aggregate) -> None:
    for summary in aggregate.of(aggregate.table()):
        with given(f"rows={shown(aggregate.rows)}"):
            message = f"`{summary.name}` is {summary.value} in [{summary.low}, {summary.high}]"
            expect((summary.low is None) == (summary.high is None), message)
            if summary.low is not None and summary.high is not None:
                expect(summary.value is not None and summary.low <= summary.value <= summary.high, message)


def has_wider_intervals_at_higher_levels(aggregate: _Aggregate) -> None:
    table = aggregate.table()
    by_level = [{summary.name: summary for summary in aggregate.of(table, level)} for level in LEVELS]
    for at, (lower, higher) in enumerate(pairwise(by_level)):
        for name in lower.keys() & higher.keys():
            narrow, wide = lower[name], higher[name]
            if narrow.low is None or narrow.high is None or wide.low is None or wide.high is None:
                continue
            with given(f"rows={shown(aggregate.rows)}"):
                message = (
                    f"[{narrow.low}, {narrow.high}] at {LEVELS[at]}, [{wide.low}, {wide.high}] at {LEVELS[at + 1]}"
                )
                expect(wide.low <= narrow.low and narrow.high <= wide.high, f"`{name}` has the intervals {message}")


def is_no_surer_for_attempts_at_the_same_samples(aggregate: _Aggregate) -> None:
    _no_surer(aggregate, aggregate.table(TIMES), f"each {TIMES} times, as attempts at one sample")


def is_no_surer_for_samples_of_the_same_group(aggregate: _Aggregate) -> None:
    _no_surer(aggregate, aggregate.table(TIMES, in_groups=True), f"each {TIMES} times, as samples of one group")


def is_the_mean_that_its_description_says(aggregate: _Aggregate) -> None:
    """For an aggregate that says so with `describes`: paired tests subtract the numbers that it averages."""
    part = PartSpec(key="aggregate", use="aggregate", options=dict(aggregate.options), about=aggregate.about)
    if isinstance(part.about, Mean):
        table = aggregate.table()
        problem = described_measure(part, "the aggregate").misdescribed(table, aggregate.of(table)[0].value)
        expect(problem is None, str(problem))


def never_falls_as_the_number_that_it_names_rises(aggregate: _Aggregate) -> None:
    """For an aggregate that says so: failures and attempts that are not made yet bound it."""
    match aggregate.about:
        case Mean(value=value, weights=None, same_as=None, rising=patterns):
            names = patterns
        case Whole(rises_with=Value() as value):
            names = ("*",)
        case _:
            return
    before = {summary.name: summary.value for summary in aggregate.of(aggregate.table())}
    for place in range(0, len(aggregate.rows), max(1, len(aggregate.rows) // 5)):
        rows = [*aggregate.rows]
        rows[place] = _raised(rows[place], value)
        changed = aggregate._replace(rows=rows)
        for summary in changed.of(changed.table()):
            old = before.get(summary.name)
            if old is not None and summary.value is not None and any(fnmatchcase(summary.name, name) for name in names):
                with given(f"rows={shown(aggregate.rows)}, `{value.name}` of row {place} raised"):
                    expect(summary.value >= old - ROUNDING, f"`{summary.name}` fell from {old} to {summary.value}")


def _raised(row: ScoreRow, value: Value) -> ScoreRow:
    """The row with a higher number, in the range that is described."""
    number = row.get(value.name)
    if not isinstance(number, int | float):
        return row
    return {**row, value.name: number + 1.0 if value.range is None else value.range[1]}


CLAUSES = clauses_about("_Aggregate", globals())


def _no_surer(aggregate: _Aggregate, repeated: ScoreTable, how: str) -> None:
    """Repeated rows add no information: an interval that gets narrower treats them as independent."""
    once = {summary.name: width for summary in aggregate.of(aggregate.table()) if (width := _width(summary))}
    for summary in aggregate.of(repeated):
        width = _width(summary)
        if width is not None and summary.name in once:
            with given(f"rows={shown(aggregate.rows)}, {how}"):
                message = (
                    f"the interval of `{summary.name}` is {width:.4g} wide, and {once[summary.name]:.4g} without them"
                )
                expect(width >= NARROWEST * once[summary.name], message)


def _width(summary: Summary) -> float | None:
    return None if summary.low is None or summary.high is None else summary.high - summary.low
