"""The live panel of a run on a terminal: tasks, score, failures, tokens, cost, requests; redrawn by the clock.

It never hides the cursor and always leaves it on an empty line of its own, so that a run that is killed leaves nothing
to put in order. Records only add to sums; a thread draws, four times a second, so a server that hangs does not stop it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from assay.cli import streams
from assay.cli.output import has_styles, width_of_stream
from assay.cli.progress import ProgressLine, duration
from assay.core.run_file import RunFile
from assay.core.types import Record, TaskDefinition
from assay.costs.prices import Quote, find_prices
from assay.costs.spending import Spending, add_attempt, amount_text, money_of
from assay.models.pool import RequestState
from assay.reports.document import Span
from assay.reports.terminal import Row, flat
from assay.reports.text_width import cut, width_of

TICK_SECONDS = 0.25
BAR, SHORT_BAR, NAME = 16, 8, 28
WIDE = 100
"""From so many columns on tasks have long bars."""


@dataclass(slots=True)
class _TaskSums:
    """What a task's line is made of."""

    made: int = 0
    failed: int = 0
    scored: int = 0
    sum: float = 0.0
    graded: bool = False
    """Whether a score was neither 0 nor 1: then the interval needs more than sums, and is not shown."""


@dataclass(slots=True)
class _FailureSums:
    count: int = 0
    last: str = ""


@dataclass(slots=True)
class _Sums:
    tasks: dict[str, _TaskSums] = field(default_factory=dict)
    failures: dict[str, _FailureSums] = field(default_factory=dict)
    spent: Spending = field(default_factory=Spending)
    judges: dict[str, Spending] = field(default_factory=dict)


class LivePanel(ProgressLine):
    """Draws on a terminal; what is said meanwhile stands above it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream or sys.stderr)
        self._sums = _Sums()
        self._totals: dict[str, int] = {}
        self._quotes: dict[str, Quote | None] = {}
        self._model = ""
        self._prices_file: str | None = None
        self._state: Callable[[], RequestState | None] = lambda: None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def plan(self, run: RunFile) -> None:
        self._totals = {each.name: run.config.attempts_of(each) for each in run.definitions}
        self._model, self._prices_file = run.model["name"], run.config.prices

    def watch(self, state: Callable[[], RequestState | None]) -> None:
        self._state = state

    def begin(self, total: int, done: int, definitions: Sequence[TaskDefinition]) -> None:
        self._sums = _Sums(tasks={each.name: _TaskSums() for each in definitions})
        super().begin(total, done, definitions)
        self._over.clear()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)
        self._thread.start()

    def records(self, records: list[Record]) -> None:
        super().records(records)
        for record in records:
            sums = self._sums.tasks.setdefault(record.task, _TaskSums())
            sums.made += 1
            add_attempt(record, self._sums.spent, self._sums.judges)
            if record.failures:
                sums.failed += 1
                first = record.failures[0]
                failure = self._sums.failures.setdefault(first.kind, _FailureSums())
                failure.count += 1
                failure.last = first.message
            measure = self._measures.get(record.task)
            number = None if measure is None else measure.of(record)
            if number is not None:
                sums.scored += 1
                sums.sum += number
                sums.graded = sums.graded or number not in (0.0, 1.0)

    def end(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        streams.erase(self._stream)

    def say(self, sentence: str) -> None:
        print(sentence, file=self._stream, flush=True)  # the stream makes room for it

    def _show_now_and_then(self) -> None:
        """The clock draws."""

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            streams.draw(self._stream, self.lines(time.monotonic()), styled=has_styles(self._stream))

    def lines(self, now: float) -> list[Row]:
        """The panel as it is now, no wider and no higher than the terminal."""
        width, height = width_of_stream(self._stream) - 1, _height(self._stream)
        foot = [*self._failures(), *self._spending(), *self._requests()]
        head = [self._head(now), *([self._workers_line()] if self._workers else [])]
        room = max(height - 2 - len(head) - len(foot), 0)
        rows = [*head, *self._tasks(width, room), *foot][: max(height - 1, 1)]
        return [_fitted(row, width) for row in rows]

    def _head(self, now: float) -> Row:
        made, elapsed = self._done - self._already, max(now - self._started, 1e-9)
        rate = made / elapsed
        pace = f"{rate:,.1f}/s" if rate >= 1 or not made else f"{60 * rate:,.1f}/min"
        left = f"  {duration((self._total - self._done) / rate)} left" if rate else ""
        said = f"  {self._done:,}/{self._total:,}  {duration(elapsed)}  {pace}{left}"
        return [*_bar(self._done, self._total), Span(said, "key")]

    def _workers_line(self) -> Row:
        each = [made for made, _ in self._workers]
        return [Span(f"{len(each)} workers, {min(each):,} to {max(each):,} attempts each")]

    def _tasks(self, width: int, room: int) -> list[Row]:
        tasks = list(self._sums.tasks.items())
        if len(tasks) > room:  # those at work first: neither untouched nor through
            tasks.sort(key=lambda item: not 0 < item[1].made < self._totals.get(item[0], item[1].made + 1))
        shown = tasks if len(tasks) <= room else tasks[: max(room - 1, 0)]
        name_width = min(NAME, width // 3, max((width_of(flat(name)) for name, _ in shown), default=0))
        bar = BAR if width >= WIDE else SHORT_BAR
        rows = [self._task(name, sums, name_width, bar) for name, sums in shown]
        if len(shown) < len(tasks) and room:
            rows.append([Span(f"… and {len(tasks) - len(shown):,} more tasks", "quiet")])
        return rows

    def _task(self, name: str, sums: _TaskSums, name_width: int, bar: int) -> Row:
        shown = cut(flat(name), name_width)
        row = [Span("  " + shown + " " * (name_width - width_of(shown)) + "  ")]
        total = self._totals.get(name)
        if total and not self._already:  # how many of each task earlier sessions made is not known here
            row += [*_bar(sums.made, total, bar), Span(f"  {sums.made:,}/{total:,}")]
        else:
            row.append(Span(f"{sums.made:,}"))
        if sums.scored:
            row.append(Span(f"  {sums.sum / sums.scored:.3f}", "key"))
            row.append(Span(_interval(sums), "quiet"))
        return [*row, *([Span(f"  {sums.failed:,} failed", "bad")] if sums.failed else [])]

    def _failures(self) -> list[Row]:
        most = sorted(self._sums.failures.items(), key=lambda item: -item[1].count)[:3]
        return [
            [Span(f"  {each.count:,} × {flat(kind)}", "bad"), Span(f"  {flat(each.last)}", "quiet")]
            for kind, each in most
        ]

    def _spending(self) -> list[Row]:
        used = [(self._model, self._sums.spent), *self._sums.judges.items()]
        tokens_in = sum(each.tokens_in for _, each in used)
        tokens_out = sum(each.tokens_out for _, each in used)
        if not tokens_in and not tokens_out:
            return []
        said = f"  {tokens_in:,} tokens in, {tokens_out:,} out"
        quotes = {name: self._quote(name) for name, _ in used}
        made = self._done - self._already
        if made and all(quotes.values()):
            cost = sum(money_of(each, quotes[name]) for name, each in used)
            currency = next((quote.currency for quote in quotes.values() if quote is not None), "USD")
            left = (self._total - self._already) / made
            said += f"   {currency} {amount_text(cost)} so far, about {amount_text(cost * left)} in all"
        return [[Span(said)]]

    def _quote(self, name: str) -> Quote | None:
        if name not in self._quotes:
            prices = find_prices(Path(self._prices_file) if self._prices_file else None)
            self._quotes[name] = prices.quote(name)
        return self._quotes[name]

    def _requests(self) -> list[Row]:
        state = self._state()
        if state is None:
            return []
        row = [Span(f"  {state.in_flight:,} requests in flight, limit {state.limit:,}")]
        return [[*row, *([Span(f"   waiting: {flat(state.waiting)}", "bad")] if state.waiting else [])]]


def _bar(done: int, total: int, length: int = BAR) -> Row:
    filled = min(length * done // max(total, 1), length)
    return [Span("━" * filled, "good"), Span("─" * (length - filled), "quiet")]


def _interval(sums: _TaskSums) -> str:
    if sums.graded:
        return ""
    from assay.stats.intervals import wilson

    found = wilson(sums.sum, sums.scored)
    return "" if found.low is None or found.high is None else f" ({found.low:.3f} – {found.high:.3f})"


def _fitted(row: Row, width: int) -> Row:
    """The row cut at the terminal's edge: one that wraps would be two."""
    found: Row = []
    for span in row:
        found.append(Span(cut(span.text, width), span.style))
        width -= width_of(span.text)
        if width <= 0:
            break
    return found


def _height(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).lines or 24
    except (OSError, ValueError):
        return 24
