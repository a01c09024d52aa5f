"""What the columns of a dataset hold."""

from __future__ import annotations

from assay.core.types import Sample
from assay.datasets.column_names import columns_of, type_name


def test_every_value_is_counted_by_its_type_and_every_row_without_one() -> None:
    rows = [{"a": 1, "b": ""}, {"a": 1.5}, {"a": None, "b": "x"}]
    a, b = columns_of(Sample(id=str(at), row=row) for at, row in enumerate(rows))
    assert (a.name, a.types, a.missing, a.example) == ("a", {"integer": 1, "float": 1, "null": 1}, 0, 1)
    assert (b.name, b.types, b.missing, b.example) == ("b", {"string": 2}, 1, "x")


def test_a_truth_value_is_not_a_number() -> None:
    assert [type_name(each) for each in (True, 1, None, [], {})] == ["boolean", "integer", "null", "list", "mapping"]
