"""Derived SQLite files: built from the journal by byte offset, deleted when they no longer belong to it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.user.cache_folder import cache_folder
from assay.user.folder import user_secret

SCHEMA = 11
"""Raise it whenever the content of the files changes: older ones are then rebuilt."""
BUSY_SECONDS = 30.0
TAIL_BYTES = 256


class ReadSoFar(Struct, frozen=True, kw_only=True):
    """How much of the journal a derived file covers."""

    offset: int = 0
    rows: int = 0
    damage: str | None = None
    """Why nothing is computed from the journal, where the next line is damaged."""


def derived_path(folder: Path, name: str) -> Path:
    """In the run folder, or in the user's cache folder where that cannot be written to.

    In a run folder the name has a part that only this user can compute: a file that came with the folder is never read.
    """
    place, suffix = os.fsencode(folder.resolve()), Path(name).suffix
    if os.access(folder, os.W_OK):
        with suppress(UsageError):  # without a secret our files cannot be distinguished from untrusted ones
            digest = hashlib.blake2b(place, digest_size=12, key=user_secret()).hexdigest()
            return folder / f"{name.removesuffix(suffix)}-{digest}{suffix}"
    cache = cache_folder() / "viewer"
    cache.mkdir(parents=True, exist_ok=True)
    return cache / f"{hashlib.blake2b(place, digest_size=12).hexdigest()}{name}"


@contextmanager
def open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Read-only, for as long as the block lasts."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA query_only=1")
        yield connection


@contextmanager
def open_to_write(path: Path, journal: Path, fingerprint: str, tables: str) -> Iterator[sqlite3.Connection]:
    """The file, ready to be extended; one that is damaged or belongs to something else is started over."""
    try:
        connection = _prepared(path, journal, fingerprint, tables)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
            raise  # locked, or the disk is full: no reason to delete it
        remove(path)
        connection = _prepared(path, journal, fingerprint, tables)
    with closing(connection):
        yield connection


def remove(path: Path) -> None:
    for name in (path, path.with_name(path.name + "-journal")):
        name.unlink(missing_ok=True)


def progress_in(connection: sqlite3.Connection) -> ReadSoFar:
    row = connection.execute("SELECT offset, rows, damage FROM progress").fetchone()
    return ReadSoFar(offset=row[0], rows=row[1], damage=row[2]) if row else ReadSoFar()


def set_progress(connection: sqlite3.Connection, journal: Path, to: ReadSoFar) -> None:
    """Record how much of the journal the file covers, and a digest of the journal just before that point."""
    connection.execute(
        "INSERT OR REPLACE INTO progress(id, offset, rows, tail, damage, inode, size, changed) "
        "VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
        (to.offset, to.rows, tail(journal, to.offset), to.damage, *stamp_of(journal)),
    )


class Stamp(NamedTuple):
    """Which file it is, how long, and when it changed, in nanoseconds; zeros where there is none."""

    inode: int
    size: int
    changed: int

    def may_follow(self, earlier: Stamp) -> bool:
        """Whether a journal that looked like `earlier` has only grown since: nothing else is written into one."""
        return self == earlier or (self.inode == earlier.inode and self.size > earlier.size)


def stamp_of(path: Path) -> Stamp:
    try:
        stat = path.stat()
    except OSError:
        return Stamp(0, 0, 0)
    return Stamp(stat.st_ino, stat.st_size, stat.st_mtime_ns)


def tail(journal: Path, offset: int) -> bytes:
    """A digest of what lies before the offset: another journal in its place does not pass for this one."""
    start = max(0, offset - TAIL_BYTES)
    try:
        with open_regular(journal) as file:
            file.seek(start)
            data = file.read(offset - start)
    except FileNotFoundError:
        data = b""
    return hashlib.blake2b(data, digest_size=16).digest()


def _prepared(path: Path, journal: Path, fingerprint: str, tables: str) -> sqlite3.Connection:
    connection = _opened(path)
    try:
        if not _belongs(connection, journal, fingerprint):
            connection.close()
            remove(path)
            connection = _opened(path)
            connection.executescript(
                "BEGIN;"
                "CREATE TABLE about(schema INTEGER, fingerprint TEXT);"
                "CREATE TABLE progress(id INTEGER PRIMARY KEY, offset INTEGER, rows INTEGER, tail BLOB, damage TEXT,"
                " inode INTEGER, size INTEGER, changed INTEGER);"
                f"{tables}COMMIT;"
            )
            connection.execute("INSERT INTO about VALUES (?, ?)", (SCHEMA, fingerprint))
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    # it can be rebuilt at any time, so a power cut is no reason for an fsync
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-65536")
    return connection


def _belongs(connection: sqlite3.Connection, journal: Path, fingerprint: str) -> bool:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
        return False
    about = connection.execute("SELECT schema, fingerprint FROM about").fetchone()
    if about != (SCHEMA, fingerprint):
        return False
    row = connection.execute("SELECT offset, tail, damage, inode, size, changed FROM progress").fetchone()
    if row is None:
        return True
    now, then = stamp_of(journal), Stamp(*row[3:])
    same = now == then if row[2] else now.may_follow(then)
    return bool(same and now.size >= row[0] and tail(journal, row[0]) == row[1])
