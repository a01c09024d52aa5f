"""Documents as lines that fit a terminal: columns are dropped in the order their table gives, and no line is wider.

The lines are spans in styles, not escape sequences: the writer to a stream (`cli/streams.py`) makes every text
printable first, so no untrusted text reaches the terminal as a control character.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby

from assay.pages.document import Block, Cell, Document, Heading, Items, Line, Span, Style, TextTable, spans_of
from assay.pages.text_width import cut, cut_apart, line_breaks, width_of
from assay.text.printable import printable

_BREAK = re.compile(r"[^\S ]+")

Row = list[Span]
"""One line on the terminal."""

GAP = "  "
WIDEST_SENTENCE = 110
"""Longer lines are hard to read, however wide the terminal is."""
COMFORTABLE, NARROWEST = 24, 8
"""The width that a text column keeps while others can be dropped, and in any case."""
_SHORTEST_NAME = 6
"""Of a column whose name is the second part of one."""


def terminal_lines(document: Document | Block, width: int) -> list[Row]:
    """The blocks with an empty line between them."""
    blocks = (document,) if isinstance(document, Block) else document
    lines: list[Row] = []
    for block in blocks:
        lines += ([[]] if lines else []) + _block(block, max(width, 1))
    return lines


def sentence_lines(line: Line, width: int, first: str = "", style: Style = "plain") -> list[Row]:
    """A sentence wrapped at its spaces, with the lines after the first indented as far as the text of that."""
    spans = [Span(flat(span.text), span.style if span.style != "plain" else style) for span in spans_of(line)]
    text = "".join(span.text for span in spans)
    room = min(width, WIDEST_SENTENCE) - width_of(first)
    breaks = line_breaks(text, room) if text else [(0, 0)]
    indent = " " * width_of(first)
    return [
        [Span(first if number == 0 else indent, "quiet"), *_between(spans, start, end)]
        for number, (start, end) in enumerate(breaks)
    ]


def flat(text: str) -> str:
    """Text for one line of a terminal, exactly as it will be printed, so that its width is right."""
    return printable(_BREAK.sub(" ", text))


def _block(block: Block, width: int) -> list[Row]:
    if isinstance(block, TextTable):
        return _table(block, width)
    if isinstance(block, Heading):
        return sentence_lines(Span(block.text, "strong"), width)
    if isinstance(block, Items):
        return [row for line in block.lines for row in sentence_lines(line, width, first="• ")]
    return sentence_lines(block.line, width)


def _between(spans: Sequence[Span], start: int, end: int) -> Row:
    parts, at = [], 0
    for span in spans:
        text = span.text[max(start - at, 0) : max(end - at, 0)]
        at += len(span.text)
        if text:
            parts.append(Span(text, span.style))
    return parts


def _table(table: TextTable, width: int) -> list[Row]:
    cells = _short_enough(table, width)
    columns, dropped = _kept(table, cells, width)
    lines: list[Row] = []
    for part in _parts(table, columns, cells, width):
        widths = _widths(table, part, cells, width)
        lines += [[]] if lines else []
        lines += [*_header(table, widths), [Span("─" * _total(widths.values()), "quiet")]]
        lines += [line for row in _apart(table, cells, part, widths) for line in _row(table, widths, row)]
    if named := [name for name in dropped if name]:  # a bar without a name only draws what another column says
        lines += sentence_lines(Span(f"not shown: {', '.join(named)}", "quiet"), width)
    return lines


def _header(table: TextTable, widths: dict[int, int]) -> list[Row]:
    """The names of the columns; of names in two parts the first above, once for its neighbours."""
    lower = cut_apart([_lower(table, at) for at in widths], list(widths.values()))
    names = dict(zip(widths, lower, strict=True))
    line = _row(table, widths, [Span(names.get(at, ""), "quiet") for at in range(len(table.header))])
    if not table.apart:
        return line
    shared = {at: flat(table.header[at].rpartition(table.apart)[0]) for at in widths}
    groups = [(name, [at for at, _ in each]) for name, each in groupby(shared.items(), key=lambda item: item[1])]
    rooms = [_total([widths[at] for at in columns]) for _, columns in groups]
    above = cut_apart([name for name, _ in groups], rooms)
    text = GAP.join(name + " " * (room - width_of(name)) for name, room in zip(above, rooms, strict=True))
    return [[Span(text.rstrip(), "quiet")], *line]


def _lower(table: TextTable, at: int) -> str:
    name = table.header[at]
    return flat(name.rpartition(table.apart)[2] if table.apart else name)


def _apart(table: TextTable, cells: list[list[Span]], part: list[int], widths: dict[int, int]) -> list[list[Span]]:
    """The rows, with names that are cut so that no two look the same."""
    first = part[0]
    if first >= table.numeric_from or table.header[first] in table.prose:
        return cells
    names = cut_apart([row[first].text for row in cells], [widths[first]] * len(cells))
    return [
        [Span(name, row[at].style) if at == first else row[at] for at in range(len(row))]
        for row, name in zip(cells, names, strict=True)
    ]


def _short_enough(table: TextTable, width: int) -> list[list[Span]]:
    """The cells in the longest form that lets all columns fit, else in the shortest."""
    most = max((len(cell.shorter) for row in table.rows for cell in row if isinstance(cell, Span)), default=0)
    for level in range(most + 1):
        cells = [[_flat_cell(cell, level) for cell in row] for row in table.rows]
        if _total(_floors(table, cells, COMFORTABLE)) <= width:
            break
    return cells


def _flat_cell(cell: Cell, level: int) -> Span:
    span = cell if isinstance(cell, Span) else Span(cell)
    forms = (span.text, *span.shorter)
    return Span(flat(forms[min(level, len(forms) - 1)]), span.style)


def _floors(table: TextTable, cells: list[list[Span]], least: int) -> list[int]:
    """How narrow every column can be: names can be cut, numbers cannot."""
    floors = []
    for column, wanted in enumerate(_natural(table, cells, least if table.apart else None)):
        solid = _widest(cells, column) if column >= table.numeric_from else 0
        floors.append(max(solid, min(wanted, least)))
    return floors


def _natural(table: TextTable, cells: list[list[Span]], least: int | None = None) -> list[int]:
    """As wide as the cells and the name are; a name below another takes little where it must."""
    names = [width_of(_lower(table, column)) for column in range(len(table.header))]
    names = names if least is None else [min(name, _SHORTEST_NAME) for name in names]
    return [max(name, _widest(cells, column)) for column, name in enumerate(names)]


def _widest(cells: list[list[Span]], column: int) -> int:
    return max((width_of(row[column].text) for row in cells), default=0)


def _kept(table: TextTable, cells: list[list[Span]], width: int) -> tuple[list[int], list[str]]:
    """The columns that fit, and the names of the others."""
    floors = _floors(table, cells, COMFORTABLE)
    columns, dropped = list(range(len(floors))), []
    for name in table.drops:
        if _total([floors[column] for column in columns]) <= width:
            break
        rest = [column for column in columns if table.header[column] != name]
        if len(rest) < len(columns):
            columns = rest
            dropped.append(name)
    return columns, dropped


def _parts(table: TextTable, columns: list[int], cells: list[list[Span]], width: int) -> list[list[int]]:
    """The columns split into as many tables as needed, each with the first column."""
    floors = _floors(table, cells, NARROWEST)
    first, *rest = columns
    parts = [[first]]
    for column in rest:
        if _total([floors[item] for item in [*parts[-1], column]]) > width and len(parts[-1]) > 1:
            parts.append([first])
        parts[-1].append(column)
    return parts


def _widths(table: TextTable, columns: list[int], cells: list[list[Span]], width: int) -> dict[int, int]:
    """Every column at its natural width, or narrower where the table does not fit, the widest first."""
    natural, floors = _natural(table, cells), _floors(table, cells, NARROWEST)
    widths = {column: natural[column] for column in columns}
    while (over := _total(widths.values()) - width) > 0:
        # where not even numbers fit, they are cut: a wrapped line would be worse
        wide = [column for column in columns if widths[column] > floors[column]] or columns
        widest = max(wide, key=lambda column: widths[column])
        if widths[widest] <= 1:
            break
        second = max((widths[column] for column in wide if widths[column] < widths[widest]), default=1)
        least = floors[widest] if widths[widest] > floors[widest] else 1
        widths[widest] -= max(1, min(over, widths[widest] - max(second, least)))
    return widths


def _total(widths: Collection[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _row(table: TextTable, widths: dict[int, int], row: list[Span]) -> list[Row]:
    """One line, or as many as its sentences take."""
    strong = row[0].style == "strong"
    texts = {column: _cell_lines(table, column, row[column].text, width) for column, width in widths.items()}
    lines = []
    for number in range(max(map(len, texts.values()))):
        line: Row = []
        for column, width in widths.items():
            text = texts[column][number] if number < len(texts[column]) else ""
            space = " " * (width - width_of(text))
            gap = GAP if line else ""
            style = "strong" if strong and row[column].style == "plain" else row[column].style
            if column >= table.numeric_from:
                line += [Span(gap + space), Span(text, style)]
            else:
                line += [Span(gap), Span(text, style), Span(space)]
        lines.append(without_end_spaces(line))
    return lines


def _cell_lines(table: TextTable, column: int, text: str, width: int) -> list[str]:
    if table.header[column] in table.prose and width_of(text) > width:
        return [text[start:end] for start, end in line_breaks(text, width)]
    return [cut(text, width)]


def without_end_spaces(line: Row) -> Row:
    while line and not line[-1].text.strip():
        line = line[:-1]
    return line
