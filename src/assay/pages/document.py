"""A document: headings, sentences, lists and tables as data, independent of width and colour.

Texts are plain: nothing in them is escaped. `markdown.py` turns a document into Markdown, `terminal.py` into lines that
fit a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["plain", "strong", "code", "key", "good", "bad", "quiet"]
"""`strong` and `code` exist in Markdown too; the others show on a terminal only, where `key` stands out."""


@dataclass(frozen=True, slots=True)
class Span:
    """Text in one style."""

    text: str
    style: Style = "plain"
    shorter: tuple[str, ...] = ()
    """Alternatives for a table that is too wide, each shorter than the one before."""


Cell: TypeAlias = str | Span
Line: TypeAlias = str | Span | tuple[str | Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Rows under a header, and how to shrink the table where it is too wide."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric_from: int
    """The first column of numbers, which are aligned to the right and never cut."""
    drops: Sequence[str] = ()
    """Columns to drop where the table is too wide, in this order."""
    prose: Sequence[str] = ()
    """Columns of sentences, which are wrapped rather than cut."""
    summed: bool = False
    """Whether the last row sums up the others, which HTML sets off."""
    apart: str = ""
    """What separates the two parts of names in the header, of which a terminal prints the first once, above."""
    folds: Sequence[int] = ()
    """The rows that one screen may leave out, those that say least first."""
    folded: str = "more"
    """What these rows are called, after their number."""


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    line: Line


@dataclass(frozen=True, slots=True)
class Items:
    lines: Sequence[Line]
    may_fold: bool = False
    """Whether one screen may leave out the last of them."""


Block: TypeAlias = TextTable | Heading | Sentence | Items
Document: TypeAlias = Sequence[Block]


def spans_of(line: Line) -> tuple[Span, ...]:
    parts = line if isinstance(line, tuple) else (line,)
    return tuple(Span(part) if isinstance(part, str) else part for part in parts)


def text_of(line: Line) -> str:
    return "".join(span.text for span in spans_of(line))
