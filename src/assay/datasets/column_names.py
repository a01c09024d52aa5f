"""What the columns of a dataset hold: the types of their values, how many rows lack them, and an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from assay.core.types import Sample


class DatasetColumn(Struct, frozen=True, kw_only=True):
    """One column of a dataset."""

    name: str
    types: dict[str, int]
    """How many values of each type: `string`, `integer`, `float`, `boolean`, `null`, `list`, `mapping`."""
    missing: int
    """Rows without this column."""
    example: Any = None


def columns_of(samples: Iterable[Sample]) -> list[DatasetColumn]:
    """Every column, in the order in which they first occur."""
    types: dict[str, Counter[str]] = {}
    examples: dict[str, Any] = {}
    rows = 0
    for sample in samples:
        rows += 1
        for name, value in (sample.row or {}).items():
            types.setdefault(name, Counter())[type_name(value)] += 1
            if value not in (None, ""):
                examples.setdefault(name, value)
    return [
        DatasetColumn(name=name, types=dict(counts), missing=rows - counts.total(), example=examples.get(name))
        for name, counts in types.items()
    ]


def type_name(value: object) -> str:
    """What a value is called where its type is shown."""
    for kind, name in _NAMES:
        if isinstance(value, kind):
            return name
    return "null" if value is None else type(value).__name__


_NAMES: tuple[tuple[type, str], ...] = (
    (str, "string"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "float"),
    (list, "list"),
    (dict, "mapping"),
)
