"""What the user has looked at and trusts, by content: kept in the user's own folder, never in a project."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.regular_file import open_regular, read_regular
from assay.core.types import TaskDefinition
from assay.run_file import write_whole
from assay.user.folder import user_folder

FILE = "trusted.json"
_BLOCK = 1 << 20


class Trusted(Struct, frozen=True, kw_only=True):
    """One content that the user trusts."""

    sha256: str
    path: str
    """Where it lay when it was recorded, for the reader; the content counts, wherever it lies."""
    recorded: str
    reaches: tuple[str, ...] = ()


class _Kept(Struct, kw_only=True):
    version: int = 1
    trusted: list[Trusted] = field(default_factory=list)


def content_of_files(files: Mapping[str, Path]) -> str:
    """One hash over the content of every file and its role, wherever the files are.

    The role is the name by which another file refers to it: data that becomes code changes the hash.
    """
    return fingerprint(["files", _hashes(files)])


def content_of_definition(definition: TaskDefinition, files: Mapping[str, Path]) -> str:
    """The hash of a definition without a file of its own, and of the scripts it names."""
    content = msgspec.to_builtins(definition)
    for part in (*content["scorers"], *content["aggregates"]):
        part.pop("about", None)  # what a part says of itself runs nothing
    return fingerprint(["definition", content, _hashes(files)])


def is_recorded(content: str) -> bool:
    return any(item.sha256 == content for item in read_trusted())


def read_trusted() -> list[Trusted]:
    """Everything recorded so far, oldest first."""
    path = user_folder() / FILE
    if not path.exists():
        return []
    try:
        return msgspec.json.decode(read_regular(path), type=_Kept).trusted
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}). Delete it, and trust is asked for again.") from error


def record(content: str, path: Path, reaches: Sequence[str]) -> None:
    """Remember that the user trusts this content."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    kept = [item for item in read_trusted() if item.sha256 != content]
    _write([*kept, Trusted(sha256=content, path=str(path.resolve()), recorded=now, reaches=tuple(reaches))])


def forget(content: str) -> bool:
    """Whether there was anything to forget."""
    before = read_trusted()
    kept = [item for item in before if item.sha256 != content]
    if len(kept) < len(before):
        _write(kept)
    return len(kept) < len(before)


def _write(trusted: list[Trusted]) -> None:
    write_whole(user_folder() / FILE, msgspec.json.format(msgspec.json.encode(_Kept(trusted=trusted)), indent=1))


def _hashes(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: _sha256(path.resolve()) for name, path in files.items()}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open_regular(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return digest.hexdigest()
