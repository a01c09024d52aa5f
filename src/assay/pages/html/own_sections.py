"""Sections of a report that come from elsewhere: an installed package's, or the user's own.

A section is a function from the runs of the report to a document (`assay.pages.document`), whose first heading is its
title. It is called only where its name was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.catalog import resolve
from assay.core.errors import AssayError, UsageError
from assay.pages.document import Block, Document, Heading, Items, Line, Sentence, TextTable, spans_of
from assay.pages.html.element import Child, tag
from assay.pages.html.page import listed, shown, table
from assay.text.tracebacks import describe_exception


def own_section(name: str, runs: Sequence[Path]) -> tuple[str, str, Child]:
    """The anchor, the heading and the content of a section."""
    section = resolve("report_section", name, own_code=True)
    try:
        title, *blocks = section(runs)
        content = html_of(blocks)
    except AssayError:
        raise
    except Exception as error:
        raise UsageError(f"--section {name}: it failed with {describe_exception(error)}") from error
    if not isinstance(title, Heading):
        raise UsageError(f"--section {name}: its first block must be a Heading, got {type(title).__name__}")
    return f"section-{name.replace(':', '-')}", title.text, content


def html_of(document: Document) -> Child:
    """A document as HTML."""
    return [_html_of_block(block) for block in document]


def _html_of_block(block: Block) -> Child:
    match block:
        case TextTable():
            return table(block)
        case Heading():
            return tag("h3", block.text)
        case Sentence():
            return tag("p", _html_of_line(block.line))
        case Items():
            return listed([_html_of_line(line) for line in block.lines])
        case _:
            raise TypeError(f"{type(block).__name__} is no block of a document")


def _html_of_line(line: Line) -> Child:
    return [shown(span) for span in spans_of(line)]
