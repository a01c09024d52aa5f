"""Prompts against each other, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.document import Block, Cell, Items, Sentence, Span, TextTable
from assay.pages.documents.diff import difference_cell
from assay.pages.documents.leaderboard import interval_header
from assay.results.standings.prompts import PromptPair
from assay.text.numbers import p_value, signed_interval
from assay.text.printable import one_line
from assay.text.wording import count_of

_FOLDED_FROM = 4


def differing_pairs_document(pairs: Sequence[PromptPair], level: float) -> list[Block]:
    """The pairs that differ, and how many do not where that shortens the table."""
    telling = [pair for pair in pairs if pair.significant or pair.reason]
    smallest = min((pair.adjusted_p for pair in pairs if pair.adjusted_p is not None), default=None)
    rest = len(pairs) - len(telling)
    if rest < _FOLDED_FROM or smallest is None:
        return prompt_pairs_document(pairs, level)
    shown = prompt_pairs_document(telling, level) if telling else []
    number = f"{rest:,} more pairs" if telling else f"None of the {count_of(rest, 'pair')}"
    found = "show no difference" if telling else f"shows a difference; the smallest p (Holm) is {p_value(smallest)}"
    return [*shown, Sentence(f"{number} of prompts {found}.")]


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
