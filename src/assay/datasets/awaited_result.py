"""The result of a task of the same evaluation, before that task has run: its rows are known when it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.types import Sample


def _about(options: Mapping[str, Any], _: object) -> DatasetInfo:
    return DatasetInfo(recorded_models=True, elsewhere=True, awaits=str(options.get("task", "")))


@describes(_about)
class AwaitedResult:
    """Stands for the rows of `task` until that has run; `more` are the options of the dataset that takes its place."""

    def __init__(self, *, task: str, **more: Any) -> None:
        self._task = task

    @property
    def sha256(self) -> str:
        return ""

    def __len__(self) -> int:
        raise self._unknown()

    def __iter__(self) -> Iterator[Sample]:
        raise self._unknown()

    def _unknown(self) -> UsageError:
        return UsageError(f"its samples are the results of the task `{self._task}`, which have to be made first")
