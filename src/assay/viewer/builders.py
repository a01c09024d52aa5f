"""Builds what takes long in processes of their own, so that the page answers meanwhile. Killing them harms nothing."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from assay.core.journal import DamagedError
from assay.processes.environment import worker_environment
from assay.processes.start import Process, start_job, wait_or_kill
from assay.run_file import read_run_file, write_whole
from assay.viewer.derived import derived_path, stamp_of

LONG_BYTES = 24 << 20
"""A backlog longer than this is left to a process of its own; a shorter one is done on the spot."""
BOARD_FILE = ".viewer-board.json"


class Builders:
    """At most one process per job; a job that ends may be started again."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, Path], Process] = {}

    def start(self, job: str, folder: Path) -> None:
        if not self.busy(job, folder):
            command = [sys.executable, "-P", "-m", __name__, job, str(folder)]
            self._running[job, folder] = start_job(command, env=worker_environment())

    def busy(self, job: str, folder: Path) -> bool:
        running = self._running.get((job, folder))
        return running is not None and running.poll() is None

    def wait(self) -> None:
        for process in self._running.values():
            process.wait()

    def stop(self) -> None:
        for process in self._running.values():
            wait_or_kill(process, grace_seconds=0.0)


def build_index(folder: Path) -> None:
    from assay.viewer.index import update_index

    gc.disable()  # nothing here makes cycles, and collecting them takes a fifth of the time
    run = read_run_file(folder)
    update_index(folder, run.fingerprint, run.definitions, run.config.group_by)


def build_words(folder: Path) -> None:
    from assay.viewer.word_index import update_words

    gc.disable()
    update_words(folder, read_run_file(folder).fingerprint)


def build_board(folder: Path) -> None:
    """The leaderboard of a run that has none yet, kept with the stamp of the journal it was made of.

    There is none of a damaged journal: the page says which line it is.
    """
    from msgspec.structs import replace

    from assay.results.board.leaderboard import build_leaderboard
    from assay.results.report_settings import view_of

    journal = stamp_of(folder / "journal.jsonl")
    view = replace(view_of(read_run_file(folder).config, folder), per_example=False)
    try:
        board: Any = msgspec.to_builtins(build_leaderboard(folder, view))
    except DamagedError:
        return
    write_whole(derived_path(folder, BOARD_FILE), msgspec.json.encode({"journal": journal, "board": board}))


JOBS: dict[str, Callable[[Path], None]] = {"index": build_index, "words": build_words, "board": build_board}

if __name__ == "__main__":
    JOBS[sys.argv[1]](Path(sys.argv[2]))
