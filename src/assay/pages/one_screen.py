"""A summary on one screen: rows that say least are folded, with their number, until the rest fits.

What was asked for by name, and anything that is piped, is laid out by `terminal.py` alone and never cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.pages.document import Block, Document, Items, Span, TextTable
from assay.pages.terminal import Row, sentence_lines, terminal_lines

LINES = 40
"""The most lines of a summary on a terminal."""
MORE = "--verbose shows all"


@dataclass(frozen=True, slots=True)
class _Part:
    block: Block
    hidden: int = 0


def one_screen(document: Document, width: int, most: int = LINES) -> list[Row]:
    """The document in at most so many lines; what is not shown is counted."""
    parts = [_Part(block) for block in document]
    while (over := len(lines := _laid_out(parts, width)) - most) > 0:
        at = max(range(len(parts)), key=lambda place: _foldable(parts[place].block), default=0)
        if not parts or not _foldable(parts[at].block):
            left = len(lines) - most + 1
            return [*lines[: most - 1], [Span(f"… {left:,} more lines: {MORE}", "quiet")]]
        parts[at] = _folded(parts[at], over)
    return lines


def _laid_out(parts: Sequence[_Part], width: int) -> list[Row]:
    lines: list[Row] = []
    for part in parts:
        lines += ([[]] if lines else []) + terminal_lines(part.block, width)
        if part.hidden:
            what = part.block.folded if isinstance(part.block, TextTable) else "more"
            lines += sentence_lines(Span(f"… {part.hidden:,} {what}: {MORE}", "quiet"), width)
    return lines


def _foldable(block: Block) -> int:
    if isinstance(block, TextTable):
        return len(block.folds)
    return len(block.lines) - 1 if isinstance(block, Items) and block.may_fold else 0


def _folded(part: _Part, over: int) -> _Part:
    """Without the lines that are too many, and one for the number of them."""
    block = part.block
    count = min(over + (not part.hidden), _foldable(block))
    if isinstance(block, TextTable):
        gone = set(block.folds[:count])
        kept = [at for at in range(len(block.rows)) if at not in gone]
        places = {at: place for place, at in enumerate(kept)}
        block = replace(block, rows=[block.rows[at] for at in kept], folds=[places[at] for at in block.folds[count:]])
    elif isinstance(block, Items):
        block = replace(block, lines=block.lines[:-count])
    return _Part(block, part.hidden + count)
