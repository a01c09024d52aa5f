"""A column has the narrowest type that holds every value in it, and nothing is lost on the way there."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.results.frames.frame_columns import CHUNK_ROWS, Column, Seen, cell, chosen, distinct, table_of


@pytest.mark.parametrize(
    ("values", "kind", "cells"),
    [
        ([True, False], "bool", [True, False]),
        ([1, 2], "int", [1, 2]),
        ([1, 0.5, None], "float", [1.0, 0.5, None]),
        ([True, 2], "int", [1, 2]),
        ([True, 0.5], "float", [1.0, 0.5]),
        (["a", 1, True, 0.5], "text", ["a", "1", "True", "0.5"]),
        ([2**63, 1], "float", [2.0**63, 1.0]),
        ([10**400, 1], "text", ["1" + "0" * 400, "1"]),
        ([["b", 1], {"k": None}], "text", ['["b",1]', '{"k":null}']),
        ([None], "text", [None]),
    ],
)
def test_the_type_of_a_column_follows_from_its_values(values: list[Any], kind: str, cells: list[Any]) -> None:
    seen = Seen()
    for value in values:
        seen.add(value)
    column = seen.column("c", len(values))
    assert (column.kind, column.nullable) == (kind, None in values)
    assert [cell(value, column.kind) for value in values] == cells
    assert [type(cell(value, column.kind)) for value in values] == [type(each) for each in cells]


def test_what_two_runs_have_seen_is_one_column() -> None:
    whole, part = Seen(), Seen()
    whole.add(1)
    part.add(0.5)
    together = whole.together(part).column("c", 3)
    assert (together.kind, together.nullable) == ("float", True)
    assert Seen().together(part).kind == "float"
    assert Seen().together(Seen()).kind is None


def test_an_unknown_column_is_answered_with_the_nearest() -> None:
    columns = [Column("score", "float"), Column("task", "text")]
    assert chosen(columns, ["task", "score", "task"]) == [1, 0]
    assert chosen(columns, "task") == [1]
    with pytest.raises(UsageError, match=r"no column `scores`. Did you mean `score`"):
        chosen(columns, ["scores"])


def test_columns_of_one_name_are_told_apart() -> None:
    assert distinct(["a", "a", "a (2)", "b"]) == ["a", "a (2)", "a (2) (2)", "b"]


def test_rows_come_in_chunks_and_again_for_a_second_reader() -> None:
    table = table_of([(Column("n", "int"), lambda n: n)], None, lambda: ((n,) for n in range(CHUNK_ROWS + 1)))
    for _ in range(2):
        assert [len(chunk[0]) for chunk in table.chunks()] == [CHUNK_ROWS, 1]
