"""A worker of a run that a driver cuts into shards: rebuilds everything from plain data, and runs one shard at a time.

The data are a run file and a folder that all can see. What a worker may use (its share of the per-minute limits, a
piece of the budget) comes with every shard and every progress query.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.core.types import Record
from assay.costs.budget import Budget, SpendingLimits
from assay.overriding import override
from assay.reading import env_file
from assay.run_file import RunFile, sealed_as
from assay.runs.assemble import Parts, assemble
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.folder import record_sandbox, what_changed
from assay.runs.leases import Terms, WorkerReport
from assay.runs.progress import Progress
from assay.runs.shard_files import Shard
from assay.runs.shards import run_range
from assay.runs.stretches import open_on_node


class WorkerPayload(Struct, frozen=True, kw_only=True):
    """All that a worker is given: plain data, no client, no open file, no secret."""

    run_file: RunFile
    folder: str
    project: str
    """The folder the command was given in: relative paths of task files begin here."""
    env: str | None = None
    """Where the file of variables lies that the command was given (`--env`): its place, never what it holds."""


def payload_of(run_file: RunFile, folder: Path) -> WorkerPayload:
    """What the workers of a run of this process are given."""
    env = env_file.chosen()
    return WorkerPayload(
        run_file=run_file, folder=str(folder.resolve()), project=os.getcwd(), env=None if env is None else str(env)
    )


def open_worker(payload: bytes) -> ClusterWorker:
    """What a worker process does once, before its first shard."""
    return ClusterWorker(msgspec.json.decode(payload, type=WorkerPayload))


class ClusterWorker:
    """Everything of a run that outlives a shard: the tasks, the models, one event loop, what was finished before."""

    def __init__(self, payload: WorkerPayload) -> None:
        self._folder = Path(payload.folder)
        _enter(payload.project, self._folder)
        env_file.choose(None if payload.env is None else Path(payload.env))
        self._now = _WorkerProgress()
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()
        try:
            self._parts = self._runner.run(self._opened.enter_async_context(_rebuilt(payload.run_file, self._now)))
        except BaseException:
            self.close()
            raise
        record_sandbox(self._folder, self._parts.run_file)
        self._stretch = self._runner.run(open_on_node(self._folder, self._parts))
        self._ending = False
        self._stop = Stop()
        self._budget = Budget(SpendingLimits.of(payload.run_file.config), self._parts.quotes, self._stop)
        self._parts.spend_from(self._budget)
        self._finished = EarlierAttempts(self._folder / "journal.jsonl")

    def run(self, start: int, stop: int, terms: bytes) -> bool:
        """Make the attempts of a shard; whether all of them were made."""
        self._stop = self._budget.stop = Stop()
        self._stop.requested = self._ending
        self._use(msgspec.json.decode(terms, type=Terms))
        shard = Shard(start, stop)
        counts = self._runner.run(
            run_range(self._folder, self._parts, shard, self._finished, self._stop, self._now, self._stretch)
        )
        return not counts.interrupted and counts.stopped is None

    def report(self, terms: bytes | None) -> WorkerReport:
        """How far this worker has got; called from another thread while a shard runs."""
        if terms is not None:
            known = msgspec.json.decode(terms, type=Terms)
            self._runner.get_loop().call_soon_threadsafe(self._use, known)
        now = self._now
        return WorkerReport(now.made, now.failed, self._budget.tokens, self._budget.cost, now.take_messages())

    def stop(self) -> None:
        """Start nothing new: the shard at hand ends early."""
        self._ending = self._stop.requested = True

    def close(self) -> None:
        """For callers that outlive the worker; a cluster ends the process."""
        self._runner.run(self._opened.aclose())
        self._runner.close()

    def _use(self, terms: Terms) -> None:
        self._parts.models.keep_to_share(terms.share)
        self._budget.limits = SpendingLimits(budget_tokens=terms.budget_tokens, budget_cost=terms.budget_cost)


@asynccontextmanager
async def _rebuilt(run_file: RunFile, progress: Progress) -> AsyncIterator[Parts]:
    """The parts of the run as this node builds them, which must be what the driver has built."""
    # SQLite files want one machine: each node keeps a completion cache of its own
    place = Path(run_file.config.cache_path)
    cache = str(place.with_name(f"{place.stem}-{os.uname().nodename}{place.suffix}"))
    # and as many workers as it has CPUs, so that none needs processes of its own
    # trust was decided on the driver, and that decision counts: the files may lie elsewhere on this node
    config = msgspec.structs.replace(run_file.config, cache_path=cache, score_workers=0, trust=True)
    async with assemble(run_file.definitions, config) as parts:
        if parts.run_file.fingerprint != run_file.fingerprint:
            changes = ", ".join(what_changed(run_file, parts.run_file))
            raise UsageError(f"this node's run is not the driver's: {changes}. Give every node the same settings.")
        parts.start_sandboxes(progress)
        if config.allow_broken_tests:  # otherwise the driver has refused them
            await parts.try_tests(progress)
        await parts.check_cached_models()
        parts.models.name_run(sealed_as(run_file))
        yield parts


class _WorkerProgress(Progress):
    """Counts and messages that the driver polls."""

    def __init__(self) -> None:
        self.made = self.failed = 0
        self._messages: list[str] = []

    @override
    def records(self, records: list[Record]) -> None:
        self.made += len(records)
        self.failed += sum(record.failed for record in records)

    @override
    def say(self, sentence: str) -> None:
        self._messages.append(f"{os.uname().nodename}: {sentence}")

    def take_messages(self) -> tuple[str, ...]:
        messages, self._messages = self._messages, []
        return tuple(messages)


def _enter(project: str, folder: Path) -> None:
    try:
        os.chdir(project)
    except OSError as error:
        raise UsageError(f"{project}: cannot be entered here: {error.strerror}") from error
    if not (folder / "run.json").exists():
        raise UsageError(f"{folder}: not seen from here; --run-dir must lie on storage that every node shares")
