"""The leaderboard of a run for showing: the file the run wrote, or one made of the journal as it is now."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.core.journal import DamagedError
from assay.core.regular_file import read_regular
from assay.results.board.leaderboard import build_leaderboard, read_leaderboard
from assay.results.report_settings import view_of
from assay.run_file import RunFile
from assay.viewer.builders import BOARD_FILE, LONG_BYTES, Builders
from assay.viewer.derived import Stamp, derived_path, stamp_of

LARGE_FILE = 64 << 20
PATIENCE = 10.0
"""The leaderboard of a running run is rebuilt after this many times as long as building it took."""


class Boards:
    """Rebuilds a leaderboard only as often as is cheap."""

    def __init__(self, folder: Path, builders: Builders) -> None:
        self._folder = folder
        self._journal = folder / "journal.jsonl"
        self._builders = builders
        self._board: dict[str, Any] | None = None
        self._stamp: Any = None
        self._seen = stamp_of(self._journal)
        self._not_before = 0.0

    def latest(self, run: RunFile) -> tuple[dict[str, Any] | None, bool]:
        """The newest leaderboard there is, and whether the journal has moved on since."""
        written = self._written(run)
        if written is not None:
            return written, False
        journal = stamp_of(self._journal)
        if not journal.may_follow(self._seen):
            self._board = None  # it was edited or replaced: an older leaderboard is not of this journal
        self._seen = journal
        if self._stamp == ("journal", journal):
            return self._board, False
        if journal.size > LONG_BYTES:
            return self._from_process(journal)
        if time.monotonic() >= self._not_before:
            self._make(run, journal)
        return self._board, self._stamp != ("journal", journal)

    def settled(self) -> bool:
        """Whether the last answer is up to date; also true before the first request."""
        if self._stamp is None:
            return self._not_before == 0.0
        return self._stamp[0] == "file" or bool(self._stamp == ("journal", stamp_of(self._journal)))

    def _written(self, run: RunFile) -> dict[str, Any] | None:
        """`leaderboard.json`, when it is of this run and not older than its journal."""
        path = self._folder / "leaderboard.json"
        try:
            stat = path.stat()
            if stat.st_size > LARGE_FILE or stat.st_mtime_ns < self._journal.stat().st_mtime_ns:
                return None
            stamp = ("file", stat.st_mtime_ns, stat.st_size)
            if stamp != self._stamp:
                board = read_leaderboard(path)
                if board.run_fingerprint != run.fingerprint:
                    return None
                self._board, self._stamp = _without_examples(board), stamp
        except (OSError, UsageError):
            return None
        return self._board

    def _make(self, run: RunFile, journal: Stamp) -> None:
        started = time.monotonic()
        try:
            board = build_leaderboard(self._folder, replace(view_of(run.config, self._folder), per_example=False))
            self._board, self._stamp = _without_examples(board), ("journal", journal)
        except DamagedError:
            raise
        except UsageError:
            # an aggregate that cannot be computed: the samples can still be read
            self._board, self._stamp = None, ("journal", journal)
        now = time.monotonic()
        self._not_before = now + PATIENCE * (now - started)

    def _from_process(self, journal: Stamp) -> tuple[dict[str, Any] | None, bool]:
        path = derived_path(self._folder, BOARD_FILE)
        try:
            stored = msgspec.json.decode(read_regular(path))
            made_of = Stamp(*stored["journal"])
            if journal.may_follow(made_of):
                self._board = stored["board"]
            if journal == made_of:
                self._stamp = ("journal", journal)
                return self._board, False
        except (OSError, UsageError, msgspec.MsgspecError, KeyError, TypeError):
            pass
        if not self._builders.busy("board", self._folder) and time.monotonic() >= self._not_before:
            self._not_before = time.monotonic() + 60.0
            self._builders.start("board", self._folder)
        return self._board, True


def _without_examples(board: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(board)
    for row in plain["tasks"]:
        row.pop("per_example", None)
    return plain
