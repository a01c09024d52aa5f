"""A run: every remaining attempt, handed to the executor and written to the journal as it finishes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType

from assay.core.attempt import attempt_key, make_attempt, was_made
from assay.core.journal import Journal
from assay.core.model_stack import WithRunSettings, given_settings
from assay.core.seams import Executor, Model, Work, walk_from
from assay.core.task import Task
from assay.core.types import Record, Request, Sample


class Stop:
    """A request that a run stop: first by starting nothing new, then by abandoning what is in flight."""

    def __init__(self) -> None:
        self.requested = False
        self.reason: str | None = None
        """Why the run stops by itself; None when a person requested it."""
        self.signals = 0
        """How many signals have arrived, counted even while the event loop is blocked and cannot act on them."""
        self._cancel: Callable[[], object] | None = None

    @property
    def interrupted(self) -> bool:
        """Whether a person requested it, even if the event loop has not been able to act on it yet."""
        return (self.requested or self.signals > 0) and self.reason is None

    def request(self) -> None:
        """Start nothing new; when called again, abandon what is in flight."""
        if self.requested:
            self.now()
        self.requested = True

    def end(self, reason: str) -> None:
        """Start nothing new, for a reason of the run itself, such as a used-up budget."""
        if not self.requested:
            self.requested, self.reason = True, reason

    def now(self) -> None:
        """Abandon what is in flight."""
        self.requested = True
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
    repeats: Mapping[str, int] = MappingProxyType({}),
    settings_of: Mapping[str, Request] = MappingProxyType({}),
    positions: Mapping[str, range] | None = None,
    earlier: Callable[[int], Record | None] = lambda key: None,
    stop: Stop | None = None,
    on_records: Callable[[list[Record]], None] = lambda records: None,
) -> None:
    """Make every attempt that is not in `finished`, and record it, also if it fails.

    `repeats` and `settings_of` have what is different for single tasks. `positions` has the samples of each task that
    are this process's share; None means all of them. `earlier` is called with the key of each attempt and gives its
    record: one that has an answer and lacks scores is continued.
    """
    stop = stop or Stop()
    defaults = given_settings(settings)
    of_tasks = {name: given_settings(own) for name, own in settings_of.items()}

    def attempt(work: Work) -> Awaitable[Record]:
        own = of_tasks.get(work.task.definition.name, defaults)
        return make_attempt(work, WithRunSettings(model, own), earlier(int(work.key, 16)))

    async def run_and_write() -> None:
        work = remaining_work(tasks, finished, repeat, stop, positions, repeats)
        async with aclosing(executor.run(attempt, work)) as batches:  # type: ignore[type-var]
            async for records in batches:
                on_records(journal.append([record for record in records if was_made(record)]))

    running = asyncio.ensure_future(run_and_write())
    stop.bind(running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        if not stop.requested:
            raise


def remaining_work(
    tasks: Sequence[Task],
    finished: Container[int],
    repeat: int,
    stop: Stop,
    positions: Mapping[str, range] | None = None,
    repeats: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[Work]:
    """The remaining attempts, lazily, in the order of the tasks and their samples."""
    for task in tasks:
        for index, sample in _share(task, positions):
            for attempt in range(1, repeats.get(task.definition.name, repeat) + 1):
                key = attempt_key(task.definition.name, sample, attempt)
                if stop.requested or stop.signals:
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
