"""The kinds of flags that every verb has: given or not, with a value, or given repeatedly."""

from __future__ import annotations

from argparse import _ActionsContainer as Parser
from collections.abc import Callable
from typing import Any


def switch(parser: Parser, name: str, meaning: str) -> None:
    parser.add_argument(name, action="store_true", help=meaning)


def option(
    parser: Parser,
    name: str,
    metavar: str,
    meaning: str,
    kind: Callable[[str], Any] = str,
    default: Any = None,
) -> None:
    parser.add_argument(name, type=kind, default=default, metavar=metavar, help=meaning)


def repeated(parser: Parser, name: str, metavar: str, meaning: str) -> None:
    parser.add_argument(name, action="append", default=[], metavar=metavar, help=meaning)
