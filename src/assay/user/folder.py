"""The user's own folder: what assay stores for this user on this machine, out of reach of every project's files.

`$ASSAY_HOME` where that is set, else `$XDG_CONFIG_HOME/assay`, else `~/.config/assay`. It holds the user's secret, by
which assay distinguishes what it wrote itself (cached answers, runs) from what came with a folder.
"""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from assay.core.errors import UsageError

SECRET_BYTES = 32
_REMEDY = "Set ASSAY_HOME to a folder that is yours alone and that you can write to"


def user_folder() -> Path:
    """The folder, created if it is missing. `UsageError` where it cannot be created or others may write to it."""
    folder = _chosen()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}). {_REMEDY}.") from error
    if status.st_mode & stat.S_IWOTH or not _is_ours(status):
        raise UsageError(f"{folder}: belongs to another user, or everybody may write to it. {_REMEDY}.")
    return folder


def user_secret() -> bytes:
    """32 random bytes that only this user can read, created once. `UsageError` where they cannot be stored."""
    path = user_folder() / "secret"
    try:
        if not path.exists():
            _make_secret(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status, secret = os.fstat(descriptor), file.read(SECRET_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be made or read ({error.strerror}). {_REMEDY}.") from error
    # git does not store this mode, so a cloned folder cannot bring a secret that somebody else knows
    if status.st_mode & 0o077 or not stat.S_ISREG(status.st_mode) or not _is_ours(status):
        raise UsageError(f"{path}: must be a file that only you can read. Delete it, and a new one is made.")
    if len(secret) != SECRET_BYTES:
        raise UsageError(f"{path}: damaged. Delete it, and a new one is made.")
    return secret


def secret_for_cache(path: Path) -> bytes:
    """The user's secret; where there is none, a random one for this run only, and a warning."""
    try:
        return user_secret()
    except UsageError as error:
        logging.getLogger("assay").warning("%s: answers are cached for this run only, because %s", path, error)
        return os.urandom(SECRET_BYTES)


def _chosen() -> Path:
    if chosen := os.environ.get("ASSAY_HOME"):
        if not os.path.isabs(chosen):  # it would be another folder in every project, and the project's own
            raise UsageError(f"ASSAY_HOME is `{chosen}`; it must be an absolute path")
        return Path(chosen)
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "assay"
    try:
        return Path.home() / ".config" / "assay"
    except RuntimeError as error:
        raise UsageError(f"this user has no home folder. {_REMEDY}.") from error


def _is_ours(status: os.stat_result) -> bool:
    me = os.geteuid()
    return me == 0 or status.st_uid in (me, 0)


def _make_secret(path: Path) -> None:
    partial = path.with_name(f"secret.{os.getpid()}-{os.urandom(4).hex()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(os.urandom(SECRET_BYTES))
            file.flush()
            os.fsync(descriptor)
        with suppress(FileExistsError):  # another process was first, and its secret is the one
            os.link(partial, path)
    finally:
        partial.unlink()
