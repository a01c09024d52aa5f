"""What is written in a dataset's file is what prompts and gold answers say."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path
from typing import Any

import pytest

from assay.core.types import Message, Trace
from assay.datasets.json_lines import JsonArray, JsonLines
from assay.datasets.rows import RowDataset
from assay.datasets.tables import Csv
from assay.prompts.field_template import FieldTemplate
from assay.prompts.written_text import row_variables
from assay.scorers.text_equals import StringEquals

COLUMNS = {
    "lower truths": ["true", "false"],
    "python truths": ["True", "False"],
    "upper truths": ["TRUE", "FALSE", "TRUE"],
    "mixed truths": ["true", "FALSE"],
    "integers": ["4", "12", "-3"],
    "integer beside decimal": ["4", "2.5"],
    "padded decimal": ["0.50", "0.25"],
    "one padded": ["0.50"],
    "price": ["1.10", "2"],
    "trailing zero": ["2.0", "3"],
    "exponents": ["1e3", "2E-4"],
    "negative zero": ["-0", "1"],
    "negative zero decimal": ["-0.0", "1"],
    "large": ["123456789012345678", "2"],
    "tiny": ["0.00001", "1"],
    "seventeen digits": ["0.12345678901234567", "1"],
    "blank among numbers": ["", "4"],
    "blank among truths": ["true", ""],
    "leading zeros": ["007", "010"],
    "versions": ["3.10", "3.9"],
    "thousands": ["1,000", "2"],
    "signed": ["+1", "2"],
    "spaces": [" 1", "2 "],
    "words": ["yes", "No", "NaN", "null", "None"],
}


def table(tmp_path: Path, cells: list[str]) -> Csv:
    path = tmp_path / "d.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("q", "t"), *((f"q{at}", cell) for at, cell in enumerate(cells))])
    return Csv(path=str(path))


def shown(dataset: RowDataset, template: str) -> list[str]:
    field = FieldTemplate(template, field="f", stage="solver", part="p")
    return [field.render(row_variables(sample), sample) for sample in dataset]


@pytest.mark.parametrize("cells", COLUMNS.values(), ids=COLUMNS)
def test_a_cell_prints_and_scores_as_it_is_written(tmp_path: Path, cells: list[str]) -> None:
    dataset = table(tmp_path, cells)
    assert shown(dataset, "Say {{ sample.t }}.") == [f"Say {cell}." for cell in cells]
    gold = StringEquals("s", ground_truth="{{ sample['t'] }}")
    for sample, cell in zip(dataset, cells, strict=True):
        if cell:
            score = asyncio.run(gold(sample, Trace(prediction=cell, messages=(Message(role="user", content=""),))))
            assert score.values == {"is_correct": True}


@pytest.mark.parametrize(
    ("template", "texts"),
    [
        ("{{ sample.n }}", ["2.50", "3"]),
        ("{{ sample['n'] ~ ' EUR' }}", ["2.50 EUR", "3 EUR"]),
        ("{{ 'a' if sample.n > 2.9 else sample.n }}", ["2.50", "a"]),
        ("{% if sample.n > 2.9 %}{{ sample.n }}{% else %}less{% endif %}", ["less", "3"]),
        ("{{ sample.n | trim }}{{ sample.n | default('?') }}", ["2.502.50", "33"]),
        ("{{ sample.n * 2 }}", ["5.0", "6.0"]),
        ("{{ sample.n | round }}", ["2.0", "3.0"]),
        ("{% for sample in [{'n': 1.0}] %}{{ sample.n }}{% endfor %}", ["1.0", "1.0"]),
        ("{{ sample.truth }}{% if not sample.truth %} no{% endif %}", ["TRUE", "false no"]),
    ],
)
def test_text_where_it_is_printed_and_the_value_where_it_is_used(
    tmp_path: Path, template: str, texts: list[str]
) -> None:
    (tmp_path / "d.csv").write_text("n,truth\n2.50,TRUE\n3,false\n")
    assert shown(Csv(path=str(tmp_path / "d.csv")), template) == texts


def test_numbers_of_json_lines_keep_their_text_and_their_value(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"t": 0.50, "in": {"deep": 1e3}, "list": [2.50], "so": true}\n')
    dataset = JsonLines(path=str(path))
    assert shown(dataset, "{{ sample.t }} {{ sample.in.deep }} {{ sample.so }}") == ["0.50 1e3 true"]
    (sample,) = dataset
    assert sample.row == {"t": 0.5, "in": {"deep": 1000.0}, "list": [2.5], "so": True}
    assert _types(sample.row) == {"t": float, "in": {"deep": float}, "list": [float], "so": bool}


def test_columns_that_are_kept_and_joined_keep_their_text(tmp_path: Path) -> None:
    from assay import catalog

    table(tmp_path, ["1.10", "2"])
    options = {"path": str(tmp_path / "d.csv"), "columns": ["t"]}
    joined = catalog.make("dataset", "joined", {"parts": {"a": {"use": "table", "options": options}}})
    assert shown(joined, "{{ sample.a.t }}") == ["1.10", "2"]


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _types(item) for name, item in value.items()}
    return [_types(item) for item in value] if isinstance(value, list) else type(value)


IN_JSON = {
    "list": '["A", 2, null, true, -0, 1.50, {"x": 2.0e1}]',
    "mapping": '{"k": "v", "b": 1.50, "é": []}',
    "list of lists": "[[0.10], [-0, 1]]",
    "negative zero": "-0",
    "empty list": "[]",
}


@pytest.mark.parametrize("value", IN_JSON.values(), ids=IN_JSON)
@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_what_is_no_text_prints_as_the_json_of_the_file(tmp_path: Path, value: str, ending: str) -> None:
    row, path = f'{{"t": {value}}}', tmp_path / f"d.{ending}"
    path.write_text(row if ending == "jsonl" else f"[{row}]")
    dataset = (JsonLines if ending == "jsonl" else JsonArray)(path=str(path))
    assert shown(dataset, "{{ sample.t }}") == [value]
    assert shown(dataset, "{{ 'is ' ~ sample.t }}") == [f"is {value}"]


def test_templates_count_with_lists_and_go_through_them(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"t": [3, 4], "z": -0}\n')
    template = "{% for x in sample.t | default([]) %}{{ x + 1 }};{% endfor %}{{ sample.t | length }}{{ sample.z + 1 }}"
    assert shown(JsonLines(path=str(path)), template) == ["4;5;21"]
