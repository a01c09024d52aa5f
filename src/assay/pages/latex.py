"""Documents as LaTeX: tables of the booktabs package, and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.document import Block, Cell, Document, Heading, Items, Sentence, Span, TextTable, text_of
from assay.text.printable import printable

_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "→": r"$\to$",
    "…": r"\dots{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def latex(document: Document) -> str:
    """The blocks with an empty line between them."""
    return "\n\n".join(map(_block, document)) + "\n"


def escaped(text: str) -> str:
    """The text as LaTeX prints it: nothing of a model or a file is a command."""
    return "".join(_ESCAPES.get(character, character) for character in printable(" ".join(text.split())))


def _block(block: Block) -> str:
    if isinstance(block, TextTable):
        return _table(block)
    if isinstance(block, Heading):
        return rf"\paragraph{{{escaped(block.text)}}}"
    if isinstance(block, Items):
        return "\n".join(
            [r"\begin{itemize}", *(rf"  \item {escaped(text_of(line))}" for line in block.lines), r"\end{itemize}"]
        )
    if isinstance(block, Sentence):
        return escaped(text_of(block.line))
    raise TypeError(block)


def _table(table: TextTable) -> str:
    columns = "".join("l" if at < table.numeric_from else "r" for at in range(len(table.header)))
    rows = [_row(row) for row in table.rows]
    if table.summed and len(rows) > 1:
        rows.insert(-1, r"\midrule")
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _row(table.header),
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _row(cells: Sequence[Cell]) -> str:
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(cell: Cell) -> str:
    span = cell if isinstance(cell, Span) else Span(cell)
    text = escaped(span.text)
    return rf"\textbf{{{text}}}" if span.style == "strong" and text else text
