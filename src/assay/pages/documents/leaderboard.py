"""Leaderboards as tables, with notes for the reader."""

from __future__ import annotations

import re
from collections import Counter

from assay.core.types import Summary
from assay.costs.spending import is_worth_showing, money
from assay.pages.document import Cell, Span, TextTable
from assay.results.board.board_types import Latency, Leaderboard, TaskRow, missing_words
from assay.results.board.cost_notes import costs_something, price_notes
from assay.results.board.overall import coverage_of, is_weighted
from assay.results.board.slices import weak_sentences
from assay.results.board.weak_passes import weak_sentence
from assay.text.ages import age_text, seconds_between
from assay.text.numbers import MISSING, interval, level_text, milliseconds, number, percent
from assay.text.printable import one_line
from assay.text.wording import count_of, few

_RETRIED = re.compile(r" \(after \d+ retr(?:y|ies)\)$")
DROPS = (
    *("ms", "left out", "nothing extracted", "truncated", "judges' cost", "correct", "metric", "coverage", "total"),
    *("cost", "bounds", "unscored", "weak passes", "excluded", "prompts cut", "remaining"),
)
"""Columns that a leaderboard drops where it is too wide: score, interval, failures and timeouts stay."""


def leaderboard_table(board: Leaderboard, *, with_percentiles: bool = False) -> TextTable:
    """One row per task and the overall score; columns that would be all zero are left out.

    `with_percentiles` has two columns for the time of an attempt, where a page has room for them.
    """
    shown = optional_columns(board)
    partial = ["bounds", "coverage"] if any(row.bounds is not None for row in board.tasks) else []
    times = ["p50 ms", "p95 ms"] if with_percentiles else ["ms"]
    header = ["task", "metric", "score", interval_header(board.level), *partial, "correct", "total"]
    header += [*map(heading, shown), *times]
    rows = [[*_cells(row, shown, partial), *_times(row, times)] for row in board.tasks]
    overall: list[Cell] = [
        Span("overall", "strong"),
        "",
        Span(number(board.overall_score), "key"),
        Span(interval(board.overall_interval), "quiet"),
        *([interval(board.overall_bounds)] if partial else []),
    ]
    overall += [""] * (len(header) - len(times) - len(overall))
    rows.append([*overall, *(percentiles(board.latency) if with_percentiles else [""])])
    if any(row.reused is not None for row in board.tasks):
        _add_column(header, rows, "from", [*(reused_from(row, board) for row in board.tasks), ""])
    judged = is_worth_showing(board.judge_cost)
    if judged or any(costs_something(row) for row in board.tasks):
        _add_column(header, rows, "cost", [*(money(row.cost) for row in board.tasks), money(board.cost)])
    if judged:
        costs = [*(row.judge_cost for row in board.tasks), board.judge_cost]
        _add_column(header, rows, "judges' cost", [money(cost) for cost in costs])
    if is_weighted(board.tasks):
        _add_column(header, rows, "weight", [*(f"{row.weight:g}" for row in board.tasks), ""])
    return TextTable(header=header, rows=rows, numeric_from=2, drops=DROPS, summed=True)


def reused_from(row: TaskRow, board: Leaderboard) -> str:
    """Where answers that were not made by this run come from, such as `main@3f2c, 2 d`."""
    if row.reused is None:
        return ""
    made = f"@{row.reused.commit[:4]}" if row.reused.commit else ""
    part = "" if row.reused.attempts == row.total else f"{row.reused.attempts:,} of {row.total:,} "
    rescored = "" if row.reused.whole or part else "rescored "
    return f"{part}{rescored}{row.reused.ref}{made}, {age_text(seconds_between(row.reused.created, board.created))}"


def _times(row: TaskRow, columns: list[str]) -> list[str]:
    return [milliseconds(row.latency_ms)] if len(columns) == 1 else percentiles(row.latency)


def _add_column(header: list[str], rows: list[list[Cell]], name: str, cells: list[str]) -> None:
    header.append(name)
    for row, cell in zip(rows, cells, strict=True):
        row.append(cell)


def aggregates_table(board: Leaderboard, *, without_scores: bool = False) -> TextTable | None:
    """Every number of the tasks that have more than one, or all but their scores; None when no task has."""
    several = [row for row in board.tasks if len(row.aggregates) > 1]
    if not several:
        return None
    broken = any(summary.failed + summary.timeouts for row in several for summary in row.aggregates)
    rows: list[list[Cell]] = [
        [
            row.task,
            summary.name,
            Span(number(summary.value), "key"),
            Span(interval(summary), "quiet"),
            f"{summary.scored:,}",
            *(_failed_cells(row, summary) if broken else []),
        ]
        for row in several
        for summary in row.aggregates[without_scores:]
    ]
    header = ["task", "aggregate", "value", interval_header(board.level), "scored"]
    header += ["bounds", "coverage", "failed"] if broken else []
    return TextTable(header=header, rows=rows, numeric_from=2, drops=("scored", "coverage", "bounds"))


def _failed_cells(row: TaskRow, summary: Summary) -> list[Cell]:
    failed = summary.failed + summary.timeouts
    count = Span(f"{failed:,}", "bad") if failed else "0"
    return [interval(summary.bounds), percent(coverage_of(row, failed)), count]


OPTIONAL = (
    "weak_passes",
    "unscored",
    "failed",
    "timeouts",
    "excluded",
    "remaining",
    "truncated",
    "prompts_cut",
    "nothing_extracted",
    "skipped_records",
)


def heading(column: str) -> str:
    return column.replace("_", " ")


def optional_columns(board: Leaderboard) -> list[str]:
    """The counts that are not 0 for every task."""
    return [column for column in OPTIONAL if any(getattr(row, column) for row in board.tasks)]


def optional_cells(row: TaskRow, shown: list[str]) -> list[str]:
    """A task's counts; a dash where a count does not apply."""
    counts = [getattr(row, column) for column in shown]
    return ["–" if count is None else f"{count:,}" for count in counts]


INCOMPLETE = "incomplete: rerun the same command to run what failed or remains"


def display_names(board: Leaderboard) -> list[str]:
    """Display names of tasks and scorers that differ from their keys, and purposes of scorers other than `score`."""
    names = [f"{row.task}: {row.display_name}" for row in board.tasks if row.display_name not in (None, row.task)]
    for row in board.tasks:
        for scorer in row.scorers:
            named = f": {scorer.display_name}" if scorer.display_name not in (None, scorer.key) else ""
            purpose = f" (purpose: {scorer.purpose})" if scorer.purpose != "score" else ""
            if named or purpose:
                names.append(f"{row.task}, scorer {scorer.key}{named}{purpose}")
    return names


def notes(board: Leaderboard, *, known: str = "", with_prices: bool = True) -> list[str]:
    """Notes on everything that limits what the numbers show.

    Reasons that the text `known` already gives are not repeated; without `with_prices` prices are left out.
    """
    return [*failure_sentences(board, known), *other_notes(board, with_prices=with_prices)]


def other_notes(board: Leaderboard, *, with_prices: bool = True) -> list[str]:
    """Those that are not about failed attempts."""
    sentences = []
    for row in board.tasks:
        if row.refused is not None:
            sentences.append(f"{row.task}: refused: {row.refused}")
            continue
        if row.asked_again:
            times = ", ".join(f"`{scorer}` {count:,}" for scorer, count in row.asked_again.items())
            sentences.append(f"{row.task}: judges asked again because a verdict was unusable: {times} ×")
        if row.unscored:
            without = f"{row.unscored:,} of {row.scored + row.unscored:,} attempts have no value for it"
            sentences.append(f"{row.task}: the score is over {row.scored:,}: {without}")
        if row.weak_passes:
            sentences.append(f"{row.task}: {weak_sentence(row.weak_passes, row.scored)}")
        if row.skipped_records:
            sentences.append(f"{row.task}: {row.skipped_records} bad records of the task file were skipped")
        if row.score is None and row.reason and not _is_explained(row):
            sentences.append(f"{row.task}: no score: {row.reason}")
        sentences.extend(weak_sentences(row.task, row.slices, board.level))
    sentences.extend(_remaining(board))
    unscored = [row for row in board.tasks if row.score is None]
    if board.overall_reason and not (unscored and all(map(_is_explained, unscored))):
        sentences.append(f"overall: {board.overall_reason}")
    sentences.extend(board.notices)
    sentences.extend(price_notes([board]) if with_prices else [])
    if any(row.refused is None and (row.failed or row.timeouts or row.remaining) for row in board.tasks):
        sentences.append(INCOMPLETE)
    return sentences


def _is_explained(row: TaskRow) -> bool:
    """Whether the notes on failed and remaining attempts explain why the task has no score."""
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
    taken = "= " if row.reused is not None and row.reused.whole else ""
    score = Span("refused", "bad") if row.refused is not None else Span(f"{taken}{number(row.score)}", "key")
    counts = zip(shown, optional_cells(row, shown), strict=True)
    return [
        row.task,
        Span(row.metric_definition, "quiet"),
        score,
        Span(interval(row.interval), "quiet"),
        *([interval(row.bounds), percent(row.coverage)] if partial else []),
        "–" if row.correct is None else f"{row.correct:,}",
        f"{row.total:,}",
        *(Span(text, "bad") if column in BROKEN and text != "0" else text for column, text in counts),
    ]


def failure_sentences(board: Leaderboard, known: str = "", *, with_bounds: bool = True) -> list[str]:
    """What failed, by kind and with its cause, over all tasks: the table says where. Causes in `known` are left out."""
    rows = [row for row in board.tasks if row.refused is None and row.failed + row.timeouts]
    if not rows:
        return []
    kinds: Counter[str] = Counter()
    for row in rows:
        kinds.update(row.failures)
    counts = ", ".join(f"{count:,} × {kind}" for kind, count in kinds.most_common())
    broken = sum(row.failed + row.timeouts for row in rows)
    total = sum(row.total for row in (rows if len(rows) == 1 else board.tasks))
    where = f"{rows[0].task}: " if len(rows) == 1 and len(board.tasks) > 1 else ""
    missing = missing_words(rows[0]) if len(rows) == 1 else ""
    within = ""
    if with_bounds and len(rows) == 1 and (bounds := rows[0].bounds) is not None:
        ends = f"{number(bounds.low)} and {number(bounds.high)}"
        within = f"; the score lies between {ends} whatever they would have been"
    causes = [cause for kind, _ in kinds.most_common() for cause in _causes(kind, rows, known)]
    return [f"{where}{broken:,} of {total:,} attempts failed ({counts}){missing}{within}", *causes]


_MOST_CAUSES = 3
"""Of one kind; the samples have the others."""


def _causes(kind: str, rows: list[TaskRow], known: str) -> list[str]:
    """What was said of failures of a kind; with their tasks, where several things were."""
    tasks: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for row in rows:
        text = row.failure_examples.get(kind)
        if text is not None and _RETRIED.sub("", text) not in known:
            tasks.setdefault(_RETRIED.sub("", text), []).append(row.task)
            texts.setdefault(_RETRIED.sub("", text), text)
    if len(tasks) == 1:
        return [f"{kind}: {one_line(text)}" for text in texts.values()]
    left = len(tasks) - _MOST_CAUSES
    shown = [f"{kind} in {few(names)}: {one_line(texts[said])}" for said, names in list(tasks.items())[:_MOST_CAUSES]]
    return [*shown, *([f"{kind}: {left:,} other messages"] if left > 0 else [])]


BROKEN = ("weak_passes", "failed", "timeouts", "remaining")


def interval_header(level: float) -> str:
    return f"{level_text(level)} interval"


def these_questions(board: Leaderboard) -> str:
    """Which questions the score is of, such as `these 32 questions`."""
    repeat = int(board.settings.get("repeat") or 1)
    run, left_out = (sum(getattr(row, name) for row in board.tasks) // repeat for name in ("total", "left_out"))
    return f"these {run:,} of {run + left_out:,} questions" if left_out else f"these {count_of(run, 'question')}"


def score_sentence(board: Leaderboard) -> str:
    """The score, with what it is of and what its interval is about."""
    if board.overall_score is None:
        return "none"
    between = f"; {interval(board.overall_interval)} on such questions" if board.overall_interval else ""
    over = f", the mean of {len(board.tasks):,} tasks" if len(board.tasks) > 1 else ""
    return f"{number(board.overall_score)} on {these_questions(board)}{over}{between}"


def scope(board: Leaderboard) -> str:
    """What the scores are of, and what their intervals are about."""
    return (
        f"Scores are of the answers to {these_questions(board)}; intervals are about such questions, "
        "of which these are a sample."
    )


def percentiles(latency: Latency | None) -> list[str]:
    """p50 and p95 in a table."""
    return [MISSING, MISSING] if latency is None else [milliseconds(latency.p50), milliseconds(latency.p95)]
