"""The completion cache: answers by the fingerprint of the whole request, in one SQLite file that runs share."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.fingerprint import canonical_json
from assay.core.types import Completion, Request

COMMIT_SECONDS = 0.5
COMMIT_ENTRIES = 500

_decoder = msgspec.json.Decoder(Completion)
_encoder = msgspec.json.Encoder()


class CompletionCache:
    """Answers that were paid for once. Only a completion is ever put in; a failure has no way to get here.

    A cache that breaks during a run (a full disk, a damaged file) is given up with a warning: it saves work, and must
    never cost an answer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unwritten: dict[bytes, bytes] = {}
        self._last_commit = time.monotonic()
        self._broken = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=30, isolation_level=None)
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
        """Everything that can change an answer: adapter, endpoint, model, every parameter, the repetition."""
        return hashlib.sha256(canonical_json((identity, request))).digest()

    def get(self, key: bytes) -> Completion | None:
        found = self._unwritten.get(key)
        if found is not None:
            return _decoder.decode(found)
        if self._broken:
            return None
        try:
            row = self._database.execute("SELECT completion FROM completions WHERE key = ?", (key,)).fetchone()
            return None if row is None else _decoder.decode(row[0])
        except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._give_up(error)
            return None

    def put(self, key: bytes, completion: Completion) -> None:
        if self._broken:
            return
        self._unwritten[key] = _encoder.encode(completion)
        due = time.monotonic() - self._last_commit >= COMMIT_SECONDS
        if due or len(self._unwritten) >= COMMIT_ENTRIES:
            self.commit()

    def commit(self) -> None:
        if self._unwritten:
            now = time.time()
            rows = [(key, completion, now) for key, completion in self._unwritten.items()]
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

    def _give_up(self, error: Exception) -> None:
        self._broken = True
        logging.getLogger("assay").warning("%s: the completion cache is not used any more: %s", self.path, error)
