"""Samples built by a third-party program, read from the file they were stored in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.types import Sample
from assay.datasets.json_lines import file_sha256

_decode = msgspec.json.Decoder(Sample).decode


@describes(DatasetInfo())
class BuiltSamples:
    """One sample per line."""

    def __init__(self, path: str, size: int, sha256: str) -> None:
        self._path = Path(path)
        self._size = size
        if not self._path.is_file():
            raise UsageError(
                f"{path}: the samples that were built for this task are gone; `assay run` of the task builds them again"
            )
        if file_sha256(self._path) != sha256:
            raise UsageError(f"{path}: is not what was built for this task; delete it, and it is built again")

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Sample]:
        return self.walk_from(0)

    def walk_from(self, position: int) -> Iterator[Sample]:
        with self._path.open("rb") as lines:
            for line in islice(lines, position, None):
                yield _decode(line)
