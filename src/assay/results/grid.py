"""Rows against models and prompts: what each answered to each row, and whether that was right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from assay.results.conversation import expected_in
from assay.results.frames.attempt import Attempt
from assay.results.frames.frame_source import RunSource, Survey
from assay.results.outcomes import RIGHT, WRONG
from assay.results.side_labels import run_labels
from assay.task_records import TableColumns

MOST_ROWS = 1000
"""The most rows whose answers are read; all are counted."""


class GridColumn(Struct, frozen=True, kw_only=True):
    """One model, with one prompt where there are several."""

    label: str
    model: str
    prompt: str | None
    run: str
    right: int
    answered: int
    """Rows with a score; of those without right and wrong, `mean` says how good they are."""
    failed: int
    mean: float | None


class GridCell(Struct, frozen=True, kw_only=True):
    """What one column answered to one row."""

    outcome: str
    answer: str | None
    score: float | None
    attempts: int = 1
    right: int = 0
    """Of several attempts, those that were right; the outcome and the answer are the first one's."""


class GridRow(Struct, frozen=True, kw_only=True):
    """One row and its answers, one for each column; None where it was not asked."""

    sample_id: str
    text: str
    """Which row it is, by one of its columns."""
    expected: str | None
    cells: tuple[GridCell | None, ...]


class Grid(Struct, frozen=True, kw_only=True):
    """A task's rows against its columns: those that are not right everywhere, in the order of the data."""

    task: str
    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]
    """The first of them whose answers were read."""
    count: int
    """All rows."""
    differ: int
    """Rows whose outcomes are not the same in all columns."""
    right_everywhere: int
    wrong_everywhere: int
    texts: str
    """The name of the column that `text` is from."""


def grids_of(runs: Sequence[Path], most: int = MOST_ROWS) -> list[Grid]:
    """A grid for each task that all of the runs have."""
    sources = [RunSource.of(run) for run in runs]
    labels = run_labels([source.run for source in sources])
    shared = [task for task in sources[0].measures if all(task in source.measures for source in sources)]
    return [_grid(task, sources, labels, most) for task in shared]


def _grid(task: str, sources: Sequence[RunSource], labels: Sequence[str], most: int) -> Grid:
    surveys = [source.survey for source in sources]
    codes = [list(source.measures).index(task) for source in sources]
    first = [_first_of_each(survey, code) for survey, code in zip(surveys, codes, strict=True)]
    ids = list(dict.fromkeys(key for rows in first for key in rows))
    outcomes = np.full((len(ids), len(sources)), -1, np.int8)
    for column, (survey, rows) in enumerate(zip(surveys, first, strict=True)):
        for at, key in enumerate(ids):
            if key in rows:
                outcomes[at, column] = survey.outcomes[rows[key]]
    right = (outcomes == RIGHT).all(axis=1)
    wrong = (outcomes == WRONG).all(axis=1)
    shown = np.flatnonzero(~right)[:most].tolist()
    attempts = [
        dict(_read(source, survey, code, {ids[at] for at in shown}))
        for source, survey, code in zip(sources, surveys, codes, strict=True)
    ]
    of = sources[0].run.definitions[codes[0]].provenance.table or TableColumns()
    named_rows = [_row([read.get(ids[at], []) for read in attempts], of) for at in shown]
    names = [name for name, _ in named_rows]
    return Grid(
        task=task,
        columns=tuple(
            _column(source, survey, code, label)
            for source, survey, code, label in zip(sources, surveys, codes, labels, strict=True)
        ),
        rows=tuple(row for _, row in named_rows),
        count=len(ids),
        differ=int((outcomes != outcomes[:, :1]).any(axis=1).sum()),
        right_everywhere=int(right.sum()),
        wrong_everywhere=int(wrong.sum()),
        texts=names[0] if names else "",
    )


def _first_of_each(survey: Survey, code: int) -> dict[int, int]:
    """The row of the first attempt at each sample of a task."""
    rows: dict[int, int] = {}
    for row in np.flatnonzero(survey.tasks == code).tolist():
        rows.setdefault(int(survey.ids[row]), row)
    return rows


def _read(source: RunSource, survey: Survey, code: int, ids: set[int]) -> Iterator[tuple[int, list[Attempt]]]:
    wanted = [row for row in np.flatnonzero(survey.tasks == code).tolist() if int(survey.ids[row]) in ids]
    by_id: dict[int, list[Attempt]] = {}
    for row, attempt in zip(wanted, source.read(survey, wanted), strict=True):
        by_id.setdefault(int(survey.ids[row]), []).append(attempt)
    yield from by_id.items()


def _row(columns: Sequence[list[Attempt]], of: TableColumns) -> tuple[str, GridRow]:
    """The name of the column that shows which row it is, and the row."""
    one = next(attempts[0] for attempts in columns if attempts)
    record = msgspec.to_builtins(one.record)
    row = one.metadata.get("sample")
    row = row if isinstance(row, dict) else {}
    expected = " | ".join(one.targets) or (str(row[of.target]) if of.target in row else expected_in(record))
    name, text = (of.text, str(row[of.text])) if of.text and of.text in row else _telling(row, expected, one)
    return name, GridRow(
        sample_id=one.sample_id,
        text=text,
        expected=expected,
        cells=tuple(_cell(attempts) if attempts else None for attempts in columns),
    )


def _telling(row: Mapping[str, Any], expected: str | None, attempt: Attempt) -> tuple[str, str]:
    texts = {name: value for name, value in row.items() if isinstance(value, str) and value != expected}
    if not texts:
        return "question", attempt.prompt or ""
    name = max(texts, key=lambda each: len(texts[each]))
    return name, texts[name]


def _cell(attempts: Sequence[Attempt]) -> GridCell:
    first = attempts[0]
    answer = first.answer if first.answer is not None else first.prediction
    return GridCell(
        outcome=first.outcome,
        answer=answer,
        score=first.score,
        attempts=len(attempts),
        right=sum(attempt.outcome == "right" for attempt in attempts),
    )


def _column(source: RunSource, survey: Survey, code: int, label: str) -> GridColumn:
    mine = survey.tasks == code
    row = source.board.tasks[code]
    return GridColumn(
        label=label,
        model=source.run.model_label,
        prompt=source.run.settings.get("prompt"),
        run=str(source.folder),
        right=int((survey.outcomes[mine] == RIGHT).sum()),
        answered=int((~np.isnan(survey.scores[mine])).sum()),
        failed=row.failed + row.timeouts,
        mean=row.score,
    )
