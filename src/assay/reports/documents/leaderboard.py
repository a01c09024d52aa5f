"""Leaderboards as tables, with notes for the reader."""

from __future__ import annotations

import re

from assay.core.types import Bounds
from assay.costs.spending import is_told, money
from assay.printable import one_line
from assay.reports.board.cost_notes import costs_something, price_notes
from assay.reports.board.slices import weak_sentences
from assay.reports.board.types import Leaderboard, ScoreInterval, TaskRow
from assay.reports.board.weak_passes import weak_sentence
from assay.reports.document import Cell, Span, TextTable
from assay.wording import few

_RETRIED = re.compile(r" \(after \d+ retr(?:y|ies)\)$")
DROPS = (
    *("metric", "ms", "left out", "nothing extracted", "truncated", "judges' cost", "coverage", "total", "correct"),
    *("cost", "bounds", "unscored", "weak passes", "excluded", "remaining"),
)
"""Columns that a leaderboard drops where there is no room: score, interval, failures and timeouts stay."""


def leaderboard_table(board: Leaderboard) -> TextTable:
    """One row per task and the overall score; columns that would be all zero are left out."""
    shown = optional_columns(board)
    partial = ["bounds", "coverage"] if any(row.bounds is not None for row in board.tasks) else []
    judged = is_told(board.judge_cost)
    priced = judged or any(costs_something(row) for row in board.tasks)
    header = ["task", "metric", "score", interval_header(board.level), *partial, "correct", "total"]
    header += [*map(heading, shown), "ms"]
    rows = [_cells(row, shown, partial) for row in board.tasks]
    overall: list[Cell] = [
        Span("overall", "strong"),
        "",
        Span(number(board.overall_score), "key"),
        Span(interval(board.overall_interval), "quiet"),
        *([interval(board.overall_bounds)] if partial else []),
    ]
    rows.append([*overall, *[""] * (len(header) - len(overall))])
    if priced:
        header.append("cost")
        costs = [*(row.cost for row in board.tasks), board.cost]
        rows = [[*cells, money(cost)] for cells, cost in zip(rows, costs, strict=True)]
    if judged:
        header.append("judges' cost")
        costs = [*(row.judge_cost for row in board.tasks), board.judge_cost]
        rows = [[*cells, money(cost)] for cells, cost in zip(rows, costs, strict=True)]
    return TextTable(header=header, rows=rows, numeric_from=2, drops=DROPS)


def aggregates_table(board: Leaderboard) -> TextTable | None:
    """Every number of the tasks that have more than one; None when no task has."""
    several = [row for row in board.tasks if len(row.aggregates) > 1]
    if not several:
        return None
    rows: list[list[Cell]] = [
        [
            row.task,
            summary.name,
            Span(number(summary.value), "key"),
            Span(
                "–" if summary.low is None or summary.high is None else f"{summary.low:z.3f} – {summary.high:z.3f}",
                "quiet",
            ),
            f"{summary.scored:,}",
        ]
        for row in several
        for summary in row.aggregates
    ]
    header = ["task", "aggregate", "value", interval_header(board.level), "scored"]
    return TextTable(header=header, rows=rows, numeric_from=2, drops=("scored",))


OPTIONAL = (
    "weak_passes",
    "unscored",
    "failed",
    "timeouts",
    "excluded",
    "remaining",
    "truncated",
    "nothing_extracted",
    "left_out",
)


def heading(column: str) -> str:
    """A count's name as people read it."""
    return column.replace("_", " ")


def optional_columns(board: Leaderboard) -> list[str]:
    """Those of the counts that some task has any of."""
    return [column for column in OPTIONAL if any(getattr(row, column) for row in board.tasks)]


def optional_cells(row: TaskRow, shown: list[str]) -> list[str]:
    """A task's counts; a dash where there was nothing to count."""
    counts = [getattr(row, column) for column in shown]
    return ["–" if count is None else f"{count:,}" for count in counts]


INCOMPLETE = "incomplete: rerun the same command to run what failed or remains"


def display_names(board: Leaderboard) -> list[str]:
    """The display names of tasks and scorers, if they differ from the keys, and which scorers only assure quality."""
    said = [f"{row.task}: {row.display_name}" for row in board.tasks if row.display_name not in (None, row.task)]
    for row in board.tasks:
        for scorer in row.scorers:
            named = f": {scorer.display_name}" if scorer.display_name not in (None, scorer.key) else ""
            purpose = f" (purpose: {scorer.purpose})" if scorer.purpose != "score" else ""
            if named or purpose:
                said.append(f"{row.task}, scorer {scorer.key}{named}{purpose}")
    return said


def notes(board: Leaderboard, *, known: str = "", with_prices: bool = True) -> list[str]:
    """Notes on everything that limits what the numbers show.

    A reason that the text `known` already gives is not repeated; nor are prices where many boards share them.
    """
    said = []
    alike = _failing_alike(board)
    for row in board.tasks:
        if row.refused is not None:
            said.append(f"{row.task}: refused: {row.refused}")
            continue
        together = alike.get(_why(row), [row])
        if row is together[0]:
            said.extend(_failure_sentences(together, board, known))
        if row.unscored:
            without = f"{row.unscored:,} of {row.scored + row.unscored:,} attempts have no value for it"
            said.append(f"{row.task}: the score is over {row.scored:,}: {without}")
        if row.weak_passes:
            said.append(f"{row.task}: {weak_sentence(row.weak_passes, row.scored)}")
        if row.left_out:
            said.append(f"{row.task}: {row.left_out} bad records of the task file were left out")
        if row.score is None and row.reason and not _is_explained(row):
            said.append(f"{row.task}: no score: {row.reason}")
        said.extend(weak_sentences(row.task, row.slices, board.level))
    said.extend(_remaining(board))
    unscored = [row for row in board.tasks if row.score is None]
    if board.overall_reason and not (unscored and all(map(_is_explained, unscored))):
        said.append(f"overall: {board.overall_reason}")
    said.extend(board.notices)
    said.extend(price_notes([board]) if with_prices else [])
    if any(row.refused is None and (row.failed or row.timeouts or row.remaining) for row in board.tasks):
        said.append(INCOMPLETE)
    return said


def _is_explained(row: TaskRow) -> bool:
    """Whether what is said of failed and remaining attempts is why the task has no score."""
    return row.refused is None and row.total > 0 and row.failed + row.timeouts + row.remaining == row.total


def _remaining(board: Leaderboard) -> list[str]:
    """The attempts that are not yet run, in one sentence."""
    rows = [row for row in board.tasks if row.refused is None and row.remaining]
    if not rows:
        return []
    remaining, total = sum(row.remaining for row in rows), sum(row.total for row in rows)
    if len(rows) == 1:
        return [f"{rows[0].task}: {remaining:,} of {total:,} attempts are not yet run"]
    untouched = [row.task for row in rows if row.remaining == row.total]
    parts = [f"{row.remaining:,} of {row.task}" for row in rows if row.remaining < row.total]
    parts += [f"all of {few(untouched)}"] if untouched else []
    return [f"{remaining:,} of {total:,} attempts are not yet run: {few(parts)}"]


def _cells(row: TaskRow, shown: list[str], partial: list[str]) -> list[Cell]:
    score = Span("refused", "bad") if row.refused is not None else Span(number(row.score), "key")
    counts = zip(shown, optional_cells(row, shown), strict=True)
    return [
        row.task,
        Span(row.metric, "quiet"),
        score,
        Span(interval(row.interval), "quiet"),
        *([interval(row.bounds), f"{row.coverage:.1%}"] if partial else []),
        "–" if row.correct is None else f"{row.correct:,}",
        f"{row.total:,}",
        *(Span(text, "bad") if column in BROKEN and text != "0" else text for column, text in counts),
        f"{row.latency_ms:.1f}",
    ]


def _failing_alike(board: Leaderboard) -> dict[tuple[object, ...], list[TaskRow]]:
    """Tasks that failed for exactly the same reasons: one server outage is reported once."""
    found: dict[tuple[object, ...], list[TaskRow]] = {}
    for row in board.tasks:
        if row.refused is None and row.failed + row.timeouts:
            found.setdefault(_why(row), []).append(row)
    return {why: rows for why, rows in found.items() if len(rows) > 1}


def _why(row: TaskRow) -> tuple[object, ...]:
    return (*sorted(row.failures), *sorted(row.failure_examples.items()))


def _failure_sentences(rows: list[TaskRow], board: Leaderboard, known: str) -> list[str]:
    """How many attempts at these tasks failed, and why."""
    broken, total = sum(row.failed + row.timeouts for row in rows), sum(row.total for row in rows)
    names = "every task" if 1 < len(rows) == len(board.tasks) else few([row.task for row in rows])
    said = []
    if broken:
        counts = {kind: sum(row.failures[kind] for row in rows) for kind in rows[0].failures}
        kinds = ", ".join(f"{count:,} × {kind}" for kind, count in counts.items())
        sure = ""
        if len(rows) == 1 and (bounds := rows[0].bounds) is not None:
            sure = f"; the score lies between {bounds.low:.3f} and {bounds.high:.3f} whatever they would have been"
        said.append(f"{names}: {broken:,} of {total:,} attempts failed ({kinds}){sure}")
    where = f"{names}:   " if len(rows) == 1 else ""
    examples = ((kind, one_line(text)) for kind, text in rows[0].failure_examples.items())
    return [*said, *(f"{where}{kind}: {text}" for kind, text in examples if _RETRIED.sub("", text) not in known)]


BROKEN = ("weak_passes", "failed", "timeouts", "remaining")


def interval_header(level: float) -> str:
    return f"{level * 100:g} % interval"


def number(value: float | None) -> str:
    """A score in a table; a dash where there is none."""
    return "–" if value is None else f"{value:z.3f}"


def interval(found: ScoreInterval | Bounds | None) -> str:
    """An interval, or the score at both ends of the failed attempts, in a table."""
    return "–" if found is None else f"{found.low:z.3f} – {found.high:z.3f}"
