"""What a column of a table holds, told by all of its cells."""

from __future__ import annotations

import pytest

from assay.datasets.cell_types import guess_types

COLUMNS = [
    (["1", "-2", "0"], "integer"),
    (["1", "", "3"], "integer"),
    (["1", "2.5"], "float"),
    (["1.0", "2.25", "0.5"], "float"),
    (["1.50", "2.00", "10.25"], "float"),
    (["1e3", "-2.5E-7"], "float"),
    (["true", "False", "TRUE", ""], "boolean"),
    (["true", "1"], "string"),
    (["yes", "no"], "string"),
    (["1", "two"], "string"),
    (["007", "8"], "string"),
    (["+1", "2"], "string"),
    (["1,000", "2"], "string"),
    ([" 1", "2"], "string"),
    (["12345678901234567890", "1"], "string"),
    (["3.9", "3.10"], "string"),
    (["nan", "1"], "string"),
    (["1e999", "1"], "string"),
    (["", ""], "string"),
    ([], "string"),
    (["\u0661", "1"], "string"),
]


@pytest.mark.parametrize(("cells", "dtype"), COLUMNS, ids=[" ".join(cells) or "none" for cells, _ in COLUMNS])
def test_a_column_holds_what_every_cell_looks_like(cells: list[str], dtype: str) -> None:
    assert guess_types(["c"], [[cell] for cell in cells]) == {"c": dtype}
