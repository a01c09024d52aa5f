"""The samples of several runs in one table: the rows of each run's index, in one order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.results.query.fields import Schema
from assay.viewer.query import Filters, Rows, in_journal_order, sorted_rows, summary
from assay.viewer.run_view import RunView
from assay.viewer.samples import TablePage, table_rows, where_of


def page(views: Sequence[RunView], filters: Filters, table: TablePage) -> dict[str, Any]:
    """One page of rows, each with its run, and the numbers of each run over what matches of it."""
    schema = reduce(Schema.together, (view.schema() for view in views))
    together = tuple((view.name, view.state()) for view in views)
    chosen = [view.remembered(("chosen", filters, together), partial(_chosen, view, filters, schema)) for view in views]
    order = table.sort, table.descending
    runs, rows = views[0].remembered(("ordered", filters, *order, together), lambda: _ordered(views, chosen, *order))
    return {
        "total": len(rows),
        "offset": table.offset,
        "rows": _rows_of(views, runs[table.rows], rows[table.rows], table),
        "where": where_of(filters),
        "fields": schema.fields,
        "runs": [
            {
                "run": view.name,
                "model": view.model_label,
                **view.remembered(("summed", filters, together), _sum(view, mine)),
            }
            for view, mine in zip(views, chosen, strict=True)
        ],
    }


def _sum(view: RunView, rows: Rows) -> Callable[[], dict[str, Any]]:
    snapshot = view.snapshot()
    return lambda: summary(snapshot, in_journal_order(rows, snapshot.rows), view.level)


def _chosen(view: RunView, filters: Filters, schema: Schema) -> Rows:
    """In the order of the dataset."""
    every = view.base()
    mask = view.matching(filters.query(), filters.widened(schema), [])
    return every[mask[every]]


def _ordered(
    views: Sequence[RunView], chosen: Sequence[Rows], sort: str, descending: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each row of the table its run and its row there; without a number to sort by, one run after the other."""
    runs = np.repeat(np.arange(len(views)), [len(rows) for rows in chosen])
    rows = np.concatenate([matching.astype(np.int64) for matching in chosen])
    if sort in ("order", "written"):
        step = -1 if descending else 1
        return runs[::step], rows[::step]
    values = np.concatenate([_values(view, sort)[mine] for view, mine in zip(views, chosen, strict=True)])
    order = sorted_rows(values, descending, np.arange(len(values)))
    return runs[order], rows[order]


def _values(view: RunView, sort: str) -> NDArray[np.float64]:
    field = view.schema().find(sort.removeprefix("value:"))
    numbers = None if field is None else view.columns([]).numbers(field.name)
    return np.full(view.snapshot().rows, np.nan) if numbers is None else numbers


def _rows_of(
    views: Sequence[RunView], runs: NDArray[np.int64], rows: NDArray[np.int64], show: TablePage
) -> list[dict[str, Any]]:
    """Each run's rows are read together, then put back in order."""
    table: list[dict[str, Any]] = [{} for _ in rows]
    for number, view in enumerate(views):
        places = np.flatnonzero(runs == number).tolist()
        made = table_rows(view, rows[places].tolist(), [], show)
        for place, row in zip(places, made, strict=True):
            table[place] = {"run": view.name, "model": view.model_label, **row}
    return table
