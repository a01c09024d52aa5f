"""Rows written in the task itself: each a mapping, known by content."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.inline import Inline


@pytest.mark.parametrize("row", ["text", 3, None, ["a"]])
def test_an_item_that_is_not_a_mapping_is_named_by_its_place(row: Any) -> None:
    with pytest.raises(UsageError, match="dataset `d`: row 2 is not a mapping of columns"):
        Inline(samples=[{"q": "a"}, row], name="d")


def test_the_order_of_columns_is_no_part_of_the_content_but_that_of_rows_is() -> None:
    one = Inline(samples=[{"a": 1, "b": 2}, {"a": 3}])
    assert one.sha256 == Inline(samples=[{"b": 2, "a": 1}, {"a": 3}], name="other").sha256
    assert one.sha256 != Inline(samples=[{"a": 3}, {"a": 1, "b": 2}]).sha256


def test_it_can_be_walked_again_and_again() -> None:
    dataset = Inline(samples=[{"q": "a"}, {"q": "b"}])
    assert [sample.row for sample in dataset] == [sample.row for sample in dataset] == [{"q": "a"}, {"q": "b"}]
