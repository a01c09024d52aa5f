"""`assay.lock`: which version of each named dataset a project measures. Rows that moved are refused, never measured.

One block for each dataset, sorted by name, so that a change of one is a change of one block.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from assay import catalog
from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.regular_file import open_regular, read_regular
from assay.core.types import DatasetSpec, TaskDefinition
from assay.datasets.content import awaited, content_hash, is_elsewhere, sources_of
from assay.formats.project.discovery import project_file
from assay.run_file import write_text
from assay.text.wording import hint

FILE_NAME = "assay.lock"
MAX_BYTES = 16 << 20
_CHOICES = ("num_samples", "subsampling", "renames_repeated", "name")
"""Options that say which of the rows are used, or what they are called."""
_NAMES_OF_SOURCES = ("repository", "url", "path")
_HEAD = "# Written by `assay lock`: the versions of this project's datasets.\n"


class LockedDataset(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The version of one dataset."""

    source: str
    """Where the rows come from."""
    pin: dict[str, Any] = {}
    """Options that fix what a server holds: a revision, a sha256."""
    files: dict[str, str] = {}
    """The sha256 of each file, by its path from the project file."""
    rows: int
    sha256: str
    """Of the rows."""
    date: str


Locked = dict[str, list[LockedDataset]]
"""The versions of datasets by their keys: folders may have a dataset of one key each, which differ in their sources."""


class _LockFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Literal[1] = 1
    datasets: Locked = {}


class Difference(NamedTuple):
    """A dataset that is not what the lock has."""

    name: str
    sentence: str
    missing: bool = False
    """Whether the lock does not have it yet."""


def lock_path() -> Path | None:
    """The lock of the project in force; None without a project."""
    project = project_file()
    return None if project is None else project.with_name(FILE_NAME)


def read_lock(path: Path) -> Locked:
    """The locked datasets; none where there is no such file."""
    if not path.exists():
        return {}
    try:
        return msgspec.yaml.decode(read_regular(path, MAX_BYTES), type=_LockFile).datasets
    except (msgspec.MsgspecError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{path}: cannot be read ({error}). Remove it, and `assay lock` writes it again") from error


def write_lock(path: Path, datasets: Mapping[str, Sequence[LockedDataset]]) -> None:
    by_source = {name: sorted(each, key=lambda block: block.source) for name, each in datasets.items()}
    blocks = msgspec.yaml.encode(_LockFile(datasets=dict(sorted(by_source.items()))), order="deterministic")
    write_text(path, _HEAD + blocks.decode())


def datasets_now(definitions: Sequence[TaskDefinition], root: Path) -> Locked:
    """What the named datasets of these tasks are now."""
    now: Locked = {}
    for name, use, options, spec in _named(definitions, root):
        now.setdefault(name, []).append(_version(use, options, spec, root))
    return now


def differences(locked: Locked, now: Locked, path: Path) -> list[Difference]:
    """Every dataset that moved, or that the lock lacks."""
    found = (
        _difference(name, locked.get(name, []), block, now[name], path) for name in sorted(now) for block in now[name]
    )
    return [each for each in found if each is not None]


def with_added(locked: Locked, now: Locked) -> Locked:
    """The lock with the datasets that it lacks."""
    known = {name: {block.source for block in blocks} for name, blocks in locked.items()}
    added = {
        name: [*locked.get(name, []), *(block for block in blocks if block.source not in known.get(name, ()))]
        for name, blocks in now.items()
    }
    return {**locked, **added}


def moved(locked: Locked, now: Locked, names: Sequence[str]) -> Locked:
    """The datasets of these names as they are now; what is as it was keeps its date."""
    for name in names:
        if name not in now:
            raise UsageError(f"no task of the project names a dataset `{name}`. {hint(name, now, 'Named')}")
    return {name: [_same(locked.get(name, []), block) or block for block in now[name]] for name in names}


def check_lock(definitions: Sequence[TaskDefinition], *, asked: bool = False) -> list[str]:
    """Refuse rows that moved since they were locked; returns notes about datasets that the lock lacks.

    Nothing is locked where there is no lock file. What it lacks is refused where the user `asked` for that, or in CI;
    on a terminal it is added.
    """
    strict = asked or bool(os.environ.get("CI"))
    adds = not strict and sys.stderr.isatty()
    path = lock_path()
    if path is None or not path.exists():
        if asked:
            raise UsageError(f"--locked: there is no {path or FILE_NAME}; write it with `assay lock`")
        return []
    locked = read_lock(path)
    now = datasets_now(definitions, path.parent)
    found = differences(locked, now, path)
    refused = [each.sentence for each in found if strict or not each.missing]
    if refused:
        raise UsageError("\n".join(refused))
    missing = [each.name for each in found]
    if missing and adds:
        write_lock(path, with_added(locked, now))
        return [f"{path}: added {', '.join(f'`{name}`' for name in dict.fromkeys(missing))}"]
    return [each.sentence for each in found]


def locked_pin(name: str, use: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that pin a dataset of a server as the lock has it; none where it has another source, or none."""
    path = lock_path()
    if path is None or not path.exists():
        return {}
    source = _source(use, options, path.parent)
    return next((block.pin for block in read_lock(path).get(name, []) if block.source == source), {})


def _named(
    definitions: Sequence[TaskDefinition], root: Path
) -> Iterator[tuple[str, str, Mapping[str, Any], DatasetSpec | None]]:
    """Each dataset that a task names by a key, once, with its measure where the task has taken it whole."""
    seen: set[tuple[str, str]] = set()
    for definition in definitions:
        if not definition.provenance.over_rows:
            continue
        spec = definition.dataset
        for use, options in sources_of(spec.use, spec.options) if awaited(spec) is None else ():
            name = options.get("name")
            if use in ("inline", "joined", "task_result") or not isinstance(name, str):
                continue
            if (known := (name, _source(use, options, root))) in seen:
                continue
            if is_elsewhere(DatasetSpec(use=use, options=dict(options))) and not catalog.is_ours("dataset", use):
                continue  # code of the author's says what its rows are
            seen.add(known)
            is_whole = options is spec.options and not any(options.get(choice) for choice in _CHOICES[:2])
            yield name, use, options, spec if is_whole and spec.sha256 else None


def _version(use: str, options: Mapping[str, Any], spec: DatasetSpec | None, root: Path) -> LockedDataset:
    rows = spec.size if spec is not None else 0
    sha256 = spec.sha256 if spec is not None else ""
    whole = {name: value for name, value in options.items() if name not in _CHOICES[:3]}
    made = None
    if spec is None:
        made = catalog.make("dataset", use, whole)
        rows, sha256 = len(made), content_hash(made)
    path = options.get("path")
    return LockedDataset(
        source=_source(use, options, root),
        pin=_pin_of(use, whole),
        files={_relative(str(path), root): _sha256(Path(str(path)))} if path and Path(str(path)).is_file() else {},
        rows=rows,
        sha256=sha256,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
    )


def _pin_of(use: str, options: Mapping[str, Any]) -> dict[str, Any]:
    info = catalog.dataset_info(use, options)
    if info is None or not info.elsewhere:
        return {}
    return {name: options[name] for name in ("revision", "sha256") if options.get(name)}


def _source(use: str, options: Mapping[str, Any], root: Path) -> str:
    """The source in a word or two, and a piece of a hash of how it is read."""
    where = next((str(options[name]) for name in _NAMES_OF_SOURCES if options.get(name)), "")
    shown = _relative(where, root) if options.get("path") == where and where else where
    unread = (*_CHOICES, *_NAMES_OF_SOURCES, "revision", "sha256")
    how = {name: value for name, value in options.items() if name not in unread and value not in (None, [], {}, ())}
    return " ".join(filter(None, [use, shown, short_fingerprint(how) if how else ""]))


def _relative(path: str, root: Path) -> str:
    try:
        return Path(path).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return Path(path).name


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _same(blocks: Sequence[LockedDataset], now: LockedDataset) -> LockedDataset | None:
    """The block that says what the dataset is now."""
    return next((each for each in blocks if msgspec.structs.replace(each, date=now.date) == now), None)


def _difference(
    name: str, blocks: Sequence[LockedDataset], now: LockedDataset, all_now: Sequence[LockedDataset], path: Path
) -> Difference | None:
    used = {each.source for each in all_now}
    locked = next((each for each in blocks if each.source == now.source), None)
    locked = locked or next((each for each in blocks if each.source not in used), None)
    if locked is None:
        return Difference(name, f"`{name}` is not in {path}: add it with `assay lock`", missing=True)
    if (locked.source, locked.rows, locked.sha256) == (now.source, now.rows, now.sha256):
        return None
    if locked.source != now.source:
        what = f"it is read from `{locked.source}` in {path}, from `{now.source}` now"
    elif locked.rows != now.rows:
        what = f"{locked.rows:,} rows in {path}, {now.rows:,} now"
    else:
        what = f"{now.rows:,} rows, with other content than in {path} ({locked.sha256[:8]} → {now.sha256[:8]})"
    pins = ", or pin its revision" if now.pin else ""
    return Difference(name, f"`{name}`: {what}: `assay lock {name}`{pins}")
