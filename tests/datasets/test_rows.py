"""What every row dataset shares: filters, columns, the ids of samples, and subsamples."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.inline import Inline

ROWS = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]


def rows(dataset: Any) -> list[dict[str, Any] | None]:
    return [sample.row for sample in dataset]


def test_filters_are_combined_and_ids_stay_positions_in_the_source() -> None:
    dataset = Inline(
        samples=ROWS,
        filters=[
            {"op": "greater_than", "expression": "{{ sample.n }}", "value": 1},
            {"op": "not_equals", "expression": "{{ q }}", "value": "b"},
        ],
    )
    assert [(sample.id, sample.row) for sample in dataset] == [("2", {"q": "c", "n": 3})]
    assert len(dataset) == 1


def test_a_filter_on_a_missing_column_names_dataset_filter_and_row() -> None:
    dataset = Inline(samples=ROWS, name="d", filters=[{"op": "equals", "expression": "{{ sample.x }}", "value": 1}])
    with pytest.raises(UsageError, match=r"dataset `d`: filters\[0\].*`x`.*row 1"):
        len(dataset)


def test_columns_are_selected_and_must_exist() -> None:
    assert rows(Inline(samples=ROWS, columns=["q"]))[0] == {"q": "a"}
    with pytest.raises(UsageError, match="unknown column `qq`"):
        rows(Inline(samples=ROWS, columns=["qq"]))


def test_a_sample_id_column_names_samples_once() -> None:
    dataset = Inline(samples=[{"sample_id": 7, "q": "a"}, {"sample_id": "x", "q": "b"}], columns=["q"])
    assert [sample.id for sample in dataset] == ["7", "x"]
    with pytest.raises(UsageError, match="given twice"):
        list(Inline(samples=[{"sample_id": 7}, {"sample_id": "7"}]))


def test_subsamples_are_the_head_or_a_fixed_choice() -> None:
    many = [{"n": n} for n in range(50)]
    assert [sample.id for sample in Inline(samples=many, num_samples=3)] == ["0", "1", "2"]
    chosen = [s.id for s in Inline(samples=many, num_samples=10, subsampling="random")]
    assert chosen == [s.id for s in Inline(samples=many, num_samples=10, subsampling="random")]
    assert len(set(chosen)) == 10
    assert chosen == sorted(chosen, key=int)
    assert chosen != [str(n) for n in range(10)]
    assert len(Inline(samples=many, num_samples=99, subsampling="random")) == 50
