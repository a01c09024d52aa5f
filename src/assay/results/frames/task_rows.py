"""One row per task: the leaderboards of one or more runs as a table, with the leaderboards' own numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay.core.types import Summary
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.frames.attempt_rows import amount, currency
from assay.results.frames.frame_columns import Column, ColumnKind, Table, fields, table_of
from assay.results.frames.frame_source import RunSource

ReadTask = Callable[[RunSource, Leaderboard, TaskRow], Any]


def _end(of: str, name: str) -> ReadTask:
    return lambda run, board, row: getattr(part, name) if (part := getattr(row, of)) is not None else None


_COLUMNS: tuple[tuple[Column, ReadTask], ...] = (
    (Column("run", "text"), lambda run, board, row: run.label),
    (Column("model", "text"), lambda run, board, row: run.model),
    (Column("model_label", "text"), lambda run, board, row: run.run.model_label),
    *fields("text", "task", "metric", "metric_definition"),
    *fields("text", "category", nullable=True),
    *fields("float", "score", nullable=True),
    (Column("low", "float", nullable=True), _end("interval", "low")),
    (Column("high", "float", nullable=True), _end("interval", "high")),
    (Column("level", "float"), lambda run, board, row: board.level),
    (Column("interval_method", "text", nullable=True), _end("interval", "method")),
    (Column("bounds_low", "float", nullable=True), _end("bounds", "low")),
    (Column("bounds_high", "float", nullable=True), _end("bounds", "high")),
    *fields("text", "reason", "refused", nullable=True),
    *fields("bool", "lower_is_better", "has_score", "complete"),
    *fields("float", "coverage"),
    *fields("int", "correct", nullable=True),
    *fields("int", "total", "scored", "unscored", "failed", "timeouts", "excluded", "remaining"),
    *fields("int", "truncated", "prompts_cut", "nothing_extracted", "skipped_records"),
    *fields("int", "weak_passes", nullable=True),
    *fields("int", "tokens_in", "tokens_out", "tokens_unknown", "cached", "from_earlier_runs"),
    *fields("int", "judge_tokens_in", "judge_tokens_out"),
    (Column("cost", "float", nullable=True), lambda run, board, row: amount(row.cost)),
    (Column("judge_cost", "float", nullable=True), lambda run, board, row: amount(row.judge_cost)),
    (Column("currency", "text", nullable=True), lambda run, board, row: currency(row.cost, row.judge_cost)),
    *fields("float", "latency_ms"),
    (Column("latency_p50_ms", "float", nullable=True), _end("latency", "p50")),
    (Column("latency_p95_ms", "float", nullable=True), _end("latency", "p95")),
    *fields("text", "signature", "sha256", "fingerprint"),
)


def tasks_table(runs: Sequence[RunSource], columns: Sequence[str] | None = None) -> Table:
    """The tasks of all the runs; aggregates and repetitions (`pass@k`) have their own columns, with intervals."""
    every = list(_COLUMNS)
    for of in ("aggregates", "repetitions"):
        for name in dict.fromkeys(
            summary.name for run in runs for row in run.board.tasks for summary in getattr(row, of)
        ):
            for end, kind in _ENDS.items():
                title = f"{of}.{name}" if end == "value" else f"{of}.{name}.{end}"
                every.append((Column(title, kind, nullable=True), _summary(of, name, end)))
    return table_of(every, columns, lambda: ((run, run.board, row) for run in runs for row in run.board.tasks))


_ENDS: dict[str, ColumnKind] = {
    "value": "float",
    "low": "float",
    "high": "float",
    "scored": "int",
    "unscored": "int",
    "bounds_low": "float",
    "bounds_high": "float",
}
"""Of each aggregate: its value and interval, how many it is over, and its bounds, given the open attempts."""


def _summary(of: str, name: str, end: str) -> ReadTask:
    def read(run: RunSource, board: Leaderboard, row: TaskRow) -> float | int | None:
        summaries: list[Summary] = getattr(row, of)
        summary = next((summary for summary in summaries if summary.name == name), None)
        if summary is None:
            return None
        if not end.startswith("bounds_"):
            number: float | int | None = getattr(summary, end)
            return number
        bounds = summary.bounds
        return None if bounds is None else bounds.low if end == "bounds_low" else bounds.high

    return read
