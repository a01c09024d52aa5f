"""JSON Lines: blank lines are skipped, absent columns stay absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
