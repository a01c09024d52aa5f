"""The progress line: done, failed, rate, time left, mean so far; four times a second on a terminal."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from assay.cli.output import can_lay_out, width_of_stream
from assay.cli.streams import clear_line
from assay.core.types import Record, TaskDefinition
from assay.overriding import override
from assay.pages.text_width import cut
from assay.results.measure import Measure, measure_of
from assay.runs.progress import Progress
from assay.text.numbers import number

TERMINAL_SECONDS = 0.25
PLAIN_SECONDS = 10.0


class ProgressLine(Progress):
    """Talks on stderr, so that data on stdout stays clean."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty() and not is_dumb()
        self._total = self._done = self._failed = self._already = 0
        self._measures: dict[str, Measure] = {}
        self._score_sum, self._scored = 0.0, 0
        self._workers: Sequence[tuple[int, int]] = ()
        self._started = self._shown = time.monotonic()

    @override
    def begin(self, total: int, done: int, definitions: Sequence[TaskDefinition]) -> None:
        self._measures = {definition.name: measure_of(definition) for definition in definitions}
        self._total, self._done, self._already = total, done, done
        self._failed, self._score_sum, self._scored, self._workers = 0, 0.0, 0, ()  # another model may have run before
        self._started = self._shown = time.monotonic()
        if done and done < total:
            self.say(f"resuming: {done:,} of {total:,} attempts are done")

    @override
    def records(self, records: list[Record]) -> None:
        self._done += len(records)
        for record in records:
            self._failed += bool(record.failures)
            measure = self._measures.get(record.task)
            # bits and shares have no mean together
            number = None if measure is None or measure.lower_is_better else measure.of(record)
            if number is not None:
                self._score_sum += number
                self._scored += 1
        self._show_now_and_then()

    @override
    def workers(self, alive: Sequence[tuple[int, int]], lost: tuple[int, int]) -> None:
        self._workers = alive
        self._done = self._already + sum(made for made, _ in (*alive, lost))
        self._failed = sum(failed for _, failed in (*alive, lost))
        self._show_now_and_then()

    @override
    def say(self, sentence: str) -> None:
        self._clear()
        print(sentence, file=self._stream, flush=True)

    @override
    def warn(self, sentence: str) -> None:
        self.say(f"warning: {sentence}")

    @override
    def end(self) -> None:
        self._clear()

    def _show_now_and_then(self) -> None:
        now = time.monotonic()
        if now - self._shown >= (TERMINAL_SECONDS if self._terminal else PLAIN_SECONDS):
            self._shown = now
            self._show(now)

    def _show(self, now: float) -> None:
        made = self._done - self._already
        rate = made / max(now - self._started, 1e-9)
        parts = [f"{self._done:,}/{self._total:,}", f"{rate:,.0f}/s"]
        if rate:
            parts.append(f"{duration((self._total - self._done) / rate)} left")
        if self._failed:
            parts.insert(1, f"{self._failed:,} failed")
        if self._workers:
            each = [made for made, _ in self._workers]
            parts.append(f"{len(each)} workers, {min(each):,} to {max(each):,} attempts each")
        if self._scored:
            parts.append(f"mean so far {number(self._score_sum / self._scored)}")
        width = 24
        filled = int(width * self._done / max(self._total, 1))
        self.show("  ".join(parts), f"{'━' * filled}{'─' * (width - filled)}  ")

    def show(self, line: str, bar: str = "") -> None:
        """One line that the next one is written over on a terminal; elsewhere lines follow each other."""
        if self._terminal:
            clear_line(self._stream)
            self._stream.write(cut(bar + line, width_of_stream(self._stream) - 1))  # only one line can be cleared
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def _clear(self) -> None:
        if self._terminal:
            clear_line(self._stream)
            self._stream.flush()


def progress_of(options: argparse.Namespace) -> Progress:
    """Nothing, a live panel on a terminal that can be drawn on, or lines."""
    if options.quiet:
        return Progress()
    if options.plain or not can_lay_out(sys.stderr) or is_dumb():
        return ProgressLine()
    from assay.cli.live_panel import LivePanel

    return LivePanel()


def is_dumb() -> bool:
    """Whether the terminal cannot write over a line."""
    return os.environ.get("TERM") in (None, "", "dumb")


def duration(seconds: float) -> str:
    """As people say it."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
