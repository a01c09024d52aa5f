"""One row per attempt: of one run or of several in one table, with one column per score value and per metadata key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assay.core.errors import UsageError
from assay.core.types import Failure
from assay.costs.spending import Cost
from assay.results.frames.attempt import Attempt
from assay.results.frames.frame_columns import Cell, Column, ColumnKind, Seen, Table, cell, fields, table_of
from assay.results.frames.frame_source import MOST_METADATA, MOST_VALUES, Only, RunSource, Survey
from assay.results.outcomes import failures_of

ReadAttempt = Callable[[RunSource, Attempt], Any]

_FIRST: tuple[tuple[Column, ReadAttempt], ...] = (
    (Column("run", "text"), lambda run, each: run.label),
    (Column("model", "text"), lambda run, each: run.model),
    (Column("model_label", "text"), lambda run, each: run.run.model_label),
    *fields("text", "task", "sample_id"),
    (Column("index", "int"), lambda run, each: each.record.index),
    *fields("int", "attempt"),
    (Column("metric_definition", "text"), lambda run, each: run.metric_definitions[each.task]),
    *fields("text", "outcome"),
    *fields("float", "score", nullable=True),
)
_LAST: tuple[tuple[Column, ReadAttempt], ...] = (
    *fields("text", "prompt", "prediction", "answer", nullable=True),
    *fields("texts", "targets"),
    (Column("failure_stage", "text", nullable=True), lambda run, each: _failure(each, lambda first: first.stage)),
    (Column("failure_kind", "text", nullable=True), lambda run, each: _failure(each, lambda first: first.kind)),
    (Column("failure_part", "text", nullable=True), lambda run, each: _failure(each, lambda first: first.part)),
    (Column("failure_scorer", "text", nullable=True), lambda run, each: _failure(each, lambda first: first.scorer)),
    (Column("failure_message", "text", nullable=True), lambda run, each: _failure(each, lambda first: first.message)),
    (Column("excluded_by", "texts"), lambda run, each: each.record.excluded),
    *fields("float", "seconds"),
    *fields("int", "tokens_in", "tokens_out", "tokens_reasoning", "cached"),
    (Column("cost", "float", nullable=True), lambda run, each: amount(each.cost)),
    *fields("int", "judge_tokens_in", "judge_tokens_out"),
    (Column("judge_cost", "float", nullable=True), lambda run, each: amount(each.judge_cost)),
    (Column("currency", "text", nullable=True), lambda run, each: currency(each.cost, each.judge_cost)),
    (Column("key", "text"), lambda run, each: each.record.key),
)


def attempts_table(
    runs: Sequence[RunSource], columns: Sequence[str] | None = None, *, only: Only | None = None
) -> Table:
    """The attempts of all the runs, one run after the other; `columns` selects columns, `only` attempts."""
    surveys = [run.survey if only is None else run.survey_of(only) for run in runs]
    every = [*_FIRST, *_score_columns(surveys), *_LAST, *_metadata_columns(surveys)]

    def rows() -> Iterator[tuple[RunSource, Attempt]]:
        for run, survey in zip(runs, surveys, strict=True):
            for attempt in run.attempts(survey=survey):
                yield run, attempt

    return table_of(every, columns, rows)


def _score_columns(surveys: Sequence[Survey]) -> list[tuple[Column, ReadAttempt]]:
    """One for every value of a scorer, and one for a scorer's reasons."""
    rows = sum(map(len, surveys))
    values = _merged([survey.values for survey in surveys])
    if len(values) > MOST_VALUES:
        raise UsageError(
            f"the scorers give more than {MOST_VALUES:,} different values, too many for columns; "
            "`assay.open_run(…).attempts()` has them one attempt at a time"
        )
    columns = []
    for (scorer, name), seen in values.items():
        column = seen.column(f"{scorer}.{name}", rows)
        columns.append((column, _value_reader(scorer, name, column.kind)))
    reasons = _merged([survey.reasons for survey in surveys])
    return [
        *columns,
        *((seen.column(f"{scorer}.reason", rows), _reason_reader(scorer)) for scorer, seen in reasons.items()),
    ]


def _metadata_columns(surveys: Sequence[Survey]) -> list[tuple[Column, ReadAttempt]]:
    rows = sum(map(len, surveys))
    keys = _merged([survey.metadata for survey in surveys])
    if len(keys) > MOST_METADATA:
        return [(Column("metadata", "text"), lambda run, each: cell(each.metadata, "text"))]
    columns = [(key, seen.column(f"metadata.{key}", rows)) for key, seen in keys.items()]
    return [(column, _metadata_reader(key, column.kind)) for key, column in columns]


def _merged(parts: Sequence[dict[Any, Seen]]) -> dict[Any, Seen]:
    """What was seen in all runs."""
    merged: dict[Any, Seen] = {}
    for part in parts:
        for key, seen in part.items():
            merged[key] = merged[key].together(seen) if key in merged else seen
    return merged


def _value_reader(scorer: str, name: str, kind: ColumnKind) -> ReadAttempt:
    def read(run: RunSource, attempt: Attempt) -> Cell:
        for score in attempt.scores:
            if score.name == scorer and name in score.values:
                return cell(score.values[name], kind)
        return None

    return read


def _reason_reader(scorer: str) -> ReadAttempt:
    return lambda run, each: next((score.reason for score in each.scores if score.name == scorer), None)


def _metadata_reader(key: str, kind: ColumnKind) -> ReadAttempt:
    return lambda run, each: cell(each.metadata.get(key), kind)


def _failure(attempt: Attempt, read: Callable[[Failure], str]) -> str | None:
    """A field of the failure that leaves the attempt without a score; where it has one, of the first failure."""
    failures = failures_of(attempt.measure.scorer, attempt.failures) or attempt.failures
    return (read(failures[0]) or None) if failures else None


def amount(cost: Cost | None) -> float | None:
    return None if cost is None else cost.amount


def currency(*costs: Cost | None) -> str | None:
    return next((cost.currency for cost in costs if cost is not None and cost.amount is not None), None)
