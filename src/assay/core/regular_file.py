"""Opens files of runs, boards, prices and marks: regular files only, and read up to a size limit.

A pipe would block its reader forever, and a device would fill the memory. A run folder may come from somebody else, so
every reader of its files opens them here.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from assay.core.errors import UsageError

MAX_FILE_BYTES = 64 << 20
"""The largest file that is read whole, unless the caller sets another limit."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
}


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises `FileNotFoundError` where there is none, `UsageError` for anything but a file."""
    # opening a pipe without a writer would block; opening a terminal could make it our controlling terminal
    descriptor = _open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    return open(descriptor, "rb", buffering=1 << 20)


def read_regular(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file, which has at most `most` bytes."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size <= most:
            data = file.read(most + 1)
            if len(data) <= most:
                return data
    raise UsageError(f"{path}: is larger than {most >> 20:,} MB, the most that is read of such a file")


def open_to_append(path: Path) -> int:
    """A descriptor for appending to the file, which is created if it does not exist. Links are not followed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    return _open(path, flags)


def irregular(path: Path) -> str | None:
    """What a path is if not a regular file: `a pipe`, `a device`, …; None for a file, and where nothing exists."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "something else")


def _open(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags, 0o644)
    except FileNotFoundError:
        raise
    except OSError as error:
        kind = "a link" if error.errno == errno.ELOOP and flags & os.O_NOFOLLOW else irregular(path)
        verb = "written" if flags & os.O_CREAT else "read"
        reason = f"is {kind}, not a regular file" if kind else f"cannot be {verb}: {error.strerror}"
        raise UsageError(f"{path}: {reason}") from error
    except ValueError as error:  # a null byte in the name
        raise UsageError(f"{str(path)!r}: cannot be read: {error}") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise UsageError(f"{path}: is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a regular file")
    return descriptor
