"""The sections of a report, each made of one result or of several side by side; None where there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core.types import Summary
from assay.costs.spending import is_told, money
from assay.reports.board.cost_notes import price_notes
from assay.reports.board.types import Leaderboard, TaskRow
from assay.reports.charts.figure import figures
from assay.reports.charts.forest import slices_chart
from assay.reports.charts.sections import calibration_charts
from assay.reports.diff.columns import Side
from assay.reports.documents.leaderboard import interval, notes, number, optional_cells, optional_columns
from assay.reports.documents.more_tables import (
    IF_CALIBRATED,
    JUDGE_COLUMNS,
    REPETITIONS,
    TOKEN_COLUMNS,
    TOKENS,
    attempts_of,
    if_calibrated_text,
    left_out_text,
)
from assay.reports.html.element import Child, Html, tag
from assay.reports.html.page import asked, grid, listed, said, shown_of
from assay.reports.per_example import PerExample

Named = Sequence[tuple[str, Side]]
"""Results with the labels they go by."""


def task_table(board: Leaderboard) -> Child:
    """The leaderboard of one run."""
    shown = optional_columns(board)
    header = ["task", "metric", "score", f"{board.level * 100:g} % interval", "correct", "total", "coverage"]
    header += [*(column.replace("_", " ") for column in shown), "p50 ms", "p95 ms", "cost"]
    rows = [_task_cells(row, shown) for row in board.tasks]
    judged: list[Child] = []
    if is_told(board.judge_cost):
        header.append("judges' cost")
        rows = [[*cells, money(row.judge_cost)] for cells, row in zip(rows, board.tasks, strict=True)]
        judged = [money(board.judge_cost)]
    last: list[Child] = ["overall", "", number(board.overall_score), interval(board.overall_interval), "", ""]
    last += ["", *[""] * len(shown)]
    last += [f"{board.latency.p50:.1f}", f"{board.latency.p95:.1f}"] if board.latency else ["", ""]
    method = board.overall_interval.method if board.overall_interval else ""
    return [
        grid(header, rows, numeric=range(2, len(header)), last=[*last, money(board.cost), *judged]),
        tag("p", f"Overall is the mean of the task scores (interval: {method}).", class_="soft") if method else None,
    ]


def _task_cells(row: TaskRow, shown: list[str]) -> list[Child]:
    score: Child = number(row.score)
    if row.refused is not None:
        score = tag("span", "refused", class_="bad", title=row.refused)
    return [
        row.task,
        row.metric,
        score,
        interval(row.interval),
        "–" if row.correct is None else f"{row.correct:,}",
        f"{row.total:,}",
        f"{row.coverage * 100:.0f} %",
        *optional_cells(row, shown),
        "–" if row.latency is None else f"{row.latency.p50:.1f}",
        "–" if row.latency is None else f"{row.latency.p95:.1f}",
        money(row.cost),
    ]


def notes_section(named: Named) -> Child:
    """Each sentence once, with the results that it is about."""
    about: dict[str, list[str]] = {}
    for label, side in named:
        for note in notes(side.board):
            about.setdefault(note, []).append(label)
    sentences: list[Child] = [
        [tag("b", "all" if len(labels) == len(named) else ", ".join(labels)), ": ", note] if len(named) > 1 else note
        for note, labels in about.items()
    ]
    return listed(sentences) if sentences else None


def repetitions_section(named: Named) -> Child:
    rows: list[list[Child]] = []
    names: list[str] = []
    for label, side in named:
        for row in side.board.tasks:
            if row.repetitions:
                names = [name.format(k=attempts_of(row)) for name in REPETITIONS]
                found = {each.name: each for each in row.repetitions}
                cells = [[_number_cell(found.get(name)), _left_out(found.get(name))] for name in names]
                rows.append([*([label] if len(named) > 1 else []), row.task, *cells])
    if not rows:
        return None
    first = ["model", "task"] if len(named) > 1 else ["task"]
    return [
        grid([*first, *names], rows, numeric=range(len(first), len(first) + len(names))),
        tag(
            "p",
            "pass@k: at least one of k attempts is right. pass^k: all are. majority@k: more than half are. worst@k: "
            "expected worst score of k. consistency: samples whose attempts all score the same.",
            class_="soft",
        ),
    ]


def slices_section(named: Named) -> Child:
    rows: list[list[Child]] = [
        [
            *([label] if len(named) > 1 else []),
            row.task,
            f"{each.by} = {each.value}",
            number(each.score),
            interval(each.interval),
            f"{each.scored:,}",
            number(each.rest),
            tag("span", "weak", class_="tag bad") if each.weak else "",
        ]
        for label, side in named
        for row in side.board.tasks
        for each in row.slices
    ]
    if not rows:
        return None
    first = ["model", "task"] if len(named) > 1 else ["task"]
    header = [*first, "slice", "score", f"{named[0][1].board.level * 100:g} % interval", "scored", "rest", "note"]
    chart = slices_chart([(label, side.board) for label, side in named])
    return [
        figures([chart]) if chart is not None else None,
        grid(header, rows, numeric=range(len(first) + 1, len(first) + 5)),
    ]


def calibration_section(named: Named) -> Child:
    """Reliability diagrams, and a table of errors and likelihoods."""
    charts = calibration_charts([(label, side.board) for label, side in named])
    rows: list[list[Child]] = []
    for label, side in named:
        for row in side.board.tasks:
            name = f"{label}: {row.task}" if len(named) > 1 else row.task
            if row.calibration is not None or row.likelihood is not None:
                rows.append([name, *_likelihood_cells(row)])
    if not rows:
        return None
    header = [
        "task",
        "expected calibration error",
        IF_CALIBRATED,
        "Brier score",
        "perplexity per token",
        "bits per byte",
    ]
    return [
        figures(charts),
        grid(header, rows, numeric=range(1, 6)),
        tag(
            "p",
            "“If calibrated” is the error that a model which is right as often as it says would "
            "show by chance with these confidences, and how likely one as large as this is.",
            class_="soft",
        )
        if charts
        else None,
    ]


def _likelihood_cells(row: TaskRow) -> list[Child]:
    return [
        _number_cell(row.calibration.expected_error if row.calibration else None),
        if_calibrated_text(row.calibration.expected_error) if row.calibration else "–",
        _number_cell(row.calibration.brier if row.calibration else None),
        _number_cell(row.likelihood.perplexity if row.likelihood else None),
        _number_cell(row.likelihood.bits_per_byte if row.likelihood else None),
    ]


def failures_section(named: Named) -> Child:
    """What broke the same way in several tasks stands in one row."""
    found: dict[tuple[str, str, str | None], dict[str, int]] = {}
    for label, side in named:
        for row in side.board.tasks:
            for kind, count in row.failures.items():
                found.setdefault((label, kind, row.failure_examples.get(kind)), {})[row.task] = count
    if not found:
        return None
    rows: list[list[Child]] = [
        [
            *([label] if len(named) > 1 else []),
            ", ".join(f"{task} {count:,}" if len(tasks) > 1 else task for task, count in tasks.items()),
            tag("code", kind),
            f"{sum(tasks.values()):,}",
            said(example, 600),
        ]
        for (label, kind, example), tasks in found.items()
    ]
    first = ["model", "task"] if len(named) > 1 else ["task"]
    return grid([*first, "kind", "attempts", "for example"], rows, numeric=(len(first) + 1,))


def tokens_section(named: Named) -> Child:
    rows: list[list[Child]] = [
        [
            *([label] if len(named) > 1 else []),
            row.task,
            *(f"{getattr(row, each):,}" for each in TOKENS),
            money(row.cost),
            money(row.judge_cost),
        ]
        for label, side in named
        for row in side.board.tasks
        if row.tokens_in or row.tokens_out or row.judges
    ]
    if not rows:
        return None
    first = ["model", "task"] if len(named) > 1 else ["task"]
    header = [*first, *TOKEN_COLUMNS]
    notes = price_notes([side.board for _, side in named])
    return [
        grid(header, rows, numeric=range(len(first), len(header))),
        _judges(named, first),
        listed(notes) if notes else None,
    ]


def _judges(named: Named, first: list[str]) -> Child:
    """Every judge at its own price."""
    rows: list[list[Child]] = [
        [
            *([label] if len(named) > 1 else []),
            row.task,
            judge.model,
            *(f"{value:,}" for value in (judge.answers, judge.cached, judge.tokens_in, judge.tokens_out)),
            money(judge.cost),
        ]
        for label, side in named
        for row in side.board.tasks
        for judge in row.judges
    ]
    header = [*first, *JUDGE_COLUMNS]
    return grid(header, rows, numeric=range(len(first) + 1, len(header)), caption="Judges") if rows else None


def wrong_section(named: Named, samples: int) -> Child:
    """The lowest scored answers of each task, as text."""
    parts: list[Child] = []
    for label, side in named:
        for task, columns in side.tasks.items():
            measure = side.measures[task]
            turn = -1.0 if measure.lower_is_better else 1.0
            marks = measure.marks(turn * columns.scores[columns.scored])
            full = np.inf if marks is None else turn * marks[1]
            scored = np.flatnonzero(columns.scored & (columns.scores < full))
            lowest = scored[np.lexsort((columns.places[scored], columns.scores[scored]))][:samples]
            if len(lowest):
                name = f"{label}: {task}" if len(named) > 1 else task
                parts.append(tag("h3", f"{name}: {len(scored):,}", shown_of(len(lowest), len(scored))))
                cards = [answer_card(side.example(task, int(columns.places[row]))) for row in lowest]
                parts.append(tag("div", cards, class_="shown"))
    return parts or None


def answer_card(example: PerExample) -> Html:
    """One attempt: what was asked, what was said, what it was read as, and what was expected."""
    return tag(
        "div",
        tag(
            "p",
            tag("b", example.id),
            f", attempt {example.attempt}" if example.attempt > 1 else None,
            f", scored {number(example.score)}",
        ),
        tag("div", tag("h4", "Question"), asked(example.prompt), class_="question"),
        tag(
            "div",
            tag("div", tag("h4", "Said"), said(example.prediction)),
            tag("div", tag("h4", "Read as"), said(example.answer)) if example.answer is not None else None,
            tag("div", tag("h4", "Target"), said(" / ".join(example.targets))),
            class_="sides",
        ),
        class_="flip",
    )


def _number_cell(summary: Summary | None) -> Child:
    """A number with its interval below it."""
    if summary is None or summary.value is None:
        return "–"
    if summary.low is None or summary.high is None:
        return f"{summary.value:z.3f}"
    return [f"{summary.value:z.3f} ", tag("span", f"{summary.low:z.3f} – {summary.high:z.3f}", class_="soft")]


def _left_out(summary: Summary | None) -> Child:
    said = left_out_text(summary) if summary is not None else ""
    return tag("span", said, class_="soft") if said else None
