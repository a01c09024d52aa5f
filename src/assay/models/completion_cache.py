"""The completion cache: answers by the fingerprint of the whole request, in one SQLite file that runs share.

The file is part of the project folder, so it may come from somebody else. Keys and answers are therefore signed with
the user's secret (`assay.user`): an answer that somebody else added or changed is ignored. Users who share a project
each have their own answers in the file.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from hmac import compare_digest
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.fingerprint import canonical_json
from assay.core.regular_file import irregular
from assay.core.types import Completion, Request
from assay.user.project_folder import make_project_folder

COMMIT_SECONDS = 0.5
COMMIT_ENTRIES = 500
MAC_BYTES = 16

_decoder = msgspec.json.Decoder(Completion)
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
                "CREATE TABLE IF NOT EXISTS completions (key BLOB NOT NULL UNIQUE, completion BLOB NOT NULL, at REAL)"
            )
        except (sqlite3.Error, OSError) as error:
            raise UsageError(
                f"{path}: cannot be used as the completion cache ({error}). Delete it, or run with --no-cache."
            ) from error

    def key(self, identity: Any, request: Request) -> bytes:
        """A hash of everything that can change an answer: adapter, endpoint, model, parameters, draw."""
        return hashlib.blake2b(canonical_json((identity, request)), digest_size=32, key=self._secret).digest()

    def get(self, key: bytes) -> Completion | None:
        entry = self._unwritten.get(key)
        if entry is not None:
            return _decoder.decode(entry[MAC_BYTES:])
        if self._broken:
            return None
        try:
            row = self._database.execute("SELECT completion FROM completions WHERE key = ?", (key,)).fetchone()
            if row is None or not isinstance(entry := row[0], bytes):
                return None
            encoded = entry[MAC_BYTES:]
            return _decoder.decode(encoded) if compare_digest(entry[:MAC_BYTES], self._sign(key, encoded)) else None
        except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._give_up(error)
            return None

    def put(self, key: bytes, completion: Completion) -> None:
        if self._broken:
            return
        encoded = _encoder.encode(completion)
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
                    self._database.executemany("INSERT OR REPLACE INTO completions VALUES (?, ?, ?)", rows)
            except sqlite3.Error as error:
                self._give_up(error)
            self._unwritten.clear()
        self._last_commit = time.monotonic()

    def close(self) -> None:
        self.commit()
        self._database.close()

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
