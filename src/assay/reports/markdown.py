"""Leaderboards as Markdown: a table that can be pasted into a pull request, and what a reader must know besides."""

from __future__ import annotations

import re

from assay.core.types import Bounds
from assay.printable import one_line, printable
from assay.reports.board import Interval, Leaderboard, TaskRow
from assay.reports.slices import weak_sentences
from assay.reports.spending import costs_something, is_told, money, price_notes
from assay.reports.weak_passes import weak_sentence


def leaderboard_table(board: Leaderboard) -> str:
    """One row per task and the overall score; columns that would be all zero are left out."""
    shown = optional_columns(board)
    partial = ["bounds", "coverage"] if any(row.bounds is not None for row in board.tasks) else []
    judged = is_told(board.judge_cost)
    priced = judged or any(costs_something(row) for row in board.tasks)
    header = [
        "task",
        "metric",
        "score",
        f"{board.level * 100:g} % interval",
        *partial,
        "correct",
        "total",
        *shown,
        "ms",
    ]
    rows = [_cells(row, shown, partial) for row in board.tasks]
    overall = ["**overall**", "", number(board.overall_score), interval(board.overall_interval)]
    overall += [_bounds(board.overall_bounds)] if partial else []
    rows.append([*overall, *[""] * (len(header) - len(overall))])
    if priced:
        header.append("cost")
        costs = [*(row.cost for row in board.tasks), board.cost]
        rows = [[*cells, money(cost)] for cells, cost in zip(rows, costs, strict=True)]
    if judged:
        header.append("judges' cost")
        costs = [*(row.judge_cost for row in board.tasks), board.judge_cost]
        rows = [[*cells, money(cost)] for cells, cost in zip(rows, costs, strict=True)]
    return table(header, rows, numeric_from=2)


def aggregates_table(board: Leaderboard) -> str | None:
    """Every number of the tasks that have more than one; None when no task has."""
    several = [row for row in board.tasks if len(row.aggregates) > 1]
    if not several:
        return None
    rows = [
        [
            escaped(row.task),
            escaped(summary.name),
            number(summary.value),
            "–" if summary.low is None or summary.high is None else f"{summary.low:z.3f} – {summary.high:z.3f}",
            f"{summary.scored:,}",
        ]
        for row in several
        for summary in row.aggregates
    ]
    return table(["task", "aggregate", "value", f"{board.level * 100:g} % interval", "scored"], rows, numeric_from=2)


OPTIONAL = (
    "weak_passes",
    "unscored",
    "failed",
    "timeouts",
    "excluded",
    "owed",
    "truncated",
    "nothing_extracted",
    "left_out",
)


def optional_columns(board: Leaderboard) -> list[str]:
    """Those of the counts that some task has any of."""
    return [column for column in OPTIONAL if any(getattr(row, column) for row in board.tasks)]


def optional_cells(row: TaskRow, shown: list[str]) -> list[str]:
    """A task's counts; a dash where there was nothing to count."""
    counts = [getattr(row, column) for column in shown]
    return ["–" if count is None else f"{count:,}" for count in counts]


def notes(board: Leaderboard) -> list[str]:
    """Sentences for everything that keeps a number from being the whole truth."""
    said = []
    for row in board.tasks:
        if row.refused is not None:
            said.append(f"{row.task}: refused: {row.refused}")
            continue
        broken = row.failed + row.timeouts
        if broken:
            kinds = ", ".join(f"{count} × {kind}" for kind, count in row.failures.items())
            bounds = (
                f"; the score lies between {row.bounds.low:.3f} and {row.bounds.high:.3f} whatever they would have been"
                if row.bounds is not None
                else ""
            )
            said.append(f"{row.task}: {broken} of {row.total} attempts failed ({kinds}){bounds}")
        said.extend(f"{row.task}:   {kind}: {one_line(text)}" for kind, text in row.failure_examples.items())
        if row.unscored:
            without = f"{row.unscored:,} of {row.scored + row.unscored:,} attempts have no value for it"
            said.append(f"{row.task}: the score is over {row.scored:,}: {without}")
        if row.weak_passes:
            said.append(f"{row.task}: {weak_sentence(row.weak_passes, row.scored)}")
        if row.left_out:
            said.append(f"{row.task}: {row.left_out} bad records of the task file were left out")
        if row.score is None and row.reason:
            said.append(f"{row.task}: no score: {row.reason}")
        said.extend(weak_sentences(row.task, row.slices, board.level))
    if board.overall_reason:
        said.append(f"overall: {board.overall_reason}")
    said.extend(board.notices)
    said.extend(price_notes([board]))
    if any(row.refused is None and (row.failed or row.timeouts) for row in board.tasks):
        said.append("the board is not complete; run the same command again to make only the failed attempts again")
    return said


def table(header: list[str], rows: list[list[str]], *, numeric_from: int) -> str:
    """A Markdown table, padded so that it reads well in a terminal too."""
    widths = [max(3, *(len(line[column]) for line in [header, *rows])) for column in range(len(header))]

    def line(cells: list[str]) -> str:
        padded = [
            cell.rjust(width) if column >= numeric_from else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * (width - 1) + ":" if column >= numeric_from else "-" * width for column, width in enumerate(widths)]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def _cells(row: TaskRow, shown: list[str], partial: list[str]) -> list[str]:
    score = "refused" if row.refused is not None else number(row.score)
    return [
        escaped(row.task),
        escaped(row.metric),
        score,
        interval(row.interval),
        *([_bounds(row.bounds), f"{row.coverage:.1%}"] if partial else []),
        "–" if row.correct is None else f"{row.correct:,}",
        f"{row.total:,}",
        *optional_cells(row, shown),
        f"{row.latency_ms:.1f}",
    ]


def number(value: float | None) -> str:
    """A score in a table; a dash where there is none."""
    return "–" if value is None else f"{value:z.3f}"


def interval(found: Interval | None) -> str:
    """An interval in a table."""
    return "–" if found is None else f"{found.low:z.3f} – {found.high:z.3f}"


def _bounds(found: Bounds | None) -> str:
    return "–" if found is None else f"{found.low:z.3f} – {found.high:z.3f}"


def escaped(text: str) -> str:
    """Text that can neither break out of a table cell, nor become a tag, picture or link, nor steer a terminal."""
    plain = printable(_BREAK.sub(" ", text))
    # a backslash of the text's own would undo ours
    return _MARKUP.sub(lambda found: found[1] * 2 + "\\" + found[2], plain)


_BREAK = re.compile(r"[^\S ]")
_MARKUP = re.compile(r"(?<!\\)(\\*+)(\||<(?=[A-Za-z/!?])|(?<=\])\()")
