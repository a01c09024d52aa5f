"""Everything a search paid for, one JSON line each: evaluations and proposals, so that a killed search can go on.

A search is deterministic but for what evaluator and proposer say. Going on means: start again from the seed and answer
every question that was asked before from this file. Nothing is unpickled, and the end is that of an undisturbed run.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import open_to_append
from assay.core.types import Failure, Usage
from assay.reports.spending import Spending


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer: an evaluation with a score or a failure, or a proposer's text."""

    kind: Literal["evaluation", "proposal", "preflight"]
    key: str
    score: float | None = None
    side_info: dict[str, Any] = {}
    failure: Failure | None = None
    text: str | None = None
    finish_reason: str | None = None
    usage: tuple[Usage, ...] = ()
    """What models used for it, those of answers that failed included."""


class Journal:
    """Append-only. Failures are written down for the reader, and asked again when the search goes on."""

    def __init__(self, path: Path) -> None:
        self.spent: dict[tuple[str, str], Spending] = {}
        """By role and name of the model, what was used, also for what failed and in earlier sessions."""
        self._entries: dict[tuple[str, str], Entry] = {}
        self._encoder = msgspec.json.Encoder(enc_hook=repr)
        self._file = open(open_to_append(path), "a+b")  # noqa: SIM115 - open for as long as the search lives
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise UsageError(f"{path.parent}: another process is working in this run folder") from error
        try:
            self._read(path)
        except UsageError:
            self._file.close()
            raise

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, kind: Literal["evaluation", "proposal"], key: str) -> Entry | None:
        """What was answered before, if it was an answer."""
        return self._entries.get((kind, key))

    def add(self, entry: Entry) -> None:
        """Write one answer down; it survives the death of this process from here on."""
        self._file.write(self._encoder.encode(entry) + b"\n")
        self._file.flush()
        self._keep(entry)

    def close(self) -> None:
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def _read(self, path: Path) -> None:
        decoder = msgspec.json.Decoder(Entry)
        self._file.seek(0)
        end = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break  # a torn last line is an answer that is asked for again
            try:
                entry = decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise UsageError(f"{path}:{number}: not a line of a search's journal: {error}") from error
            end += len(line)
            self._keep(entry)
        self._file.truncate(end)

    def _keep(self, entry: Entry) -> None:
        for usage in entry.usage:
            self.spent.setdefault((_role(entry, usage), usage.model), Spending()).add_usage(usage)
        if entry.failure is None and entry.kind != "preflight":
            self._entries[entry.kind, entry.key] = entry


def _role(entry: Entry, usage: Usage) -> str:
    if entry.kind == "proposal":
        return "proposer"
    return "judge" if usage.judge else "task model"
