"""How a command shows what it found: laid out for a terminal where one looks, as Markdown where it is piped.

The one place where that is decided, for every subcommand that prints a table or closes with sentences.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from assay.cli import streams
from assay.cli.flags import note_need, switch

if TYPE_CHECKING:
    from assay.pages.document import Block, Document, Line, Style

NEEDED = "─━…–•"
"""Characters that our layout is made of; a terminal without them gets Markdown."""
UNLIMITED = 100_000


def add_form_arguments(
    parser: argparse._ActionsContainer, *, json: str | None = None, is_summary: bool = False
) -> None:
    """The forms in which a result can be printed; `json` says what that form holds, and a summary is one screen."""
    if json is not None:
        switch(parser, "--json", json)
    switch(parser, "--markdown", "tables as Markdown, on a terminal too (the default when piped)")
    switch(
        parser,
        "--plain",
        "tables as on a terminal, but without colour or a live display (NO_COLOR=1 turns off colour only)",
    )
    if is_summary:
        add_verbose(parser)


def add_verbose(parser: argparse._ActionsContainer) -> None:
    verbose = "everything, where a terminal gets one screen of it (the default when piped)"
    note_need(parser.add_argument("-v", "--verbose", action="store_true", help=verbose), None)


def show(document: Document | Block, options: argparse.Namespace) -> None:
    """The document on stdout: in the form of the flags, else laid out on a terminal, and Markdown in a pipe."""
    if not is_laid_out(options):
        from assay.pages.markdown import markdown

        print(markdown(document))
        return
    from assay.pages.terminal import terminal_lines

    lines = terminal_lines(document, width_of_stream(sys.stdout))
    streams.write_lines(sys.stdout, lines, styled=has_styles(sys.stdout, options))


def is_one_screen(options: argparse.Namespace) -> bool:
    """Whether a summary is kept to one screen: on a terminal, unless everything was asked for."""
    return not options.verbose and is_laid_out(options) and can_lay_out(sys.stdout) and can_lay_out(sys.stderr)


def show_summary(document: Document, options: argparse.Namespace, *, below: int = 0) -> None:
    """The document on one screen, less what was said before it and the number of lines that follow."""
    from assay.pages.one_screen import LINES, one_screen

    room = LINES - streams.lines_said() - below
    lines = one_screen(document, width_of_stream(sys.stdout), max(room, LINES // 2))
    streams.write_lines(sys.stdout, lines, styled=has_styles(sys.stdout, options))


def show_result(result: object, document: Document | Block, options: argparse.Namespace) -> None:
    """The result as JSON where the flags ask for it, else the document about it."""
    if options.json:
        print_json(result)
    else:
        show(document, options)


def print_json(value: object, *, indent: int | None = None) -> None:
    encoded = msgspec.json.encode(value)
    print((encoded if indent is None else msgspec.json.format(encoded, indent=indent)).decode())


def is_laid_out(options: argparse.Namespace) -> bool:
    """Whether `show` lays documents out as for a terminal."""
    return not options.markdown and (options.plain or can_lay_out(sys.stdout))


def print_sentence(
    line: Line,
    options: argparse.Namespace,
    style: Style = "plain",
    *,
    first: str = "",
    stream: TextIO | None = None,
) -> None:
    """A sentence, on stderr by default: broken at its spaces on a terminal, one line elsewhere."""
    from assay.pages.document import text_of

    stream = stream or sys.stderr
    if options.markdown or not can_lay_out(stream):
        print(text_of(line), file=stream)
        return
    from assay.pages.terminal import sentence_lines

    lines = sentence_lines(line, width_of_stream(stream), first=first, style=style)
    streams.write_lines(stream, lines, styled=has_styles(stream, options))


def print_notes(sentences: Sequence[str], options: argparse.Namespace) -> None:
    """Notes for the reader: on a terminal a list, separate from the table above."""
    if sentences and can_lay_out(sys.stderr):
        print(file=sys.stderr)
    for sentence in sentences:
        print_sentence(sentence, options, first="• ")


def can_lay_out(stream: TextIO) -> bool:
    """Whether it is a terminal that shows the characters a layout is made of."""
    if not stream.isatty():
        return False
    try:
        NEEDED.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def has_styles(stream: TextIO, options: argparse.Namespace | None = None) -> bool:
    """Whether colour and weight may be used: on a terminal that knows them, unless the user turned them off."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") in (None, "", "dumb")
    return stream.isatty() and not refused and not (options is not None and options.plain)


def width_of_stream(stream: TextIO) -> int:
    """Columns: what COLUMNS says, else the terminal; what is piped has no limit."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return UNLIMITED
