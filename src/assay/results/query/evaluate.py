"""Which rows match a query: every comparison is arithmetic on whole columns.

A comparison holds only where the field has a value: `not metadata.topic:x` also holds for samples without a topic,
`metadata.topic!=x` does not. `field:*` holds where there is any value.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.results.query.fields import QueryField, Schema
from assay.results.query.syntax import ORDERING, And, Compare, Constant, Not, Or, Query, QueryError, SearchText
from assay.text.wording import hint

Mask = NDArray[np.bool_]
NumberColumn = NDArray[np.floating[Any]]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Texts(Protocol):
    def present(self) -> Mask: ...

    def equal(self, text: str) -> Mask: ...

    def like(self, parts: Sequence[str]) -> Mask:
        """Texts that begin with the first part, end with the last, and have the others between, in this order."""
        ...

    def same(self, other: Texts) -> Mask | None:
        """Where both have the same text; None where that is unknown."""
        ...


class QueryColumns(Protocol):
    """The rows to query. A field that they lack has no value in any row."""

    @property
    def rows(self) -> int: ...

    def numbers(self, field: str) -> NumberColumn | None:
        """NaN where there is no value."""
        ...

    def texts(self, field: str) -> Texts | None: ...

    def search(self, texts: Sequence[SearchText]) -> Mask:
        """Rows that hold all these words."""
        ...


def evaluate(query: Query, schema: Schema, columns: QueryColumns) -> Mask:
    """The rows that match the query; an unknown field or an impossible value is an error with its column."""
    if isinstance(query, SearchText):
        return columns.search([query])
    if isinstance(query, Compare):
        return _compared(query, schema.resolve(query.field, query.at), schema, columns)
    if isinstance(query, Not):
        return ~evaluate(query.part, schema, columns)
    if isinstance(query, Or):
        mask = np.zeros(columns.rows, bool)
        for part in query.parts:
            mask |= evaluate(part, schema, columns)
        return mask
    # words that must all occur are searched at once
    words = [part for part in query.parts if isinstance(part, SearchText)]
    mask = columns.search(words) if words else np.ones(columns.rows, bool)
    for part in query.parts:
        if not isinstance(part, SearchText):
            mask &= evaluate(part, schema, columns)
    return mask


def texts_of(query: Query | None) -> Iterator[SearchText]:
    """Every text that the query searches for."""
    if isinstance(query, SearchText):
        yield query
    elif isinstance(query, Not):
        yield from texts_of(query.part)
    elif isinstance(query, And | Or):
        for part in query.parts:
            yield from texts_of(part)


def number_of(text: str) -> float | None:
    """A value as a number: `true` is 1, `false` is 0."""
    if text in ("true", "false"):
        return float(text == "true")
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def _compared(query: Compare, field: QueryField, schema: Schema, columns: QueryColumns) -> Mask:
    if query.sign in ORDERING:
        return _ordered(query, field, schema, columns)
    hits = np.zeros(columns.rows, bool)
    present = _present(field, columns)
    for value in query.values:
        other = _other(field, query.sign, value, schema)
        if other is None:
            hits |= _equal(field, value, columns)
        else:
            hits |= _same(field, other, value, columns)
            present = present & _present(other, columns)
    return present & ~hits if query.sign == "!=" else hits


def _ordered(query: Compare, field: QueryField, schema: Schema, columns: QueryColumns) -> Mask:
    if field.kind in ("text", "choice"):
        raise QueryError(f"`{field.name}` holds texts, which have no order; use `:`, `=` or `!=`", query.at)
    value = query.values[0]
    other = _other(field, query.sign, value, schema)
    left = _numbers(field, columns)
    right: Any = _wanted_number(field, value) if other is None else _numbers(other, columns)
    # rows without a value are NaN here, and compare as false
    mask: Mask = _COMPARE[query.sign](left, right)
    return mask


def _other(field: QueryField, sign: str, value: Constant, schema: Schema) -> QueryField | None:
    """The field on the right, where there is one: `judge!=rule`."""
    if sign == ":" or value.quoted or number_of(value.text) is not None:
        return None
    other = schema.find(value.text)
    if other is None or (sign not in ORDERING and field.kind in ("choice", "any") and "." not in value.text):
        return None
    return other if other.kind != "choice" else None


def _equal(field: QueryField, value: Constant, columns: QueryColumns) -> Mask:
    if value.text == "*" and not value.quoted:
        return _present(field, columns)
    if field.kind == "number":
        mask: Mask = _numbers(field, columns) == _wanted_number(field, value)
        return mask
    hits = np.zeros(columns.rows, bool)
    number = number_of(value.text)
    if field.kind == "any" and number is not None:
        hits |= _numbers(field, columns) == number
    parts = [value.text] if value.quoted else value.text.split("*")
    if field.kind == "choice" and len(parts) == 1 and value.text not in field.values:
        known = hint(value.text, field.values, "It is one of")
        raise QueryError(f"`{field.name}` is never `{value.text[:60]}`. {known}", value.at)
    texts = columns.texts(field.name)
    if texts is not None:
        hits |= texts.equal(value.text) if len(parts) == 1 else texts.like(parts)
    return hits


def _same(field: QueryField, other: QueryField, value: Constant, columns: QueryColumns) -> Mask:
    if "number" in (field.kind, other.kind):
        mask: Mask = _numbers(field, columns) == _numbers(other, columns)
        return mask
    left, right = columns.texts(field.name), columns.texts(other.name)
    if left is None or right is None:
        return np.zeros(columns.rows, bool)
    same = left.same(right)
    if same is None:
        message = f"`{field.name}` and `{other.name}` cannot be compared; put `{value.text}` in quotes for the text"
        raise QueryError(message, value.at)
    return same


def _wanted_number(field: QueryField, value: Constant) -> float:
    number = number_of(value.text)
    if number is None or value.quoted:
        wanted = "a number such as 0.5, or another field"
        raise QueryError(f"`{field.name}` is compared with {wanted}, got `{value.text[:60]}`", value.at)
    return number


def _numbers(field: QueryField, columns: QueryColumns) -> NumberColumn:
    numbers = columns.numbers(field.name)
    return np.full(columns.rows, np.nan) if numbers is None else numbers


def _present(field: QueryField, columns: QueryColumns) -> Mask:
    texts = columns.texts(field.name) if field.kind != "number" else None
    mask = texts.present() if texts is not None else np.zeros(columns.rows, bool)
    return mask if field.kind in ("text", "choice") else mask | ~np.isnan(_numbers(field, columns))
