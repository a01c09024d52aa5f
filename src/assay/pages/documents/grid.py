"""Rows against models and prompts as a document: the verdict first, then the rows that are not right everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.document import Block, Cell, Sentence, Span, Style, TextTable
from assay.results.grid import Grid, GridCell, GridColumn, GridRow
from assay.results.side_labels import without_shared_beginning
from assay.results.standings.standing_rows import Standings
from assay.text.numbers import number
from assay.text.printable import one_line
from assay.text.wording import count_of

MOST_SHOWN = 12
_COLUMNS_BESIDE_EACH_OTHER = 6
"""Columns that fit next to each other on a narrow terminal; more are tables below each other, each with fewer rows."""
_TEXT, _EXPECTED, _ANSWER = 40, 20, 10
"""The most characters of a row, of what is expected, and of an answer."""
_SHORT_TEXT, _SHORT = 14, 8
"""The same where the columns would not fit otherwise."""
_APART = ": "
_WITHOUT_ANSWER = {"failed": "! failed", "timeout": "! timeout", "excluded": "excluded", "unscored": "no score"}


def grid_document(grid: Grid, standings: Standings | None = None, *, most: int | None = None) -> list[Block]:
    """The grid as far as it is shown, and what is not."""
    if most is None:
        most = MOST_SHOWN // -(-len(grid.columns) // _COLUMNS_BESIDE_EACH_OTHER) or 1
    blocks: list[Block] = [] if standings is None else [Sentence(Span(grid_verdict(grid, standings), "strong"))]
    if grid.rows:
        blocks.append(_table(grid, most))
    blocks.append(Sentence(_left_out(grid, most)))
    return blocks


def grid_verdict(grid: Grid, standings: Standings) -> str:
    """Which model, or which prompt with which model, is best; or that these rows cannot tell."""
    first = [row for row in standings.models if row.rank_low == 1]
    shared = min((row.compared for row in standings.models), default=0) if standings.unequal else grid.count
    rows = (
        count_of(grid.count, "row") if shared == grid.count else f"the {shared:,} of {grid.count:,} rows scored by all"
    )
    if not first or first[0].overall is None:
        return f"no score over {rows}"
    best = first[0]
    if len(standings.models) == 1:
        return f"{one_line(best.label)}: {number(best.overall)} over {rows}, compared with nothing"
    if len(first) == 1:
        return f"{one_line(best.label)} is best: {number(best.overall)} over {rows}"
    scores = [row.overall for row in standings.models if row.overall is not None]
    span = f"{number(min(scores))} – {number(max(scores))}"
    return f"no winner: {span}; the best {len(first)} of {len(standings.models)} cannot be told apart over {rows}"


def _table(grid: Grid, most: int) -> TextTable:
    judged = any(column.right for column in grid.columns)
    rows: list[list[Cell]] = [_cells(row, grid) for row in grid.rows[:most]]
    totals = [Span(str(column.right) if judged else number(column.mean), "key") for column in grid.columns]
    summed = f"right, of {grid.count:,}" if judged else f"mean of {grid.count:,}"
    named = Span(summed, "quiet", shorter=(summed.partition(",")[0].partition(" ")[0],))
    rows.append(["", named, *([""] if _has_expected(grid) else []), *totals])
    expected = ["expected"] if _has_expected(grid) else []
    labels = _labels(grid.columns)
    apart = _APART if all(_APART in label for label in labels) else ""
    header = ["row", one_line(grid.texts, _TEXT), *expected, *labels]
    return TextTable(
        header=header,
        rows=rows,
        numeric_from=len(header),
        drops=("expected",),
        summed=True,
        apart=apart,
        folds=range(len(rows) - 2, 2, -1),
        folded="rows",
    )


def _has_expected(grid: Grid) -> bool:
    return any(row.expected is not None for row in grid.rows)


def _labels(columns: Sequence[GridColumn]) -> list[str]:
    """The columns by their models, their prompts, or both: by what differs."""
    prompts = {column.prompt for column in columns}
    models = {column.model for column in columns}
    names = [column.model for column in columns]
    short = dict(zip(names, without_shared_beginning(names), strict=True))
    if len(prompts) == 1:
        return (
            [short[name] for name in names]
            if None not in prompts
            else without_shared_beginning([column.label for column in columns])
        )
    if len(models) == 1:
        return [str(column.prompt) for column in columns]
    return [f"{short[column.model]}{_APART}{column.prompt}" for column in columns]


def _cells(row: GridRow, grid: Grid) -> list[Cell]:
    known = row.expected or ""
    expected = [Span(one_line(known, _EXPECTED), shorter=(one_line(known, _SHORT),))] if _has_expected(grid) else []
    number_or_id = str(int(row.sample_id) + 1) if row.sample_id.isdecimal() else one_line(row.sample_id, _EXPECTED)
    text = Span(one_line(row.text, _TEXT), shorter=(one_line(row.text, _SHORT_TEXT),))
    return [number_or_id, text, *expected, *map(_cell, row.cells)]


def _cell(cell: GridCell | None) -> Span:
    if cell is None:
        return Span("–", "quiet")
    several = f" {cell.right}/{cell.attempts}" if cell.attempts > 1 else ""
    if cell.outcome in _WITHOUT_ANSWER:
        return Span(_WITHOUT_ANSWER[cell.outcome] + several, "bad")
    if cell.outcome == "right" and cell.right == cell.attempts:
        return Span("✓", "good")
    answer = one_line(cell.answer or "", _ANSWER)
    sign = {"right": "✓", "wrong": "✗", "unparsed": "?"}.get(cell.outcome, number(cell.score))
    style: Style = "bad" if cell.outcome == "wrong" else "plain"
    return Span(f"{sign}{several} {answer}".rstrip(), style, shorter=(f"{sign}{answer[:4]}".rstrip(), sign))


def _left_out(grid: Grid, most: int) -> str:
    rest = grid.count - grid.right_everywhere - min(most, len(grid.rows))
    parts = [f"{rest:,} more are not right everywhere"] if rest else []
    if grid.wrong_everywhere:
        parts.append(f"{grid.wrong_everywhere:,} wrong everywhere")
    return ", ".join([*parts, f"{grid.right_everywhere:,} of {grid.count:,} right everywhere"])
