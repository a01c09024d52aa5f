"""What `assay recipe fetch` wrote down beside the files it brought: from where, with which sha256, by whom.

Sealed with the user's own secret: a folder that came from somebody else cannot claim to hold published files.
"""

from __future__ import annotations

import hmac
import json
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.run_file import write_text
from assay.user.folder import user_secret

FETCHED = "FETCHED"
"""Its name. Without an ending, for recipes look for files by theirs."""

Entries = dict[str, dict[str, Any]]


def fetched_files(folder: Path) -> Entries:
    """The files by name: `sha256`, `url` or `archive`, and whether that is the `published` one; nothing where none."""
    return _read(folder)[0]


def own_fetched_files(folder: Path) -> Entries:
    """The same, where this user fetched them."""
    entries, seal = _read(folder)
    return entries if entries and hmac.compare_digest(seal, _seal(entries)) else {}


def write_down(folder: Path, entries: Entries) -> None:
    """Add to what is written there."""
    every = {**fetched_files(folder), **entries}
    write_text(folder / FETCHED, json.dumps({"files": every, "seal": _seal(every)}, indent=1) + "\n")


def _read(folder: Path) -> tuple[Entries, str]:
    path = (folder if folder.is_dir() else folder.parent) / FETCHED
    if not path.exists():
        return {}, ""
    try:
        found = json.loads(read_regular(path))
        entries = {str(name): {**entry, "sha256": str(entry["sha256"])} for name, entry in found["files"].items()}
        return entries, str(found.get("seal", ""))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path}: is not what `assay recipe fetch` writes; remove it and fetch again") from error


def _seal(entries: Entries) -> str:
    return hmac.new(user_secret(), json.dumps(entries, sort_keys=True).encode(), "sha256").hexdigest()
