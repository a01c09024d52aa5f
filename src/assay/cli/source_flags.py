"""The flags of sources that installed packages bring: they exist where a word of the command line is claimed by one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec

from assay import catalog
from assay.core.errors import UsageError

_DEST = "source option "


def add_source_flags(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Add `--NAME-OPTION` for every option of a source that claims one of these words."""
    names = dict.fromkeys(name for word in words if (name := _claimed_by_package(word)) is not None)
    if not names:
        return
    from assay.tasks.sources import flag_of, source_called

    for name in names:
        try:
            record = source_called(name).Options
        except UsageError:
            continue  # said by name where the task is read
        group = parser.add_argument_group(f"{name.lstrip('.')} tasks")
        for field in msgspec.structs.fields(record):
            kind, meaning = _described(field.type)
            how: dict[str, Any] = {"action": "store_true"} if kind is bool else {"metavar": field.name.upper()}
            dest = f"{_DEST}{name} {field.name}"
            group.add_argument(flag_of(name, field.name), dest=dest, default=None, help=meaning, **how)


def _claimed_by_package(word: str) -> str | None:
    """The source of an installed package that claims a word; what is assay's own is never searched for."""
    prefix, colon, _ = word.partition(":")
    if colon and "/" not in prefix and prefix not in catalog.CATALOG["model"]:
        return prefix if prefix in catalog.published("source") else None
    ending = Path(word).suffix
    if not ending or word.startswith("-") or ending in catalog.CATALOG["source"] or not Path(word).is_file():
        return None
    return ending if ending in catalog.published("source") else None


def _described(annotation: Any) -> tuple[Any, str]:
    """The type of an option, and what its `Meta` says about it."""
    if get_origin(annotation) is not Annotated:
        return annotation, ""
    kind, *notes = get_args(annotation)
    texts = [note.description for note in notes if isinstance(note, msgspec.Meta) and note.description]
    return kind, " ".join(texts)


def options_of_packages(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The values of those flags, by source; a flag that was not given is None."""
    given: dict[str, dict[str, Any]] = {}
    for dest, value in vars(options).items():
        if dest.startswith(_DEST):
            name, _, option = dest.removeprefix(_DEST).partition(" ")
            given.setdefault(name, {})[option] = value
    return given
