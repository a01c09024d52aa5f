"""Datasets written in the task's own YAML: a list of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any

from assay.core.describe import DatasetInfo, describes
from assay.core.fingerprint import fingerprint
from assay.datasets.rows import Row, RowDataset, WrittenRow, check_rows
from assay.overriding import override
from assay.part_options import Doc, part


@describes(DatasetInfo())
@part("Rows written in the YAML file.", example="samples: [{country: France, capital: Paris}]")
class Inline(RowDataset):
    """Rows given as they are."""

    def __init__(
        self,
        *,
        samples: Annotated[list[Row], Doc("The rows: columns and their values.")],
        name: str = "inline",
        written: Mapping[str, dict[str, Any]] | None = None,
        **options: Any,
    ) -> None:
        """`written`: by the number of a row, the texts of its values that print as others than the file has."""
        super().__init__(name=name, **options)
        self._samples = check_rows(samples, name)
        self._written = dict(written or {})

    @override
    def rows(self) -> Iterator[Row]:
        for at, row in enumerate(self._samples):
            texts = self._written.get(str(at))
            yield row if texts is None else WrittenRow(row, texts)

    @cached_property
    @override
    def sha256(self) -> str:
        return fingerprint([self._samples, self._written] if self._written else self._samples)
