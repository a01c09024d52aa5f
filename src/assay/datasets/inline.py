"""Datasets written in the task's own YAML: a list of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any

from assay.core.describe import DatasetInfo, describes
from assay.core.fingerprint import fingerprint
from assay.datasets.rows import Row, RowDataset, check_rows
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
        **options: Any,
    ) -> None:
        super().__init__(name=name, **options)
        self._samples = check_rows(samples, name)

    @override
    def rows(self) -> Iterator[Row]:
        return iter(self._samples)

    @cached_property
    @override
    def sha256(self) -> str:
        return fingerprint(self._samples)
