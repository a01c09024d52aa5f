"""Where the samples of a dataset come from, and the hash of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from assay.core.seams import Dataset
from assay.core.types import DatasetSpec

IN_FILES = (
    "spec_file", "task_folder", "examples", "table", "inline", "folder", "task_result", "traces", "lm_eval", "built",
    "promptfoo", "openai_evals", "inspect_log",
)  # fmt: skip


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


def is_elsewhere(dataset: DatasetSpec) -> bool:
    """Whether reading its samples means calling a server, or running code that is not ours."""
    return not all(_is_here(use, options) for use, options in sources_of(dataset.use, dataset.options))


def _is_here(use: str, options: Mapping[str, Any]) -> bool:
    if use == "url":
        from assay.datasets.remote import is_downloaded  # which imports this module

        return is_downloaded(**options)
    return use in IN_FILES or (use == "generated" and bool(options.get("path")))


def sources_of(use: str, options: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The readers that a dataset is made of, with their options: itself, or those whose rows it puts side by side."""
    parts = options.get("parts") if use == "joined" else None
    if not isinstance(parts, Mapping):
        return [(use, options)]
    sources: list[tuple[str, Mapping[str, Any]]] = []
    for part in parts.values():
        if isinstance(part, Mapping) and isinstance(part.get("options"), Mapping):
            sources.extend(sources_of(str(part.get("use")), part["options"]))
        else:
            sources.append((use, options))  # malformed, which its reader reports
    return sources


def content_hash(dataset: Dataset) -> str:
    """What identifies a dataset: part of the fingerprint of every task over it."""
    if isinstance(dataset, HasContentHash):
        return dataset.sha256
    digest = hashlib.sha256()
    encode = msgspec.json.Encoder().encode
    for sample in dataset:
        digest.update(encode(sample) + b"\n")
    return digest.hexdigest()
