"""The progress of a run from Python: one line on a terminal or in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import time

from assay.overriding import override
from assay.runs.progress import CallbackProgress, Progress, ProgressUpdate

_SECONDS = 0.25


def progress_here() -> Progress:
    """What shows progress on a terminal and in a notebook, and nothing elsewhere."""
    return CountLine() if sys.stderr.isatty() or "ipykernel" in sys.modules else Progress()


class CountLine(CallbackProgress):
    """Overwrites its line a few times a second, and removes it at the end."""

    def __init__(self) -> None:
        super().__init__(self._show)
        self._shown = 0.0
        self._began = time.monotonic()
        self._width = 0

    def _show(self, update: ProgressUpdate) -> None:
        now = time.monotonic()
        if now - self._shown < _SECONDS and update.done < update.total:
            return
        self._shown = now
        failed = f", {update.failed:,} failed" if update.failed else ""
        text = f"{update.done:,} of {update.total:,}{failed}, {now - self._began:.0f} s"
        print(f"\r{text.ljust(self._width)}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    @override
    def end(self) -> None:
        print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)
