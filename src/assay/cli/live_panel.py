"""The live panel of a run on a terminal: tasks, score, failures, tokens, cost, requests; redrawn by the clock.

It never hides the cursor and always leaves it on an empty line of its own, so that a run that is killed leaves nothing
to put in order. Records only add to sums; a thread draws, four times a second, so a server that hangs does not stop it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from assay.cli import streams
from assay.cli.output import has_styles, width_of_stream
from assay.cli.progress import ProgressLine, duration
from assay.cli.running_scores import RunningScore, earlier_attempts
from assay.core.types import Record, TaskDefinition
from assay.costs.prices import Prices, find_prices
from assay.costs.spending import Spending, add_line, cost_of, is_worth_showing, money, projected, total_cost
from assay.models.pool import RequestState
from assay.overriding import override
from assay.pages.document import Span
from assay.pages.terminal import Row, flat, sentence_lines, without_end_spaces
from assay.pages.text_width import cut, width_of
from assay.results.report_settings import View
from assay.run_file import RunFile
from assay.text.wording import count_of

TICK_SECONDS = 0.25
PACE_SECONDS = 30.0
"""The pace is that of the last so many seconds: servers get quicker, slower and stuck."""
QUIET_SECONDS = 10.0
"""Without a finished attempt for so long, the panel shows for how long."""
KINDS = 3
"""Kinds of failures that have a line each."""
BAR = 16
LEAST_NAME, WIDE_NAME = 12, 28
"""Columns that a task's name keeps while something else can be left out, and while bars can be shorter."""


@dataclass(slots=True)
class _FailureSums:
    count: int = 0
    last: str = ""


@dataclass(slots=True)
class _Sums:
    tasks: dict[str, RunningScore] = field(default_factory=dict)
    failures: dict[str, _FailureSums] = field(default_factory=dict)
    spent: Spending = field(default_factory=Spending)
    judges: dict[str, Spending] = field(default_factory=dict)


class LivePanel(ProgressLine):
    """Draws on a terminal; what is said meanwhile stands above it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream or sys.stderr)
        self._sums = _Sums()
        self._totals: dict[str, int] = {}
        self._model = ""
        self._said: set[str] = set()
        self._prices = Prices([])
        self._view = View()
        self._journal: Path | None = None
        self._state: Callable[[], RequestState | None] = lambda: None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._pace: deque[tuple[float, int]] = deque()
        self._latest = self._started
        """When the last attempt finished, or the run began."""

    @override
    def plan(self, run: RunFile, journal: Path | None = None) -> None:
        self._totals = {definition.name: run.config.attempts_of(definition) for definition in run.definitions}
        self._model = run.model["name"]
        named = Path(run.config.prices) if run.config.prices else None
        self._prices = find_prices(named).where_unbilled(run.unbilled)
        self._view = View.of(run.config)
        self._journal = journal

    @override
    def watch(self, state: Callable[[], RequestState | None]) -> None:
        self._state = state

    @override
    def begin(self, total: int, done: int, definitions: Sequence[TaskDefinition]) -> None:
        super().begin(total, done, definitions)
        self._sums = _Sums({name: RunningScore(measure, self._view) for name, measure in self._measures.items()})
        for attempt in earlier_attempts(self._journal) if done and self._journal is not None else ():
            if attempt.task in self._sums.tasks:
                self._sums.tasks[attempt.task].add(attempt)
        self._pace.clear()
        self._latest = self._started
        self._over.clear()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)
        self._thread.start()

    @override
    def records(self, records: list[Record]) -> None:
        super().records(records)
        self._latest = time.monotonic()
        for record in records:
            add_line(record, self._sums.spent, self._sums.judges)
            if record.task in self._sums.tasks:
                self._sums.tasks[record.task].add(record)
            if record.failures:
                first = record.failures[0]
                failure = self._sums.failures.setdefault(first.kind, _FailureSums())
                failure.count += 1
                failure.last = first.message

    @override
    def end(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        streams.erase(self._stream)

    @override
    def say(self, sentence: str) -> None:
        if sentence in self._said:  # of several runs each may have the same to say
            return
        self._said.add(sentence)
        lines = sentence_lines(sentence, width_of_stream(self._stream))
        streams.write_lines(self._stream, lines, styled=False)  # the stream makes room for it
        self._stream.flush()

    @override
    def _show_now_and_then(self) -> None:
        """The clock draws."""

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            now = time.monotonic()
            self._pace.append((now, self._done))
            while now - self._pace[0][0] > PACE_SECONDS:
                self._pace.popleft()
            streams.draw(self._stream, self.lines(now), styled=has_styles(self._stream))

    def lines(self, now: float) -> list[Row]:
        """The panel as it is now, no wider and no higher than the terminal."""
        width, height = width_of_stream(self._stream) - 1, _height(self._stream)
        state = self._state()
        foot = [*self._failures(), *self._spending(width), *_requests(state, now - self._latest)]
        head = [self._head(now, state, width), *([self._workers_line()] if self._workers else [])]
        room = max(height - 2 - len(head) - len(foot), 0)
        rows = [*head, *self._tasks(width, room), *foot][: max(height - 1, 1)]
        return [_fitted(row, width) for row in rows]

    def _head(self, now: float, state: RequestState | None, width: int) -> Row:
        elapsed, rate = now - self._started, self._rate(now)
        parts = [f"{self._done:,}/{self._total:,}", duration(elapsed)]
        parts.append(f"{rate:,.1f}/s" if rate >= 1 or not rate else f"{60 * rate:,.1f}/min")
        if rate and self._done < self._total and not (state and state.waiting):
            parts.append(f"{duration((self._total - self._done) / rate)} left")
        while len(parts) > 1 and BAR + sum(2 + len(part) for part in parts) > width:
            parts.pop()
        return [*_bar(self._done, self._total), Span("".join(f"  {part}" for part in parts), "key")]

    def _rate(self, now: float) -> float:
        """Attempts a second, lately; at first since the beginning."""
        then, done = self._pace[0] if len(self._pace) > 1 else (self._started, self._already)
        return (self._done - done) / max(now - then, 1e-9)

    def _workers_line(self) -> Row:
        each = [made for made, _ in self._workers]
        return [Span(f"{len(each)} workers, {min(each):,} to {max(each):,} attempts each")]

    def _tasks(self, width: int, room: int) -> list[Row]:
        tasks = list(self._sums.tasks.items())
        if len(tasks) > room:  # those at work first: neither untouched nor through
            tasks.sort(key=lambda item: not 0 < item[1].made < self._totals.get(item[0], item[1].made + 1))
        shown = tasks if len(tasks) <= room else tasks[: max(room - 1, 0)]
        rows = self._task_rows(shown, width)
        if len(shown) < len(tasks) and room:
            rows.append([Span(f"  … and {len(tasks) - len(shown):,} more tasks", "quiet")])
        return rows

    def _task_rows(self, tasks: list[tuple[str, RunningScore]], width: int) -> list[Row]:
        """A line for each, in columns; what there is no room for is left out of all: bars first, then intervals."""
        names = [flat(name) for name, _ in tasks]
        counts = _aligned([self._count(name, each) for name, each in tasks])
        scores = _aligned([each.score for _, each in tasks])
        intervals = _aligned([each.interval for _, each in tasks])
        failed = _aligned([f"{each.failed:,} failed" if each.failed else "" for _, each in tasks])
        name_width, bar, with_intervals = _layout(names, [counts, scores, failed], intervals, width)
        bar = bar if all(self._totals.get(name) for name, _ in tasks) else 0  # a shard's part of each is not known
        rows = []
        for at, (name, each) in enumerate(tasks):
            text = cut(names[at], name_width)
            row = [Span("  " + text + " " * (name_width - width_of(text)))]
            row += [Span("  "), *_bar(each.made, self._totals[name], bar)] if bar else []
            row += [Span(counts[at]), Span(scores[at], "key")]
            row += [Span(intervals[at], "quiet")] if with_intervals else []
            rows.append(without_end_spaces([*row, Span(failed[at], "bad")]))
        return rows

    def _count(self, name: str, task: RunningScore) -> str:
        total = self._totals.get(name)
        return f"{task.made:,}/{total:,}" if total else f"{task.made:,}"

    def _failures(self) -> list[Row]:
        kinds = sorted(self._sums.failures.items(), key=lambda item: -item[1].count)
        rows = [
            [Span(f"  {each.count:,} × {flat(kind)}", "bad"), Span(f"  {flat(each.last)}", "quiet")]
            for kind, each in kinds[:KINDS]
        ]
        if len(kinds) > KINDS:
            rest = sum(each.count for _, each in kinds[KINDS:])
            rows.append([Span(f"  {rest:,} × {len(kinds) - KINDS:,} other kinds", "bad")])
        return rows

    def _spending(self, width: int) -> list[Row]:
        used = [(self._model, self._sums.spent), *self._sums.judges.items()]
        tokens_in = sum(each.tokens_in for _, each in used)
        tokens_out = sum(each.tokens_out for _, each in used)
        made = self._done - self._already
        if not made or not tokens_in + tokens_out:
            return []
        parts = [f"  {tokens_in:,} tokens in, {tokens_out:,} out"]
        cost = total_cost([cost_of(each, self._prices, name) for name, each in used])
        if cost is not None and cost.amount is None:
            parts += ["   cost unknown", f": {flat(cost.reason or '')}"]
        elif cost is not None and is_worth_showing(cost):
            whole = projected(cost, made / (self._total - self._already))
            parts += [f"   {money(cost)} so far", f", about {money(whole)} in total"]
        while sum(map(width_of, parts)) > width and len(parts) > 1:
            parts.pop()
        return [[Span("".join(parts))]]


def _requests(state: RequestState | None, quiet_seconds: float) -> list[Row]:
    if state is None:
        return []
    rows = [[Span(f"  {count_of(state.in_flight, 'request')} in flight, limit {state.limit:,}")]]
    if quiet_seconds >= QUIET_SECONDS and state.in_flight and not state.waiting:
        rows[0].append(Span(f", no attempt finished for {duration(quiet_seconds)}", "bad"))
    return rows + ([[Span(f"  waiting: {flat(state.waiting)}", "bad")]] if state.waiting else [])


def _aligned(texts: list[str]) -> list[str]:
    """A column, two spaces before it; nothing where it is empty."""
    width = max(map(width_of, texts), default=0)
    return [f"  {text:>{width}}" if width else "" for text in texts]


def _layout(names: list[str], columns: list[list[str]], intervals: list[str], width: int) -> tuple[int, int, bool]:
    """How wide names and bars are, and whether intervals are shown: the first arrangement that leaves names room."""
    widest = max(map(width_of, names), default=0)
    others = [max(map(width_of, column), default=0) for column in columns]
    interval = max(map(width_of, intervals), default=0)
    for bar, with_intervals in ((BAR, True), (BAR // 2, True), (0, True), (0, False)):
        room = width - 2 - sum(others) - (bar and bar + 2) - (interval if with_intervals else 0)
        if room >= min(widest, LEAST_NAME if bar < BAR else WIDE_NAME):
            break
    return max(min(widest, room), 0), bar, with_intervals


def _bar(done: int, total: int, length: int = BAR) -> Row:
    filled = min(length * done // max(total, 1), length)
    return [Span("━" * filled, "good"), Span("─" * (length - filled), "quiet")]


def _fitted(row: Row, width: int) -> Row:
    """The row cut at the terminal's edge: one that wraps would be two."""
    spans: Row = []
    for span in row:
        spans.append(Span(cut(span.text, width), span.style))
        width -= width_of(span.text)
        if width <= 0:
            break
    return spans


def _height(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).lines or 24
    except (OSError, ValueError):
        return 24
