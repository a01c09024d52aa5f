"""Prompts against each other, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.document import Block, Cell, Items, Span, TextTable
from assay.pages.documents.diff import difference_cell
from assay.pages.documents.leaderboard import interval_header
from assay.results.standings.prompts import PromptPair
from assay.text.numbers import p_value, signed_interval
from assay.text.printable import one_line


def prompt_pairs_document(pairs: Sequence[PromptPair], level: float) -> list[Block]:
    """One row for each pair, with notes on what does not compare below."""
    header = ["model", "A", "B", "B - A", interval_header(level), "p", "p (Holm)"]
    rows: list[list[Cell]] = [
        [
            pair.model,
            pair.a,
            pair.b,
            difference_cell(pair.difference, significant=pair.significant),
            Span(signed_interval(pair), "quiet"),
            p_value(pair.p_value),
            p_value(pair.adjusted_p),
        ]
        for pair in pairs
    ]
    notes = [one_line(f"{pair.model}, {pair.a} and {pair.b}: {pair.reason}") for pair in pairs if pair.reason]
    table = TextTable(header=header, rows=rows, numeric_from=3, drops=("p", "p (Holm)"))
    return [table, *([Items(notes)] if notes else [])]
