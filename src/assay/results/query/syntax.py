"""The parts of a query, and a query written as text. Nothing here knows which fields a run has.

    query   := all ("or" all)*
    all     := one (["and"] one)*
    one     := "not" one | "(" query ")" | field sign value ("," value)* | word | "several words"
    sign    := ":" | "=" | "!=" | "<" | "<=" | ">" | ">="

A value may hold `*` for any characters, unless it is in quotes. In quotes `\"` is a quote and `\\` a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from assay.core.errors import UsageError

SIGNS = ("!=", "<=", ">=", ":", "=", "<", ">")
"""Longer ones first, since they are matched in this order."""
ORDERING = ("<", "<=", ">", ">=")
KEYWORDS = ("and", "or", "not")
PLAIN_WORD = re.compile(r'(?:[^\s()":=<>!,]|!(?!=))+')
PLAIN_VALUE = re.compile(r'[^\s()",]+')


class QueryError(UsageError):
    """A query that cannot be parsed, with the column of the error."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"the query, column {at + 1}: {message}")
        self.at = at
        """From 0."""


class Constant(Struct, frozen=True):
    """What a field is compared with."""

    text: str
    quoted: bool = False
    at: int = 0


class SearchText(Struct, frozen=True, tag="text"):
    """Words to look for anywhere in a sample."""

    words: str
    quoted: bool = False
    """In quotes: whole words, next to each other."""
    unfinished: bool = False
    """The last word of a query, which may still be typed: it matches the beginning of a word."""
    at: int = 0


class Compare(Struct, frozen=True, tag="compare"):
    """A field and the value it must have, or one of several."""

    field: str
    sign: str
    values: tuple[Constant, ...]
    at: int = 0


class Not(Struct, frozen=True, tag="not"):
    part: Query


class And(Struct, frozen=True, tag="and"):
    parts: tuple[Query, ...]


class Or(Struct, frozen=True, tag="or"):
    parts: tuple[Query, ...]


Query = SearchText | Compare | Not | And | Or


def written(query: Query) -> str:
    """The query as text, which parses to the same query."""
    if isinstance(query, SearchText):
        return in_quotes(query.words) if query.quoted else query.words
    if isinstance(query, Compare):
        values = ",".join(in_quotes(value.text) if value.quoted else value.text for value in query.values)
        return f"{_written_field(query.field)}{query.sign}{values}"
    if isinstance(query, Not):
        return f"not {_inside(query.part)}"
    joint = " and " if isinstance(query, And) else " or "
    return joint.join(_inside(part) for part in query.parts)


def _inside(query: Query) -> str:
    return f"({written(query)})" if isinstance(query, And | Or) else written(query)


def plain_value(text: str) -> Constant:
    """A literal value, in quotes where it would otherwise mean something else."""
    return Constant(text, quoted=PLAIN_VALUE.fullmatch(text) is None or "*" in text)


def _written_field(name: str) -> str:
    plain = PLAIN_WORD.fullmatch(name) is not None and name.lower() not in KEYWORDS
    return name if plain else in_quotes(name)


def in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_like(text: str, parts: Sequence[str]) -> bool:
    """Whether the text begins with the first part, ends with the last, and has the others between, in this order."""
    head, *inner, tail = parts
    at, end = len(head), len(text) - len(tail)
    if at > end or not text.startswith(head) or not text.endswith(tail):
        return False
    for part in inner:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
