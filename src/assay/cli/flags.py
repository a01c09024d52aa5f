"""The kinds of flags that every subcommand has: given or not, with a value, one of a few words, or given repeatedly."""

from __future__ import annotations

from argparse import _ActionsContainer as Parser
from collections.abc import Callable, Sequence
from typing import Any


def switch(parser: Parser, name: str, meaning: str) -> None:
    parser.add_argument(name, action="store_true", help=meaning)


def option(parser: Parser, flag: str, meaning: str, kind: Callable[[str], Any] = str, default: Any = None) -> None:
    """`flag` is the name and what its value is called, as in `--limit N`."""
    name, metavar = flag.split(" ")
    parser.add_argument(name, type=kind, default=default, metavar=metavar, help=meaning)


def choice(parser: Parser, name: str, choices: Sequence[str], meaning: str) -> None:
    """One of a few words; the first is the default."""
    parser.add_argument(name, choices=choices, default=choices[0], help=meaning)


def repeated(parser: Parser, flag: str, meaning: str) -> None:
    name, metavar = flag.split(" ")
    parser.add_argument(name, action="append", default=[], metavar=metavar, help=meaning)
