"""The record that `assay recipe fetch` keeps next to the files it downloads: their URLs and sha256.

It is sealed with the user's own secret: a folder from somebody else cannot claim to hold published files.
"""

from __future__ import annotations

import hmac
import json
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.run_file import write_text
from assay.user.folder import user_secret

FETCHED = "FETCHED"
"""The name of the record. It has no suffix, because recipes find their files by suffix."""

Entries = dict[str, dict[str, Any]]


def fetched_files(folder: Path) -> Entries:
    """The files by name: `sha256`, `url` or `archive`, and whether it is the `published` one; {} without a record."""
    return _read(folder)[0]


def own_fetched_files(folder: Path) -> Entries:
    """The same, if this user fetched them; otherwise empty."""
    entries, seal = _read(folder)
    return entries if entries and hmac.compare_digest(seal, _seal(entries)) else {}


def record_fetched(folder: Path, entries: Entries) -> None:
    """Add these files to the record in the folder."""
    merged = {**fetched_files(folder), **entries}
    write_text(folder / FETCHED, json.dumps({"files": merged, "seal": _seal(merged)}, indent=1) + "\n")


def _read(folder: Path) -> tuple[Entries, str]:
    path = (folder if folder.is_dir() else folder.parent) / FETCHED
    if not path.exists():
        return {}, ""
    try:
        record = json.loads(read_regular(path))
        entries = {str(name): {**entry, "sha256": str(entry["sha256"])} for name, entry in record["files"].items()}
        return entries, str(record.get("seal", ""))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path}: is not what `assay recipe fetch` writes; remove it and fetch again") from error


def _seal(entries: Entries) -> str:
    return hmac.new(user_secret(), json.dumps(entries, sort_keys=True).encode(), "sha256").hexdigest()
