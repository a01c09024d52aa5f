"""Standings on one screen: what limits them, the verdict, the ranks, and where the models are furthest apart."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.document import Block, Cell, Items, Sentence, Span, TextTable
from assay.pages.documents.leaderboard import interval_header
from assay.pages.documents.standings import (
    bounded,
    bounds_header,
    categories_table,
    metrics_in_words,
    shared_alone,
    slices_table,
)
from assay.results.side_labels import without_shared_beginning
from assay.results.standings.standing_rows import OVER_SHARED, ModelRow, Standings, failed_note
from assay.text.numbers import interval, number
from assay.text.printable import one_line
from assay.text.wording import few

MOST_TASKS = 5
"""Tasks that get a column each."""
_WIDEST = 3


def standings_screen(standings: Standings, *, following: Sequence[Block] = ()) -> list[Block]:
    """What a person reads first; the rest is in `standings_document`."""
    blocks: list[Block] = []
    if limits := shared_alone(standings):
        blocks.append(Sentence(Span(limits, "bad")))
    blocks += [Sentence(Span(standings_verdict(standings), "strong")), _table(standings), Sentence(_how(standings))]
    blocks += [each for each in (categories_table(standings), slices_table(standings)) if each is not None]
    if len(standings.tasks) > MOST_TASKS and (widest := _widest(standings)):
        blocks.append(Sentence(f"widest apart: {widest}"))
    blocks += following
    told = (*standings.unequal, OVER_SHARED, *failed_note(standings.models))
    if left := [one_line(note) for note in standings.notes if note not in told]:
        blocks.append(Items(left, may_fold=True))
    return blocks


def standings_verdict(standings: Standings) -> str:
    """Which model is best, or which cannot be told apart from the best."""
    labels = dict(zip([row.label for row in standings.models], _labels(standings.models), strict=True))
    first = [labels[row.label] for row in standings.models if row.rank_low == 1]
    if not first or all(row.overall is None for row in standings.models):
        return "no overall score: nothing that all of them were scored on"
    if len(standings.models) == 1:
        return f"{first[0]}: compared with nothing"
    if len(first) == 1:
        return f"{first[0]} is best of {len(standings.models)}"
    if len(first) == len(standings.models):
        return f"no winner: the {len(first)} cannot be told apart"
    return f"{few(first)} cannot be told apart; the others are worse"


def _labels(models: Sequence[ModelRow]) -> list[str]:
    return [one_line(label) for label in without_shared_beginning([row.label for row in models])]


def _table(standings: Standings) -> TextTable:
    tasks = standings.tasks if 1 < len(standings.tasks) <= MOST_TASKS else []
    bounds = [bounds_header(standings)] if bounded(standings) else []
    some_failed = [*bounds, "failed"] if bounds or any(row.failed + row.timeouts for row in standings.models) else []
    header = ["rank", "model", "overall", interval_header(standings.level), *some_failed, *tasks]
    rows = [
        _cells(row, label, tasks, standings, len(some_failed))
        for row, label in zip(standings.models, _labels(standings.models), strict=True)
    ]
    return TextTable(
        header=header,
        rows=rows,
        numeric_from=2,
        drops=(*tasks[::-1], *bounds),
        folds=range(len(rows) - 1, 2, -1),
        folded="models of lower ranks",
    )


def _cells(row: ModelRow, label: str, tasks: Sequence[str], standings: Standings, about_failed: int) -> list[Cell]:
    failed = row.failed + row.timeouts
    mark = "! " if standings.unequal and failed + row.remaining else ""
    of_failed: list[Cell] = [
        interval(row.bounds or row.run_bounds),
        Span(f"{failed:,}", "bad" if failed else "plain"),
    ]
    return [
        row.rank,
        Span(f"{mark}{label}", "bad" if mark else "plain"),
        Span(number(row.overall), "key"),
        Span(interval(row.interval), "quiet"),
        *of_failed[2 - about_failed :],
        *(number(row.tasks[task].score if task in row.tasks else None) for task in tasks),
    ]


def _how(standings: Standings) -> str:
    """How the ranks were made, and what of."""
    metrics = {task: standings.metrics[task] for task in standings.tasks}
    return f"Ranks: {standings.ranking.partition(';')[0]}, about such questions. Scores: {metrics_in_words(metrics)}."


def _widest(standings: Standings) -> str:
    """The tasks with the largest distance between the best and the worst."""
    spans: list[tuple[float, str]] = []
    for task in standings.shared:
        scores = [cell.score for row in standings.models if (cell := row.tasks.get(task)) is not None]
        known = [score for score in scores if score is not None]
        if len(known) > 1:
            spans.append((max(known) - min(known), f"{task} {number(min(known))} – {number(max(known))}"))
    return ", ".join(text for _, text in sorted(spans, reverse=True)[:_WIDEST])
