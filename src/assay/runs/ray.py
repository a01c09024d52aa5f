"""A run on a Ray cluster: the driver cuts it into shards, lends out its limits, and merges; workers run the shards.

A worker rebuilds everything from plain data: a run file and a folder that all can see. What it may use (its share of
the per-minute limits, a piece of the budget) comes with every shard and every progress query.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.journal import Journal
from assay.core.run import Stop
from assay.core.types import Record
from assay.costs.budget import Budget, SpendingLimits
from assay.overriding import override
from assay.own_functions import is_here
from assay.reading import env_file
from assay.run_file import RunFile, sealed_as
from assay.runs.assemble import Parts, assemble
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.evaluate import RunOptions, RunResult, begin, result_of
from assay.runs.folder import prepare_folder, record_sandbox, what_changed
from assay.runs.leases import Lending, Terms, WorkerReport
from assay.runs.listeners import Listeners
from assay.runs.plan import PlannedRun
from assay.runs.progress import Progress, signals
from assay.runs.ray_cluster import Cluster, ClusterConnection
from assay.runs.shard_files import Shard, cut, merge_shards
from assay.runs.shards import merge_result, run_range
from assay.runs.stretches import canary_usage, open_on_node, open_stretch

LARGEST_SHARD, SMALLEST_SHARD = 10_000, 500
"""Samples. Losing a larger one is expensive, handing out a smaller one costs more than running it."""


async def drive(run: PlannedRun, cluster: Cluster, options: RunOptions, listeners: Listeners) -> RunResult:
    """What the driver does: plan, hand out shards, merge, finish. Workers take a model by its name."""
    if run.model is not None:
        raise UsageError(
            "every node of a cluster builds the model itself: give its name (`module:name`), not an object"
        )
    for definition in run.definitions:
        if any(is_here(part.options.get("metric")) for part in definition.scorers):
            raise UsageError(
                f"every node of a cluster imports the metric itself, and nobody else can import that of task "
                f"`{definition.name}`: put it into a file and give it as `module:function`"
            )
    config, progress = run.config, options.progress
    stop = Stop()
    # built to refuse bad input before anything starts; workers build their own
    async with assemble(run.definitions, config, command=options.command) as parts:
        await parts.check()
        await parts.try_tests(progress)
        await parts.check_cached_models()
        await parts.refuse_wrong_likelihoods()
        run_file = parts.run_file
        folder = options.folder_of(run_file)
        prepare_folder(folder, run_file, fresh=options.fresh, resume_foreign=options.resume_foreign)
        made = len(EarlierAttempts(folder / "journal.jsonl"))
        await open_stretch(folder, parts, options.accepted, stop, progress, made=made)
    try:
        with closing(Journal(folder / "journal.jsonl")) as journal:
            merge_shards(folder, journal)
            done = len(EarlierAttempts(journal.path))
            if done < begin(folder, run_file, done, progress, listeners):
                budget = Budget(SpendingLimits.of(config), parts.quotes, stop)
                budget.add_earlier(parts.model.name, [journal.path], canary_usage(folder))
                if not stop.requested:
                    lending = Lending(config, budget.tokens, budget.cost)
                    with signals(stop, progress):
                        await _run_shards(folder, run_file, cluster, options.shard_size, lending, stop, progress)
            merged = merge_shards(folder, journal)
    finally:
        progress.end()
    result = await result_of(folder, config, stop)
    left = merge_result(merged, result.leaderboard).remaining
    if left and not stop.requested:
        raise UsageError(
            f"{folder}: the workers are done, but {', '.join(left)} are not in the journal. "
            "Is the run folder on storage that every node sees? Run the same command again to make them."
        )
    return result


async def _run_shards(
    folder: Path,
    run_file: RunFile,
    cluster: Cluster,
    shard_size: int | None,
    lending: Lending,
    stop: Stop,
    progress: Progress,
) -> None:
    connection = ClusterConnection(cluster)
    try:
        samples = sum(run_file.config.samples_of(each) for each in run_file.definitions)
        even = -(-samples // (4 * connection.workers))  # four shards a worker, so that the last ones end together
        size = shard_size or max(SMALLEST_SHARD, min(LARGEST_SHARD, even))
        payload = payload_of(run_file, folder)
        await connection.run(
            msgspec.json.encode(payload),
            cut(samples, size),
            lending=lending,
            stop=stop,
            on_progress=progress.workers,
            say=progress.say,
        )
    finally:
        connection.close()


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
