"""A run: every attempt the journal does not have yet, handed to the executor and written down as it finishes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import aclosing

from assay.core.attempt import attempt_key, make_attempt, was_made
from assay.core.journal import Journal
from assay.core.model_stack import WithRunSettings, given_settings
from assay.core.seams import Executor, Model, Work, walk_from
from assay.core.task import Task
from assay.core.types import Record, Request, Sample


class Stop:
    """Asks a run to stop: first by starting nothing new, then by abandoning what is in flight."""

    def __init__(self) -> None:
        self.asked = False
        self.reason: str | None = None
        """Why the run ended itself; None when a person asked."""
        self.signals = 0
        """How many signals have asked, counted also while the event loop is blocked and cannot act on them."""
        self._cancel: Callable[[], object] | None = None

    @property
    def interrupted(self) -> bool:
        """Whether a person asked, even if the event loop has not been able to act on it yet."""
        return (self.asked or self.signals > 0) and self.reason is None

    def ask(self) -> None:
        if self.asked:
            self.now()
        self.asked = True

    def end(self, reason: str) -> None:
        """Start nothing new, because of the run itself: its budget is used up."""
        if not self.asked:
            self.asked, self.reason = True, reason

    def now(self) -> None:
        self.asked = True
        if self._cancel is not None:
            self._cancel()

    def bind(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel


async def run_attempts(
    tasks: Sequence[Task],
    model: Model,
    journal: Journal,
    executor: Executor,
    *,
    finished: Container[int],
    settings: Request,
    repeat: int = 1,
    positions: Mapping[str, range] | None = None,
    stop: Stop | None = None,
    on_records: Callable[[list[Record]], None] = lambda records: None,
) -> None:
    """Make every remaining attempt. What `finished` holds is skipped; what fails is recorded as such.

    `positions` names the samples of each task that are this process's share; None means all of them.
    """
    stop = stop or Stop()
    given = given_settings(settings)

    def attempt(work: Work) -> Awaitable[Record]:
        return make_attempt(work, WithRunSettings(model, given, work.attempt))

    async def write_down() -> None:
        async with aclosing(executor.run(attempt, owed_work(tasks, finished, repeat, stop, positions))) as batches:  # type: ignore[type-var]
            async for records in batches:
                on_records(journal.append([record for record in records if was_made(record)]))

    writing = asyncio.ensure_future(write_down())
    stop.bind(writing.cancel)
    try:
        await writing
    except asyncio.CancelledError:
        if not stop.asked:
            raise


def owed_work(
    tasks: Sequence[Task],
    finished: Container[int],
    repeat: int,
    stop: Stop,
    positions: Mapping[str, range] | None = None,
) -> Iterator[Work]:
    """The attempts still to be made, lazily, in the order of the tasks and their samples."""
    for task in tasks:
        for index, sample in _share(task, positions):
            for attempt in range(1, repeat + 1):
                key = attempt_key(task.definition.name, sample, attempt)
                if stop.asked or stop.signals:
                    return
                if int(key, 16) not in finished:
                    yield Work(task, index, sample, attempt, key)


def _share(task: Task, positions: Mapping[str, range] | None) -> Iterator[tuple[int, Sample]]:
    if positions is None:
        return enumerate(task.dataset)
    wanted = positions.get(task.name, range(0))
    if not wanted:
        return iter(())
    return zip(wanted, walk_from(task.dataset, wanted.start), strict=False)
