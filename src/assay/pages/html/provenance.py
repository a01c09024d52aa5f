"""What produced the numbers of a report: every fact once, and by result only where the results differ in it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.fingerprint import canonical_json
from assay.costs.prices import dated
from assay.pages.documents.report import scorers_table
from assay.pages.html.element import Child, tag
from assay.pages.html.page import grid, table
from assay.results.board.board_types import Leaderboard
from assay.results.board.stretches import NOT_KNOWN, served_in_words
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
    board = side.board
    return {
        "read from": tag("code", str(side.source)),
        "started": board.created or "–",
        "command": tag("code", " ".join(board.command)) if board.command else "–",
        "model": tag("code", canonical_json(board.model).decode()),
        "served": served_in_words(board.stretches) or NOT_KNOWN,
        "settings": tag("code", canonical_json(board.settings).decode()),
        "versions": ", ".join(f"{name} {version}" for name, version in board.versions.items()),
        "sandbox": tag("code", canonical_json(board.sandbox).decode()) if board.sandbox else "–",
        "prices": _prices(board) or "–",
        "run fingerprint": tag("code", board.run_fingerprint),
        "result fingerprint": tag("code", board.fingerprint),
    }


def _tasks(named: Sequence[tuple[str, Side]]) -> list[Child]:
    """The tables of tasks; results that have the same one share it."""
    tables: dict[tuple[str, str], tuple[list[str], Child]] = {}
    for label, side in named:
        described, signatures = scorers_table(side.board), _signatures(side.board)
        scorers = None if described is None else table(described)
        tables.setdefault((str(scorers), str(signatures)), ([], [scorers, signatures]))[0].append(label)
    if len(tables) == 1:
        return [pair for _, pair in tables.values()]
    return [[tag("h3", ", ".join(labels)), pair] for labels, pair in tables.values()]


def _signatures(board: Leaderboard) -> Child:
    rows: list[list[Child]] = [
        [row.task, tag("code", row.signature), tag("code", row.sha256), tag("code", row.fingerprint)]
        for row in board.tasks
    ]
    return grid(["task", "how its number is made", "content sha256", "task fingerprint"], rows)


def _prices(board: Leaderboard) -> str | None:
    if board.cost is None or board.cost.source is None:
        return None
    return dated(board.cost.source, board.cost.date)
