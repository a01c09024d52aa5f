"""What produced the numbers of a report: every fact once, and by result only where the results differ in it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.documents.report import facts_of, scorers_table, signatures_table
from assay.pages.html.element import Child, tag
from assay.pages.html.page import grid, shown, table
from assay.results.diff.paired_columns import Side


def provenance_section(named: Sequence[tuple[str, Side]]) -> Child:
    """Everything that affects the numbers."""
    facts = {label: _facts(side) for label, side in named}
    first = facts[named[0][0]]
    if len(named) == 1:
        return [grid(["what", "value"], [[*item] for item in first.items()]), *_tasks(named)]
    same = [name for name in first if len({str(fact[name]) for fact in facts.values()}) == 1]
    rows: list[list[Child]] = [[name, "all", first[name]] for name in same]
    rows += [[name, label, facts[label][name]] for name in first if name not in same for label in facts]
    return [grid(["what", "of", "value"], rows), *_tasks(named)]


def _facts(side: Side) -> dict[str, Child]:
    facts = {name: shown(fact) for name, fact in facts_of(side.board).items()}
    return {"read from": tag("code", str(side.source)), **facts}


def _tasks(named: Sequence[tuple[str, Side]]) -> list[Child]:
    """The tables of tasks; results that have the same one share it."""
    tables: dict[tuple[str, str], tuple[list[str], Child]] = {}
    for label, side in named:
        described, signatures = scorers_table(side.board), table(signatures_table(side.board))
        scorers = None if described is None else table(described)
        tables.setdefault((str(scorers), str(signatures)), ([], [scorers, signatures]))[0].append(label)
    if len(tables) == 1:
        return [pair for _, pair in tables.values()]
    return [[tag("h3", ", ".join(labels)), pair] for labels, pair in tables.values()]
