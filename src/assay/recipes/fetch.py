"""Downloads the published files of a benchmark: bounded in size, checked, and never left half-written.

Downloads are recorded next to the files (`FETCHED`). A file must have the sha256 of the published one where that is
known, and otherwise that of the first download.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from assay.core.errors import UsageError
from assay.recipes.fetched import FETCHED, fetched_files, record_fetched
from assay.recipes.recipe import PublishedFile, Recipe
from assay.run_file import writing_whole
from assay.transport.download import download

HUB = "https://huggingface.co/"
MAX_MEMBER_BYTES = 1 << 30
"""Of one file inside an archive, unpacked."""
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, NotImplementedError)


class Planned(NamedTuple):
    """A file that would be fetched."""

    file: PublishedFile
    url: str
    sha256: str | None
    """The expected one; None where it is not known yet."""
    pinned: bool
    """Whether that is the published one, not only that of an earlier download."""
    here: bool


def plan(recipe: Recipe, folder: Path, *, base: str | None = None) -> list[Planned]:
    """The files to fetch, and from where; `base` replaces the published addresses."""
    if not recipe.downloads:
        raise UsageError(
            f"the files of {recipe.title} cannot be downloaded directly; get them yourself: {recipe.source}"
        )
    fetched = fetched_files(folder)
    return [_planned(recipe, each, folder, fetched, base) for each in recipe.downloads]


def _planned(recipe: Recipe, file: PublishedFile, folder: Path, fetched: dict[str, Any], base: str | None) -> Planned:
    published = recipe.sha256.get(file.name)
    expected = published or fetched.get(file.name, {}).get("sha256")
    return Planned(
        file, _address(file, base), expected, published is not None, _is_here(file, folder, expected, fetched)
    )


def _address(file: PublishedFile, base: str | None) -> str:
    if base is not None:
        return f"{base.rstrip('/')}/{file.name}"
    hub = os.environ.get("HF_ENDPOINT", "")
    return f"{hub.rstrip('/')}/{file.url.removeprefix(HUB)}" if hub and file.url.startswith(HUB) else file.url


def _is_here(file: PublishedFile, folder: Path, expected: str | None, fetched: dict[str, Any]) -> bool:
    """Whether the file, or everything unpacked from it, is on disk unchanged."""
    if expected is None or fetched.get(file.name, {}).get("sha256") != expected:
        return False
    names = [name for name, known in fetched.items() if known.get("archive") == file.name] or [file.name]
    return all(_sha256(folder / name) == fetched[name]["sha256"] for name in names)


def _sha256(path: Path) -> str | None:
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(planned: Planned, folder: Path, *, on_bytes: Callable[[int], object] = lambda size: None) -> list[str]:
    """Fetch one file (and unpack it, if it is an archive); the names of the files written.

    `on_bytes` is called with the size of each piece.
    """
    file = planned.file
    arrived = folder / f"{file.name}.arrived"
    try:
        sha256 = _downloaded(planned, arrived, on_bytes)
        if planned.sha256 not in (None, sha256):
            known = "the published one" if planned.pinned else "the one fetched before, which FETCHED names"
            raise UsageError(f"{planned.url}: its sha256 is {sha256}, not {planned.sha256}, {known}; nothing was kept")
        entry = {"sha256": sha256, "url": planned.url, "published": planned.pinned}
        if file.members:
            members = _unpacked(arrived, file, folder, published=planned.pinned)
        else:
            arrived.replace(folder / file.name)
            members = {}
    except BaseException:
        arrived.unlink(missing_ok=True)
        with suppress(OSError):  # a folder that holds other files stays
            folder.rmdir()
        raise
    arrived.unlink(missing_ok=True)
    record_fetched(folder, {file.name: entry, **members})
    return list(members) or [file.name]


def _downloaded(planned: Planned, arrived: Path, on_bytes: Callable[[int], object]) -> str:
    try:
        return download(planned.url, arrived, most=planned.file.most_bytes, on_bytes=on_bytes)
    except UsageError as error:
        raise UsageError(f"{planned.file.name}: {error}") from error


def _unpacked(archive: Path, file: PublishedFile, folder: Path, *, published: bool) -> dict[str, Any]:
    """The members that the recipe reads, each under its bare name: paths inside an archive are ignored."""
    members: dict[str, Any] = {}
    try:
        for name, content in _members(archive, file):
            digest, size = hashlib.sha256(), 0
            with writing_whole(folder / name) as target:
                while piece := content.read(1 << 20):
                    size += len(piece)
                    if size > MAX_MEMBER_BYTES:
                        raise UsageError(f"{file.name}: {name} is larger than {MAX_MEMBER_BYTES >> 20} MiB unpacked")
                    digest.update(piece)
                    target.write(piece)
            members[name] = {"sha256": digest.hexdigest(), "archive": file.name, "published": published}
    except _BROKEN as error:
        raise UsageError(f"{file.name}: cannot be read as an archive: {error}") from error
    if not members:
        raise UsageError(f"{file.name}: holds none of {', '.join(file.members)}")
    return members


def _members(archive: Path, file: PublishedFile) -> Iterator[tuple[str, IO[bytes]]]:
    if file.name.endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if not entry.is_dir() and (name := _wanted(entry.filename, file)):
                    with packed.open(entry) as content:
                        yield name, content
        return
    with tarfile.open(archive) as unrolled:
        for member in unrolled:
            if member.isfile() and (name := _wanted(member.name, file)) and (reader := unrolled.extractfile(member)):
                with closing(reader):
                    yield name, reader


def _wanted(path: str, file: PublishedFile) -> str | None:
    """The bare name of a member that the recipe reads; the copies that macOS adds begin with a dot."""
    name = PurePosixPath(path.replace("\\", "/")).name
    matches = any(fnmatch.fnmatchcase(name, pattern) for pattern in file.members)
    return name if matches and not name.startswith(".") and name != FETCHED else None


def needs(files: list[Planned]) -> str | None:
    """What must be installed to read these files; None if nothing."""
    if any(file.file.name.endswith(".parquet") for file in files) and find_spec("pyarrow") is None:
        return "reading a Parquet file needs pyarrow: pip install 'assay-eval[parquet]'"
    return None
