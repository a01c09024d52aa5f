"""JSON Lines: blank lines are skipped, absent columns stay absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.tables import table


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def rows(dataset: Any) -> list[dict[str, Any] | None]:
    return [sample.row for sample in dataset]


def test_json_lines_skip_blank_lines_and_leave_absent_columns_absent(tmp_path: Path) -> None:
    dataset = table(path=written(tmp_path, "d.jsonl", '{"a": 1, "b": null}\n\n  \n{"a": "x"}\n'))
    assert rows(dataset) == [{"a": 1, "b": None}, {"a": "x"}]
    assert [sample.id for sample in dataset] == ["0", "1"]
    assert len(dataset) == 2


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ('{"in": {"b": [{"c": 1, "c": 1}]}}', "the key 'c' is given twice"),
        ('{"a": NaN}', "NaN is not a JSON value"),
        ('{"a": 1e999}', "out of range"),
    ],
)
def test_a_line_that_could_be_read_in_two_ways_is_refused_with_its_number(tmp_path: Path, line: str, why: str) -> None:
    dataset = table(path=written(tmp_path, "d.jsonl", f'{{"a": 1}}\n{line}\n'))
    with pytest.raises(UsageError, match=r"d\.jsonl:2: ") as refused:
        rows(dataset)
    assert why in str(refused.value)
