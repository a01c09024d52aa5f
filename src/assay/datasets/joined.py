"""Several datasets side by side: row n of each, under the name of its dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import zip_longest
from typing import Any

from assay import catalog
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.seams import Dataset
from assay.core.types import Sample
from assay.datasets.content import content_hash
from assay.datasets.rows import Row, RowDataset, WrittenRow
from assay.overriding import override


def _about(options: Mapping[str, Any], _: object) -> DatasetInfo:
    given = options.get("parts")
    parts = given.values() if isinstance(given, Mapping) else ()
    known = [part for part in parts if isinstance(part, Mapping) and isinstance(part.get("options"), Mapping)]
    return DatasetInfo(
        elsewhere=not parts or len(known) < len(parts),  # malformed, which the reader reports
        parts=tuple((str(part.get("use")), dict(part["options"])) for part in known),
    )


@describes(_about)
class Joined(RowDataset):
    """Rows of datasets that have equally many, aligned by position: `sample.NAME.COLUMN`.

    Where all of them give the same `sample_id` to a row, it has that id; else its position.
    """

    def __init__(
        self,
        *,
        parts: Mapping[str, Mapping[str, Any]],
        also: Mapping[str, str] = {},
        name: str | None = None,
        **options: Any,
    ) -> None:
        """`parts`: under each name the reader (`use`) and its `options`; `also`: other names of these."""
        super().__init__(name=name or "+".join(parts), **options)
        self._also = dict(also)
        self._parts: dict[str, Dataset] = {}
        for key, part in parts.items():
            if {*part} != {"use", "options"}:
                raise UsageError(f"{self.where}: the part `{key}` needs `use` and `options`, and nothing else")
            self._parts[key] = catalog.make("dataset", part["use"], part["options"])

    @override
    def rows(self) -> Iterator[Row]:
        for number, samples in enumerate(zip_longest(*self._parts.values()), 1):
            parts: dict[str, Sample | None] = dict(zip(self._parts, samples, strict=True))
            if missing := [name for name, sample in parts.items() if sample is None]:
                raise UsageError(
                    f"{self.where}: the datasets do not have equally many rows: `{missing[0]}` has no row {number}"
                )
            row: Row = {name: sample.row for name, sample in parts.items() if sample is not None}
            ids = {str((sample.row or {}).get("sample_id") or "") for sample in samples}
            if len(ids) == 1 and (same := ids.pop()):
                row["sample_id"] = same
            written = {name: sample.written for name, sample in parts.items() if sample is not None and sample.written}
            row |= {other: row[name] for other, name in self._also.items() if name in row}
            written |= {other: written[name] for other, name in self._also.items() if name in written}
            yield WrittenRow(row, written) if written else row

    @cached_property
    @override
    def sha256(self) -> str:
        return fingerprint({name: content_hash(dataset) for name, dataset in self._parts.items()})
