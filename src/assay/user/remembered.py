"""What assay has found out before and need not find out again: small notes in the user's own folder.

A note is named and sealed with the user's secret, so that somebody else's file, or a damaged one, is no note. Where the
user has no folder, nothing is remembered and everything is found out again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from contextlib import suppress
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.user.folder import user_folder, user_secret

FOLDER = "remembered"
_SEAL_BYTES = 32


def remember(subject: str, content: bytes) -> None:
    """Keep a note about a subject, in place of an earlier one."""
    with suppress(UsageError, OSError):
        place = _place(subject)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        partial = place.with_name(f"{place.name}.{os.getpid()}-{os.urandom(4).hex()}.partial")
        try:
            partial.write_bytes(_seal(subject, content) + content)
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)


def recall(subject: str) -> bytes | None:
    """The note about a subject; None where there is none that this user made."""
    try:
        data = read_regular(_place(subject))
        content = data[_SEAL_BYTES:]
        return content if hmac.compare_digest(data[:_SEAL_BYTES], _seal(subject, content)) else None
    except (UsageError, OSError):
        return None


def _place(subject: str) -> Path:
    name = hashlib.blake2b(subject.encode(), digest_size=16, key=user_secret()).hexdigest()
    return user_folder() / FOLDER / name


def _seal(subject: str, content: bytes) -> bytes:
    return hashlib.blake2b(subject.encode() + b"\0" + content, digest_size=_SEAL_BYTES, key=user_secret()).digest()
