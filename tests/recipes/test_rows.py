"""Templates of a recipe: texts, values that keep their type, and what differs by variant or task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.recipes.recipe import BenchmarkFiles, Recipe, find_recipe, write_tasks

RECIPE = msgspec.structs.replace(
    find_recipe("svamp"),
    tasks={"t": BenchmarkFiles(files=("in.jsonl",))},
    ask="Q: {{ q }}",
    variants={"plain": "", "long": ""},
    row={"id": "{{ number }}", "prompt": "{{ ask }}", "extras": {"n": "{{ n }}"}, "metadata": {}},
    where={"long": {"prompt": "{{ ask }}\n", "extras": {"m": 2}}},
)


def rows(recipe: Recipe, folder: Path, record: dict[str, Any], variant: str = "plain") -> list[Any]:
    (folder / "in.jsonl").write_text(json.dumps(record))
    write_tasks(recipe, folder / "in.jsonl", folder / "out", variant=variant, shots=None, accept_unknown=True)
    return [json.loads(line) for line in (folder / "out" / "t.jsonl").read_text().splitlines()[1:]]


def test_a_text_of_one_expression_keeps_its_type_and_data_are_no_template(tmp_path: Path) -> None:
    [row] = rows(RECIPE, tmp_path, {"q": "{{ n }}?", "n": [1]})
    assert (row["id"], row["prompt"], row["extras"]) == (0, "Q: {{ n }}?", {"n": [1]})


def test_a_variant_changes_fields_of_the_row_and_of_mappings_in_it(tmp_path: Path) -> None:
    [row] = rows(RECIPE, tmp_path, {"q": "a", "n": 1}, "long")
    assert (row["prompt"], row["extras"]) == ("Q: a\n", {"n": 1, "m": 2})


@pytest.mark.parametrize("record", [{"q": "a"}, {"n": 1}, [1], "text"])
def test_a_record_without_a_field_is_not_in_the_format(record: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"in\.jsonl: is not in the format of SVAMP's files"):
        rows(RECIPE, tmp_path, record)


def test_a_field_that_no_recipe_has_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="shots"):
        msgspec.convert({**msgspec.to_builtins(RECIPE), "shots": 1}, Recipe)
