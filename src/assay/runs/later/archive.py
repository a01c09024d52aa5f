"""One file with everything that a result rests on: runs, their task files, the environment, and one hash over all."""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import zipfile
from collections.abc import Iterable, Sequence
from importlib.metadata import distributions
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.run_file import read_run_file, writing_whole
from assay.tasks.load import load_tasks

MANIFEST, ENVIRONMENT = "manifest.json", "environment.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every member, so that equal content is an equal archive."""


class Archive(Struct, frozen=True, kw_only=True):
    """What an archive holds."""

    schema: str
    sha256: str
    """Of the manifest's list of files: the one hash that names the archive's content."""
    files: dict[str, str]
    """By its name in the archive, the sha256 of each file."""
    runs: dict[str, str]
    """By its name in the archive, the fingerprint of each run."""
    left_out: list[str]
    """Task files that are gone, or no longer what was run."""


def write_archive(folders: Sequence[Path], output: Path) -> Archive:
    """Pack the runs; equal runs and files make an equal archive."""
    names = _names(folders)
    members = {
        f"runs/{name}/{path.relative_to(folder).as_posix()}": path
        for name, folder in names.items()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".lock", ".sqlite")
    }
    files, left_out = _task_files(folders)
    members |= {f"tasks/{_inside(path)}": path for path in files}
    environment = msgspec.json.format(msgspec.json.encode(_environment()), indent=2) + b"\n"
    hashes = {name: _sha256(path) for name, path in members.items()}
    hashes[ENVIRONMENT] = hashlib.sha256(environment).hexdigest()
    archive = Archive(
        schema="archive.v1",
        sha256=hashlib.sha256(msgspec.json.encode(hashes, order="sorted")).hexdigest(),
        files=dict(sorted(hashes.items())),
        runs={f"runs/{name}": read_run_file(folder).fingerprint for name, folder in names.items()},
        left_out=left_out,
    )
    manifest = msgspec.json.format(msgspec.json.encode(archive), indent=2) + b"\n"
    with writing_whole(output) as file, zipfile.ZipFile(file, "w") as packed:
        for name, text in ((MANIFEST, manifest), (ENVIRONMENT, environment)):
            packed.writestr(_member(name), text)
        for name, path in sorted(members.items()):
            with open_regular(path) as source, packed.open(_member(name), "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)
    return archive


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _names(folders: Sequence[Path]) -> dict[str, Path]:
    names = {folder.resolve().name: folder for folder in folders}
    if len(names) < len(folders):
        raise UsageError("an archive holds each run under its folder's name: two of these folders have the same one")
    return names


def _task_files(folders: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files of the runs' tasks that are still what was run, and why others are left out."""
    files: dict[Path, None] = {}
    left_out: dict[str, None] = {}
    for folder in folders:
        for definition in read_run_file(folder).definitions:
            source = Path(definition.source)
            if not definition.source or not source.is_file():
                left_out[f"{definition.name}: its file `{definition.source}` is not here"] = None
            elif _content(source).get(definition.name) != definition.dataset.sha256:
                left_out[f"{definition.name}: {source} is no longer what {folder} was made from"] = None
            else:
                mentioned = (source, *map(Path, definition.provenance.files))
                files.update(dict.fromkeys(path for path in mentioned if path.is_file()))
    return sorted(files), list(left_out)


def _content(source: Path) -> dict[str, str]:
    try:
        return {task.name: task.dataset.sha256 for task in load_tasks([str(source)], allow_bad=True, only_reads=True)}
    except UsageError:
        return {}


def _inside(path: Path) -> str:
    """The name of a task file in the archive: its path from here, without ways out of the archive."""
    parts: Iterable[str] = path.parts if not path.is_absolute() else path.parts[1:]
    return "/".join("up" if part == ".." else part for part in parts)


def _environment() -> dict[str, object]:
    packages = {each.metadata["Name"]: each.version for each in distributions()}
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "packages": dict(sorted(packages.items())),
    }
