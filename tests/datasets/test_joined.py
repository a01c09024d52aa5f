"""Datasets side by side: row n of each, or a sentence about the one that is shorter."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.joined import Joined


def inline(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"use": "inline", "options": {"samples": list(rows)}}


def test_rows_stand_under_the_names_of_their_datasets() -> None:
    joined = Joined(parts={"a": inline({"label": 1}, {"label": 2}), "b": inline({"label": 3}, {"label": 4})})
    assert [(sample.id, sample.row) for sample in joined] == [
        ("0", {"a": {"label": 1}, "b": {"label": 3}}),
        ("1", {"a": {"label": 2}, "b": {"label": 4}}),
    ]


def test_an_id_that_all_of_them_give_is_the_rows_id() -> None:
    joined = Joined(parts={"a": inline({"sample_id": "x"}, {"sample_id": "y"}), "b": inline({"sample_id": "x"}, {})})
    assert [sample.id for sample in joined] == ["x", "1"]


def test_datasets_of_different_length_are_refused() -> None:
    joined = Joined(parts={"a": inline({"n": 1}, {"n": 2}), "b": inline({"n": 1})})
    with pytest.raises(UsageError, match="`b` has no row 2"):
        len(joined)


def test_code_of_ones_own_is_not_run_for_it() -> None:
    with pytest.raises(UsageError):
        Joined(parts={"a": {"use": "os:system", "options": {}}, "b": inline({})})


def test_the_hash_follows_the_parts() -> None:
    one = Joined(parts={"a": inline({"n": 1}), "b": inline({"n": 2})}).sha256
    assert one == Joined(parts={"a": inline({"n": 1}), "b": inline({"n": 2})}).sha256
    assert one != Joined(parts={"a": inline({"n": 2}), "b": inline({"n": 1})}).sha256
