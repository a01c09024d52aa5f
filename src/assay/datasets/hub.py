"""Datasets of the hub, pinned to a revision, through the optional `datasets` package."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.datasets.rows import Row, RowDataset


class Hub(RowDataset):
    """Rows of one split of a hub dataset."""

    def __init__(
        self,
        *,
        repository: str,
        split: str,
        revision: str | None = None,
        load_dataset_kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name or repository, **options)
        self.path, self.split = repository, split
        self._kwargs = dict(load_dataset_kwargs or {})
        self.revision = revision or self._kwargs.pop("revision", None)
        if not self.revision:
            raise UsageError(
                f"dataset `{self.name}`: give a `revision` of {repository}, so that every run reads the same rows"
            )
        if self._kwargs.get("trust_remote_code"):
            raise UsageError(f"dataset `{self.name}`: `trust_remote_code` would run code of strangers; it is refused")

    @cached_property
    def _loaded(self) -> Any:
        try:
            import datasets
        except ImportError as error:
            raise UsageError(
                f"dataset `{self.name}` is on the hub; install the reader with: pip install 'assay-eval[hub]'"
            ) from error
        datasets.disable_progress_bars()
        try:
            return datasets.load_dataset(self.path, split=self.split, revision=self.revision, **self._kwargs)
        except Exception as error:  # network, permissions, an unknown name: the package has no common ancestor for them
            told = " ".join(str(error).split())[:300]
            raise UsageError(f"dataset `{self.name}`: {self.path} could not be loaded: {told}") from error

    def rows(self) -> Iterator[Row]:
        return (dict(row) for row in self._loaded)

    @cached_property
    def sha256(self) -> str:
        """A revision is a hash of the content already; with path and split it says which rows."""
        return fingerprint({"path": self.path, "split": self.split, "revision": self.revision, **self._kwargs})
