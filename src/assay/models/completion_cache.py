"""The completion cache: answers by the fingerprint of the whole request, in one SQLite file that runs share.

The file is part of the project folder, so it may come from somebody else. Keys and answers are therefore signed with
the user's secret (`assay.user`): an answer that somebody else added or changed is ignored. Users who share a project
each have their own answers in the file.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import sqlite3
import time
from hmac import compare_digest
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.fingerprint import canonical_json
from assay.core.regular_file import irregular
from assay.core.types import Completion, Request
from assay.user.project_folder import make_project_folder

COMMIT_SECONDS = 0.5
COMMIT_ENTRIES = 500
MAC_BYTES = 16
RUN_BYTES = 8


class _Answer(Struct, frozen=True, array_like=True):
    """What is stored for a key."""

    run: str
    """The run that was given the answer."""
    completion: Completion


_decoder = msgspec.json.Decoder(_Answer)
_encoder = msgspec.json.Encoder()


class CompletionCache:
    """Answers that were paid for. Only completions are stored, never failures.

    After an error during a run (a full disk, a damaged file) the cache warns and is no longer used: it must never cost
    an answer.
    """

    def __init__(self, path: Path, secret: bytes) -> None:
        self.path = path
        self._secret = secret
        self._mac = hashlib.blake2b(key=self._secret, digest_size=MAC_BYTES)
        """Copied for every answer, which is twice as fast as creating a new one."""
        self.run = secrets.token_hex(RUN_BYTES)
        """Who puts answers here; see `name_run`."""
        self._unwritten: dict[bytes, bytes] = {}
        self._last_commit = time.monotonic()
        self._broken = False
        try:
            make_project_folder(path.parent)
            _refuse_irregular(path)
            self._database = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._database.execute("PRAGMA trusted_schema=OFF")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS answers (key BLOB NOT NULL UNIQUE, answer BLOB NOT NULL, at REAL)"
            )
        except (sqlite3.Error, OSError) as error:
            raise UsageError(
                f"{path}: cannot be used as the completion cache ({error}). Delete it, or run with --no-cache."
            ) from error

    def name_run(self, identity: str) -> None:
        """Say which run this is, so that a resumed one knows the answers of its earlier sessions as its own."""
        self.run = hashlib.blake2b(identity.encode(), digest_size=RUN_BYTES).hexdigest()

    def key(self, identity: Any, request: Request) -> bytes:
        """A hash of everything that can change an answer: adapter, endpoint, model, parameters, draw."""
        return hashlib.blake2b(canonical_json((identity, request)), digest_size=32, key=self._secret).digest()

    def get(self, key: bytes) -> Completion | None:
        """The answer, marked as `cached` and, where another run put it here, as `from_earlier_run`."""
        entry = self._unwritten.get(key)
        if entry is not None:
            return self._read(entry[MAC_BYTES:])
        if self._broken:
            return None
        try:
            row = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            if row is None or not isinstance(entry := row[0], bytes):
                return None
            encoded = entry[MAC_BYTES:]
            return self._read(encoded) if compare_digest(entry[:MAC_BYTES], self._sign(key, encoded)) else None
        except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._give_up(error)
            return None

    def put(self, key: bytes, completion: Completion) -> None:
        if self._broken:
            return
        encoded = _encoder.encode(_Answer(self.run, completion))
        self._unwritten[key] = self._sign(key, encoded) + encoded
        due = time.monotonic() - self._last_commit >= COMMIT_SECONDS
        if due or len(self._unwritten) >= COMMIT_ENTRIES:
            self.commit()

    def commit(self) -> None:
        if self._unwritten:
            now = time.time()
            rows = [(key, entry, now) for key, entry in self._unwritten.items()]
            try:
                with self._database:
                    self._database.execute("BEGIN IMMEDIATE")
                    self._database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows)
            except sqlite3.Error as error:
                self._give_up(error)
            self._unwritten.clear()
        self._last_commit = time.monotonic()

    def close(self) -> None:
        self.commit()
        self._database.close()

    def _read(self, encoded: bytes) -> Completion:
        answer = _decoder.decode(encoded)
        return msgspec.structs.replace(answer.completion, cached=True, from_earlier_run=answer.run != self.run)

    def _sign(self, key: bytes, encoded: bytes) -> bytes:
        """The signature stored before an answer; only this user can compute it."""
        mac = self._mac.copy()
        mac.update(key)
        mac.update(encoded)
        return mac.digest()

    def _give_up(self, error: Exception) -> None:
        self._broken = True
        logging.getLogger("assay").warning("%s: the completion cache is no longer used: %s", self.path, error)


def _refuse_irregular(path: Path) -> None:
    kind = "a link" if path.is_symlink() else irregular(path)
    if kind is not None:
        raise UsageError(f"{path}: is {kind}, not a completion cache. Delete it, or run with --no-cache.")
