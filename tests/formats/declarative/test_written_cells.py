"""A cell keeps its text in every kind of file: what a template prints is what stands there."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.yaml_tasks import run

from assay.core.types import TaskDefinition
from assay.tasks.load import load_tasks

LITERALS = [
    "2.50",
    "1e3",
    "1E-3",
    "0.10",
    "1.0",
    "12345678901234567890.5",
    "true",
    "7",
    "-0.0",
    "100000000000000000000",
]
"""As JSON and YAML both write them."""
COLUMNS = {
    "truths": ["true", "FALSE", "True"],
    "mixed": ["7", "3.25", "12"],
    "padded": ["1.10", "2", "3.500"],
    "exponents": ["2e5", "4", "1E-3"],
    "minus zero": ["-0", "3", "-0.0"],
    "leading zeros": ["007", "42", "1"],
    "signs": ["+5", "6", "7"],
    "thousands": ["1,000", "2", "3"],
    "spaces": [" 1", "2 ", "3"],
    "beyond": ["123456789012345678901", "2", "3"],
    "versions": ["3.10", "3.9", "4.0"],
    "dates": ["2024-01-02", "2024-1-2", "2024"],
    "nan": ["NaN", "1", "2"],
    "infinity": ["inf", "1", "-inf"],
    "nulls": ["null", "None", "NA"],
    "digits": ["東京", "１２", "٧"],
    "dots": [".5", "5.", "0.5"],
    "quotes": ['"a"', "'b'", "a,b"],
    "underscores": ["1_000", "2", "3"],
    "words": ["yes", "no", "on"],
    "braces": ["{}", "[1]", "{{ x }}"],
    "numbers": ["4", "5", "6"],
}


def task(content: str = "{{ sample.i }}", gold: str = "{{ sample.t }}") -> dict[str, Any]:
    asks = {"type": "chat_completion", "input_messages": [{"role": "user", "content": content}]}
    return {
        "dataset": {"key": "d"},
        "solver": {"type": "single_turn_solver", "input_builder": asks},
        "scorers": [{"type": "string_equals", "ground_truth": gold}],
    }


def read(folder: Path, definition: dict[str, Any]) -> list[TaskDefinition]:
    path = folder / "t.yaml"
    path.write_text(json.dumps({"key": "t", "display_name": "T", "description": "d", "definition": definition}))
    return load_tasks([str(path)])


def score(folder: Path, cells: list[str], definition: dict[str, Any] | None = None) -> float | None:
    """The score of a model that answers the number of a cell with its text."""
    tasks = read(folder, definition or task())
    return run(tasks, lambda prompt: cells[int(prompt)], folder / "run", cache=False).tasks[0].score


@pytest.mark.parametrize("ending", ["jsonl", "json", "yaml"])
def test_values_print_as_the_file_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f'{{"i": {at}, "t": {literal}}}' for at, literal in enumerate(LITERALS)]
    if ending == "yaml":
        samples = "".join(f"    - {{i: {at}, t: {literal}}}\n" for at, literal in enumerate(LITERALS))
        text = "key: d\ndisplay_name: D\nsource:\n  type: inline\n  samples:\n" + samples
        (tmp_path / "datasets").mkdir()
        (tmp_path / "datasets" / "d.yaml").write_text(text)
    else:
        joined = "\n".join(rows) if ending == "jsonl" else f"[{', '.join(rows)}]"
        (tmp_path / f"d.{ending}").write_text(joined)
    assert score(tmp_path, LITERALS) == 1.0


@pytest.mark.parametrize("separator", [",", "\t"], ids=["csv", "tsv"])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_tables_print_as_the_file_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, separator: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with (tmp_path / ("d.csv" if separator == "," else "d.tsv")).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter=separator)
        table.writerows([["i", "t"], *([at, cell] for at, cell in enumerate(COLUMNS[name]))])
    assert score(tmp_path, COLUMNS[name]) == 1.0


def test_filters_of_yaml_rows_count_with_the_values_and_few_shot_examples_print_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "d.yaml").write_text(
        "key: d\ndisplay_name: D\nsource:\n  type: inline\n"
        "  filters: [{op: equals, expression: '{{ sample.price }}', value: 2.5}]\n"
        "  samples:\n    - {price: 2.50, more: {size: 0x10}}\n    - {price: 3.0, more: {size: 1}}\n"
    )
    (tmp_path / "t.yaml").write_text(
        "key: t\ndisplay_name: T\ndescription: d\ndefinition:\n  dataset: {key: d}\n  solver:\n"
        "    type: single_turn_solver\n    few_shot: {examples: [{price: 1.10, more: {size: 2.0}}],"
        " assistant: '{{ sample.price }} {{ sample.more.size }}'}\n"
        "    input_builder: {input_messages: [{role: user, content: '{{ sample.price }} {{ sample.price * 2 }}'}]}\n"
        "  scorers: [{type: string_equals, ground_truth: '{{ sample.more.size }}'}]\n"
    )
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "0x10"

    board = run(load_tasks(["t.yaml"]), model, tmp_path / "run", cache=False)
    assert [prompt.split("\n\n")[-2:] for prompt in asked] == [["1.10 2.0", "2.50 5.0"]]
    assert board.tasks[0].score == 1.0
