"""Where the samples of a dataset come from, and the hash of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from assay import catalog
from assay.core.seams import Dataset
from assay.core.types import DatasetSpec


@runtime_checkable
class HasContentHash(Protocol):
    """A dataset that knows its content without being walked: from a file's bytes, or a revision."""

    @property
    def sha256(self) -> str: ...


class Pin(NamedTuple):
    """What to add to a dataset's options so that every later run reads the same rows as now."""

    options: dict[str, Any]
    warning: str


@runtime_checkable
class Pinnable(Protocol):
    """A dataset on a server, whose rows may change."""

    @property
    def is_pinned(self) -> bool:
        """Whether its options already pin the rows."""

    def pin(self) -> Pin:
        """Ask the server what it holds now."""


@runtime_checkable
class Downloads(Protocol):
    """A dataset class that knows, by its options, whether what it reads was fetched before and is pinned."""

    @staticmethod
    def is_downloaded(**options: Any) -> bool: ...


def is_elsewhere(dataset: DatasetSpec) -> bool:
    """Whether reading its samples means calling a server, or running code that is not ours."""
    return any(_is_elsewhere(use, options) for use, options in sources_of(dataset.use, dataset.options))


def _is_elsewhere(use: str, options: Mapping[str, Any]) -> bool:
    info = catalog.dataset_info(use, options)
    if info is None:
        return True
    if not info.elsewhere:
        return False
    factory = catalog.resolve("dataset", use)
    return not (isinstance(factory, Downloads) and factory.is_downloaded(**options))


def sources_of(use: str, options: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The readers that a dataset is made of, with their options: itself, and those whose rows it puts side by side."""
    info = catalog.dataset_info(use, options)
    parts = info.parts if info is not None else ()
    return [(use, options), *(source for part in parts for source in sources_of(*part))]


def content_hash(dataset: Dataset) -> str:
    """What identifies a dataset: part of the fingerprint of every task over it."""
    if isinstance(dataset, HasContentHash):
        return dataset.sha256
    digest = hashlib.sha256()
    encode = msgspec.json.Encoder().encode
    for sample in dataset:
        digest.update(encode(sample) + b"\n")
    return digest.hexdigest()


def awaited(spec: DatasetSpec) -> str | None:
    """The task whose result a dataset stands for, where that has not been made yet."""
    info = catalog.dataset_info(spec.use, spec.options)
    return None if info is None else info.awaits
