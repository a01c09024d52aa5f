"""Attempts of a run picked by a query, for commands: by the same index and the same rules as on the viewer's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from assay.results.query.evaluate import texts_of
from assay.results.query.parse import parse
from assay.viewer.builders import Builders
from assay.viewer.query import Filters, Rows
from assay.viewer.run_view import RunView


def select(folder: Path, where: str, label: str | None = None) -> tuple[list[int], int]:
    """Where in the journal the lines of the matching attempts begin, in the order of the dataset; and of how many."""
    query = parse(where)  # a bad query fails before anything is built
    view = RunView(label or folder.resolve().name, folder, Builders(), every_phrase=True)
    with view.reading():
        wait_for_index(view)
        if any(texts_of(query)):
            wait_for_words(view)
        rows = view.rows(Filters(where=where), "order", False, [])
        return offsets_of(view, rows), int(view.snapshot().counts.sum())


def offsets_of(view: RunView, rows: Rows) -> list[int]:
    offsets: list[Any] = view.snapshot().column("offset")[rows].astype(np.int64).tolist()
    return offsets


def wait_for_index(view: RunView) -> None:
    """A long journal is indexed by other processes: a command needs all of it, so it waits."""
    view.latest()
    view.builders.wait()
    view.latest()


def wait_for_words(view: RunView) -> None:
    view.search("")
    view.builders.wait()
    view.search("")
