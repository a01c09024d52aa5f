"""Documents as Markdown: for a pull request, a file or a pipe."""

from __future__ import annotations

import re

from assay.pages.document import Block, Cell, Document, Heading, Items, Line, Span, TextTable, spans_of
from assay.text.printable import printable


def markdown(document: Document | Block) -> str:
    """The blocks, separated by empty lines."""
    blocks = (document,) if isinstance(document, Block) else document
    return "\n\n".join(_block(block) for block in blocks)


def escaped(text: str) -> str:
    """Text that can neither break out of a table cell, nor become a tag, image or link, nor control a terminal."""
    one_line = printable(_BREAK.sub(" ", text))
    # a backslash in the text would undo ours
    return _MARKUP.sub(lambda match: match[1] * 2 + "\\" + match[2], one_line)


def _block(block: Block) -> str:
    if isinstance(block, TextTable):
        return _table(block)
    if isinstance(block, Heading):
        return f"{'#' * block.level} {escaped(block.text)}"
    if isinstance(block, Items):
        return "\n".join(f"- {_line(line)}" for line in block.lines)
    return _line(block.line)


def _line(line: Line) -> str:
    return "".join(map(_span, spans_of(line)))


def _span(span: Span) -> str:
    if span.style == "strong":
        return f"**{escaped(span.text)}**"
    # code cannot be escaped: a backtick would end it, and a bar the cell of a table
    is_code = span.style == "code" and "`" not in span.text and not _MARKUP.search(span.text)
    return f"`{printable(span.text)}`" if is_code else escaped(span.text)


def _table(table: TextTable) -> str:
    """Padded, so that the source reads well too."""
    rows = [[_cell(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(table.header))]

    def line(cells: list[str]) -> str:
        padded = [
            cell.rjust(width) if column >= table.numeric_from else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * (width - 1) + ":" if column >= table.numeric_from else "-" * width for column, width in enumerate(widths)
    ]
    return "\n".join([line(rows[0]), line(rule), *(line(row) for row in rows[1:])])


def _cell(cell: Cell) -> str:
    return _span(cell) if isinstance(cell, Span) else escaped(cell)


_BREAK = re.compile(r"[^\S ]")
_MARKUP = re.compile(r"(?<!\\)(\\*+)(\||<(?=[A-Za-z/!?])|(?<=\])\()")
