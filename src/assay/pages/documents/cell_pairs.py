"""The cells of a matrix against each other, as tables: one for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from assay.pages.document import Block, Cell, Items, Sentence, Span, TextTable
from assay.pages.documents.diff import difference_cell
from assay.pages.documents.leaderboard import interval_header
from assay.results.standings.cells import CellPair
from assay.text.numbers import p_value, signed_interval
from assay.text.printable import one_line
from assay.text.wording import count_of

_FOLDED_FROM = 4


def differing_pairs_document(pairs: Sequence[CellPair], level: float) -> list[Block]:
    """The pairs that differ, and how many do not where that shortens the table."""
    telling = [pair for pair in pairs if pair.significant or pair.reason]
    smallest = min((pair.adjusted_p for pair in pairs if pair.adjusted_p is not None), default=None)
    rest = len(pairs) - len(telling)
    if rest < _FOLDED_FROM or smallest is None:
        return cell_pairs_document(pairs, level)
    shown = cell_pairs_document(telling, level) if telling else []
    number = f"{rest:,} more pairs" if telling else f"None of the {count_of(rest, 'pair')}"
    found = "show no difference" if telling else f"shows a difference; the smallest p (Holm) is {p_value(smallest)}"
    return [*shown, Sentence(f"{number} of prompts {found}.")]


def cell_pairs_document(pairs: Sequence[CellPair], level: float) -> list[Block]:
    """One row for each pair, with notes on what does not compare below."""
    blocks: list[Block] = []
    for axis, along in groupby(pairs, key=lambda pair: pair.axis):
        blocks += _table(axis, list(along), level)
    return blocks


def _table(axis: str, pairs: Sequence[CellPair], level: float) -> list[Block]:
    first = "model" if axis == "prompt" else f"by {axis}"
    header = [first, "A", "B", "B - A", interval_header(level), "p", "p (Holm)"]
    rows: list[list[Cell]] = [
        [
            pair.others,
            pair.a,
            pair.b,
            difference_cell(pair.difference, significant=pair.significant),
            Span(signed_interval(pair), "quiet"),
            p_value(pair.p_value),
            p_value(pair.adjusted_p),
        ]
        for pair in pairs
    ]
    notes = [
        one_line(f"{', '.join(filter(None, (pair.others, pair.a)))} and {pair.b}: {pair.reason}")
        for pair in pairs
        if pair.reason
    ]
    table = TextTable(header=header, rows=rows, numeric_from=3, drops=("p", "p (Holm)"))
    return [table, *([Items(notes)] if notes else [])]
