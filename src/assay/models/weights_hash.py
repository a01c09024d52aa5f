"""The identity of weights in files: a hash of their content, computed once and remembered in the user's folder.

A file that is unchanged in path, size and time has the hash that it had. In the cache of the Hugging Face hub, a large
file is a link to one named by its sha256, which then needs no reading at all, and the folder is named by its revision.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.seams import Served
from assay.run_file import write_text
from assay.user.folder import user_folder

WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth")
TEXT_RULES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "chat_template.jinja", "vocab.json")
"""Files that decide what the weights are given: the same weights answer otherwise with others."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def served_from(place: Path) -> Served | None:
    """What a file or a folder of weights holds; None where there are none."""
    if place.is_file():
        return Served(strong={"weights sha256": content_sha256(place)})
    weights = _named(place, lambda name: name.endswith(WEIGHTS))
    if not weights:
        return None
    strong = {"weights sha256": _together(weights)}
    if place.parent.name == "snapshots" and _COMMIT.fullmatch(place.name):
        strong["revision"] = place.name
    rules = _named(place, lambda name: name in TEXT_RULES)
    return Served(strong=strong, weak={"tokenizer sha256": _together(rules)} if rules else {})


def checkpoint(name: str, revision: str | None = None) -> Path | None:
    """The folder of a checkpoint: the path itself, or where the hub's cache holds the model of that name."""
    if os.path.isdir(name):
        return Path(name)
    home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
    model = Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")) / f"models--{name.replace('/', '--')}"
    commit = revision or "main"
    with suppress(OSError, UnicodeDecodeError):
        commit = (model / "refs" / commit).read_text().strip()
    snapshot = model / "snapshots" / commit
    return snapshot if snapshot.is_dir() else None


def _named(folder: Path, wanted: Callable[[str], bool]) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and wanted(path.name))
    except OSError:
        return []


def _together(files: Iterable[Path]) -> str:
    """One hash of several files: of their names and contents, wherever they lie."""
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{content_sha256(path)}  {path.name}\n".encode())
    return whole.hexdigest()


def content_sha256(path: Path) -> str:
    """The sha256 of a file's content; remembered, because weights take seconds to read."""
    real = path.resolve()
    if real.parent.name == "blobs" and _SHA256.fullmatch(real.name):
        return real.name
    status = real.stat()
    described = f"{real}\n{status.st_size} {status.st_mtime_ns} {status.st_ino}"
    note = _note(hashlib.sha256(described.encode("utf-8", "surrogateescape")).hexdigest())
    if note is not None:
        with suppress(OSError, UnicodeDecodeError):
            if _SHA256.fullmatch(remembered := note.read_text()):
                return remembered
    with open(real, "rb") as file:
        computed = hashlib.file_digest(file, "sha256").hexdigest()
    if note is not None:
        with suppress(UsageError):  # then it is computed again next time
            write_text(note, computed)
    return computed


def _note(name: str) -> Path | None:
    """Where the hash of a file is remembered; None where this user has no folder of their own."""
    try:
        return user_folder() / "weights" / name
    except UsageError:
        return None
