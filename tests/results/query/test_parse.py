"""Reading queries: what is written is read back, and nothing but a `QueryError` ever comes of any text."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.results.query.parse import DEEPEST, LONGEST, MOST_PARTS, parse
from assay.results.query.syntax import (
    KEYWORDS,
    SIGNS,
    And,
    Compare,
    Constant,
    Not,
    Or,
    Query,
    QueryError,
    SearchText,
    written,
)

plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=' ()":=<>!,\\'), min_size=1).filter(
    lambda text: text.split() == [text] and text.lower() not in KEYWORDS
)
any_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
values = st.builds(Constant, plain) | st.builds(lambda text: Constant(text, quoted=True), any_text | st.just(""))
compared = st.builds(
    lambda field, sign, values: Compare(field, sign, tuple(values[: 1 if sign[0] in "<>" else None])),
    any_text,
    st.sampled_from(SIGNS),
    st.lists(values, min_size=1, max_size=3),
)
searched = st.builds(SearchText, plain) | st.builds(lambda text: SearchText(text, quoted=True), any_text)
several = lambda inner: st.lists(inner, min_size=2, max_size=3).map(tuple)  # noqa: E731
queries: st.SearchStrategy[Query] = st.recursive(
    compared | searched,
    lambda inner: st.builds(Not, inner) | st.builds(And, several(inner)) | st.builds(Or, several(inner)),
    max_leaves=6,
)


def shape(query: Query | None) -> Any:
    """Without the places, and without what the place of a word decides."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without(inner) for name, inner in value.items() if name not in ("at", "unfinished")}
        return [without(inner) for inner in value] if isinstance(value, list | tuple) else value

    return without(msgspec.to_builtins(query))


@settings(max_examples=200)
@given(query=queries)
def test_a_query_written_out_reads_back_as_the_same_query(query: Query) -> None:
    assert shape(parse(written(query))) == shape(query)


@settings(max_examples=300)
@given(text=st.text(max_size=60) | st.text('ab:=<>!()"\\,*. \n', max_size=60))
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    found, at = parsed(text)
    assert 0 <= at <= len(text)
    assert found is None or shape(parse(written(found))) == shape(found)


def parsed(text: str) -> tuple[Query | None, int]:
    """The query, or the column of its error."""
    try:
        return parse(text), 0
    except QueryError as error:
        return None, error.at


@pytest.mark.parametrize(
    "text",
    ["(" * LONGEST, "not " * 1999, '"' * LONGEST, "a" * LONGEST, "a:" + "b," * 3000, "x " * 3999, "!" * LONGEST],
    ids=["brackets", "nots", "quotes", "a word", "values", "words", "signs"],
)
def test_long_queries_are_read_or_refused_in_no_time(text: str) -> None:
    started = time.process_time()
    try:
        parse(text)
    except QueryError:
        pass
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" * (LONGEST + 1), "at most 8,000 characters"),
        ("(" * (DEEPEST + 2) + "a", "inside each other"),
        ("a " * (MOST_PARTS + 1), "more than 1,000 parts"),
        ("a:" + "b," * (MOST_PARTS + 1) + "c", "more than 1,000 values"),
    ],
    ids=["length", "depth", "parts", "values"],
)
def test_the_bounds_are_named(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        parse(text)


def test_only_the_last_word_may_be_unfinished() -> None:
    found = parse("first last")
    assert isinstance(found, And)
    assert [part.unfinished for part in found.parts if isinstance(part, SearchText)] == [False, True]
    assert parse("last ") == SearchText("last")
