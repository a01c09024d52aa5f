"""The text below the flags of `--help`, laid out for the width of the terminal.

Authors write it in blocks: sentences, and under a heading such as `examples:` indented rows of a command and what it
does, two or more spaces apart. Sentences are wrapped. Rows that fit stay as they are; where one does not, every row of
its block has the explanation on lines of its own, and a long command continues after a backslash, as a shell reads it.
"""

from __future__ import annotations

import argparse
import re
import textwrap

from assay.overriding import override

_ROW = re.compile(r"  (\S.*?)(?: {2,}(\S.*))?$")
_NARROW = 24
"""A first column of exit codes or short names, next to which explanations are wrapped."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the blocks of an epilog, within the width of the terminal."""

    @override
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = re.split(r"\n{2,}", text.strip("\n"))
        return "\n\n".join("\n".join(_block(block.splitlines(), width)) for block in blocks)


def _block(lines: list[str], width: int) -> list[str]:
    rows = [match for line in lines if (match := _ROW.fullmatch(line))]
    fits = all(len(row[0]) <= width for row in rows)
    laid_out: list[str] = []
    sentences: list[str] = []
    for line in lines:
        if row := _ROW.fullmatch(line):
            laid_out += [*_wrapped(" ".join(sentences), width), *([line] if fits else _row(row, width))]
            sentences = []
        else:
            sentences.append(line)
    return laid_out + _wrapped(" ".join(sentences), width)


def _row(row: re.Match[str], width: int) -> list[str]:
    command, explanation = row.groups()
    column = row.start(2)
    if explanation and column <= _NARROW:
        return _wrapped(explanation, width, row[0][:column], " " * column)
    return _continued(command, width) + (_wrapped(explanation, width, " " * 6, " " * 6) if explanation else [])


def _wrapped(text: str, width: int, first: str = "", other: str = "") -> list[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=other, break_on_hyphens=False)


def _continued(command: str, width: int) -> list[str]:
    """The command, broken before its flags where it is too long for a line."""
    lines = ["  " + command]
    while len(lines[-1]) > width and (at := lines[-1].rfind(" --", 5, width - 2)) > 0:
        lines[-1:] = [lines[-1][:at] + " \\", "    " + lines[-1][at + 1 :]]
    return lines
