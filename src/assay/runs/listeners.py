"""Listeners: objects that follow a run as it happens, to log it elsewhere or to display it.

A listener is any object with some of the methods below. It is handed what the run folder holds, in which no key stands,
to keep: whatever it does with it, the run and other listeners have their own.
Each is called in a thread of its own, one call after the other, so it may wait for a server without holding up the run.
One that raises is dropped with a warning, and one that is far behind misses records: no listener breaks a run. The end
is announced also when the run is interrupted, stopped by its budget or cancelled.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from assay import catalog
from assay.core.errors import UsageError
from assay.core.types import Record
from assay.run_file import RunFile
from assay.text.printable import one_line
from assay.text.tracebacks import describe_exception

if TYPE_CHECKING:
    from assay.runs.evaluate import RunResult


class RunStart(Struct, frozen=True, kw_only=True):
    """A run that begins, or is resumed."""

    folder: Path
    run: RunFile
    """What stands in `run.json`: tasks, model, settings, fingerprints, versions."""
    total: int
    """Attempts that the run has."""
    done: int
    """Those of them that were finished before."""


@runtime_checkable
class HearsBeginnings(Protocol):
    def run_began(self, run: RunStart) -> object: ...


@runtime_checkable
class HearsRecords(Protocol):
    def records(self, batch: Sequence[Record]) -> object:
        """Attempts that have just been written into the journal; not called on a cluster."""
        ...


@runtime_checkable
class HearsEnds(Protocol):
    def run_finished(self, result: RunResult) -> object: ...


class SearchEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened in a search of `assay optimize`."""

    event: Literal["began", "entry", "step", "finished"]
    folder: str
    fingerprint: str
    """The same for a search that is resumed."""
    budget: int
    calls: int = 0
    """Evaluations that the search has used so far."""
    best: float | None = None
    """The mean of the best text so far, on what is selected on."""
    last: str = ""
    """What became of the latest proposal, in words; at the end, why the search stopped."""
    entry: Any = None
    """Of `entry`: the line that the journal has got: a candidate, an evaluation or a proposal."""
    result: Any = None
    """Of `finished`: what `summary.json` holds."""


@runtime_checkable
class HearsSearches(Protocol):
    def search_event(self, event: SearchEvent) -> object: ...


_METHODS = ("run_began", "records", "run_finished", "search_event")
Listener = HearsBeginnings | HearsRecords | HearsEnds | HearsSearches

MOST_WAITING = 1000
"""Batches of records that may wait for a listener; memory must not grow with one that is slow."""
LONGEST_WAIT_SECONDS = 60.0
"""For listeners that are behind when the run has ended."""


_records_in = msgspec.json.Decoder(list[Record]).decode


def find_listeners(wanted: Sequence[object]) -> list[Listener]:
    """Listeners as they were given: objects, or names (`module:name`, or of the entry points `assay.listeners`)."""
    return [_listener(item) for item in wanted]


class Listeners:
    """Every listener of one run. `warn` is called for those that failed, in the thread of the run."""

    def __init__(self, listeners: Sequence[Listener], warn: Callable[[str], None]) -> None:
        self._threads = [_ListenerThread(listener) for listener in listeners]
        self._warn = warn
        self.began: RunStart | None = None
        """Set between announcing the start and announcing the end."""

    def __bool__(self) -> bool:
        return bool(self._threads)

    def run_began(self, run: RunStart) -> None:
        self.began = run
        self._each(HearsBeginnings, lambda listener: listener.run_began(deepcopy(run)))

    def records(self, batch: list[Record]) -> None:
        if self._threads:
            own = msgspec.json.encode(batch)  # as they stand in the journal; what is in memory, later attempts share
            self._each(HearsRecords, lambda listener: listener.records(_records_in(own)), may_miss=len(batch))

    def search_event(self, event: SearchEvent) -> None:
        """A listener that is far behind may miss lines of the journal, nothing else."""
        self._each(HearsSearches, lambda listener: listener.search_event(event), may_miss=int(event.event == "entry"))

    async def run_finished(self, result: RunResult) -> None:
        """Announce the end, and wait until every listener has received everything, up to a limit."""
        self.began = None
        own = deepcopy(result)  # a copy: a slow listener may read it after the caller has changed its own
        self._each(HearsEnds, lambda listener: listener.run_finished(deepcopy(own)))
        await self.drain()

    async def drain(self) -> None:
        """Wait until every listener has received everything, up to a limit."""
        if self._threads:
            deadline = monotonic() + LONGEST_WAIT_SECONDS
            await asyncio.gather(*(asyncio.to_thread(thread.finish, deadline) for thread in self._threads))
        self._drop_broken()
        for thread in self._threads:
            if warning := thread.closing_warning():
                self._warn(warning)

    def _each(self, hears: type, tell: Callable[[Any], object], *, may_miss: int = 0) -> None:
        self._drop_broken()
        for thread in self._threads:
            if isinstance(thread.listener, hears):
                thread.hear(tell, may_miss)

    def _drop_broken(self) -> None:
        for thread in self._threads.copy():
            if thread.error is not None:
                self._threads.remove(thread)
                what = _in_words(thread.error)
                self._warn(f"the listener {thread.name} failed and is ignored from now on: {what}")


class _ListenerThread:
    """One listener and the thread that it runs in."""

    def __init__(self, listener: Listener) -> None:
        self.name = type(listener).__name__
        self.error: BaseException | None = None
        self.listener = listener
        self._missed = 0
        self._waiting: queue.SimpleQueue[Callable[[Any], object] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._listen, name=f"listener {self.name}", daemon=True)
        self._thread.start()

    def hear(self, tell: Callable[[Any], object], may_miss: int) -> None:
        """`may_miss` is how many records are lost when the listener is too far behind; 0 is never lost."""
        if not may_miss or self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(tell)
        else:
            self._missed += may_miss

    def finish(self, deadline: float) -> None:
        self._waiting.put(None)
        self._thread.join(max(0.0, deadline - monotonic()))

    def closing_warning(self) -> str | None:
        if self._thread.is_alive():
            return f"the listener {self.name} is not done after {LONGEST_WAIT_SECONDS:g} s; its log may be incomplete"
        if self._missed:
            return f"the listener {self.name} was too slow for the run and has missed {self._missed:,} records"
        return None

    def _listen(self) -> None:
        while (tell := self._waiting.get()) is not None:
            try:
                tell(self.listener)
            except BaseException as error:  # also SystemExit: it would end this thread silently
                self.error = error
                return


def _in_words(error: BaseException) -> str:
    return one_line(str(describe_exception(error)), 600)


def _named(wanted: str) -> Any:
    name, _, rest = wanted.partition(":")
    if catalog.is_name("listener", name) and rest and not all(map(str.isidentifier, rest.split("."))):
        raise UsageError(
            f"the listener {wanted!r}: `{name}` takes no address; `assay show {name}` says which variables set one"
        )
    return catalog.resolve("listener", wanted, own_code=True)


def _listener(wanted: object) -> Listener:
    resolved: Any = _named(wanted) if isinstance(wanted, str) else wanted
    try:
        listener = resolved() if inspect.isclass(resolved) or inspect.isfunction(resolved) else resolved
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"the listener {wanted!r} cannot be made: {_in_words(error)}") from error
    if not isinstance(listener, Listener):
        raise UsageError(
            f"the listener {wanted!r} has none of a listener's methods: `run_began(run)`, `records(batch)`, "
            "`run_finished(result)`, `search_event(event)`"
        )
    methods = [getattr(listener, name) for name in dir(listener) if name in _METHODS]
    if waits := [method.__name__ for method in methods if inspect.iscoroutinefunction(method)]:
        raise UsageError(
            f"the listener {wanted!r} has an `async def {waits[0]}`: it is called in a thread of its own, where it may "
            "simply wait; write `def`"
        )
    return listener
