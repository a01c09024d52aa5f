"""A run on a Ray cluster: the driver cuts it into shards, lends out its limits, and merges; workers run the shards.

A worker rebuilds everything from plain data: a run file and a folder that all can see. What it may use (its share of
the limits a minute, a piece of the budget) comes with every shard and every question how far it has got.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from assay import env_file
from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.journal import Journal, finished_keys
from assay.core.run import Stop
from assay.core.run_file import RunFile, what_changed
from assay.core.types import Record, TaskDefinition
from assay.evaluation import (
    Parts,
    Progress,
    RunResult,
    close_parts,
    finish,
    planned,
    prepare_folder,
    put_together,
    refuse_wrong_likelihoods,
    run_name,
    signals,
    with_sandbox,
)
from assay.executors.leases import Leases
from assay.executors.ray_cluster import Cluster, Connection, Report
from assay.executors.shard_files import Shard, cut, merge_shards, samples_of
from assay.reports.budgets import budgeted, make_budget, spent_before
from assay.reports.sandboxes import record_sandbox
from assay.shards import ShardCounts, counted, run_range

LARGEST_SHARD, SMALLEST_SHARD = 10_000, 500
"""Samples. A larger one is dear to lose, a smaller one costs more to hand out than to run."""


def run_on_ray(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    cluster: Cluster,
    *,
    shard_size: int | None = None,
    folder: Path | None = None,
    fresh: bool = False,
    resume_foreign: bool = False,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResult:
    """Run the tasks on a Ray cluster, or go on with the run that the folder holds. The folder must be seen by all."""
    parts = put_together(definitions, config, command=command)
    folder = folder or Path("runs") / run_name(parts.run_file, definitions)
    prepare = partial(prepare_folder, folder, parts.run_file, fresh=fresh, resume_foreign=resume_foreign)
    return asyncio.run(_drive(folder, parts, cluster, shard_size, progress or Progress(), prepare))


async def _drive(
    folder: Path,
    parts: Parts,
    cluster: Cluster,
    shard_size: int | None,
    progress: Progress,
    prepare: Callable[[], None],
) -> RunResult:
    run_file = parts.run_file
    try:
        await refuse_wrong_likelihoods(parts)
        prepare()
    finally:
        await close_parts(parts)  # they were built to refuse bad input before anything starts; workers build their own
    stop = Stop()
    journal = Journal(folder / "journal.jsonl")
    try:
        merge_shards(folder, journal)
        done = len(finished_keys(journal.path))
        total = sum(planned(each, run_file.config) for each in run_file.definitions)
        progress.begin(total, done, run_file.definitions)
        if done < total:
            spent = spent_before(parts.model.name, parts.quotes, [journal.path])
            make_budget(parts.quotes, run_file.config, stop).already(*spent)
            if not stop.asked:
                lending = Lending(run_file.config, spent[0], spent[1])
                with signals(stop, progress):
                    await _run_shards(folder, run_file, cluster, shard_size, lending, stop, progress)
        merged = merge_shards(folder, journal)
    finally:
        progress.end()
        journal.close()
    leaderboard = await finish(folder, run_file, trust=True)  # what is not trusted was refused before it ran
    left = counted(merged, leaderboard).owed
    if left and not stop.asked:
        raise UsageError(
            f"{folder}: the workers are done, but {', '.join(left)} are not in the journal. "
            "Is the run folder on storage that every node sees? Run the same command again to make them."
        )
    return RunResult(
        folder=folder,
        leaderboard=leaderboard,
        interrupted=stop.interrupted,
        stopped=stop.reason if left else None,
    )


async def _run_shards(
    folder: Path,
    run_file: RunFile,
    cluster: Cluster,
    shard_size: int | None,
    lending: Lending,
    stop: Stop,
    progress: Progress,
) -> None:
    connection = Connection(cluster)
    try:
        samples = sum(samples_of(each, run_file.config) for each in run_file.definitions)
        even = -(-samples // (4 * connection.workers))  # four shards a worker, so that the last ones end together
        size = shard_size or max(SMALLEST_SHARD, min(LARGEST_SHARD, even))
        payload = payload_of(run_file, folder)
        await connection.run(
            "assay.ray_run:open_worker",
            msgspec.json.encode(payload),
            cut(samples, size),
            lender=lending,
            stop=stop,
            on_progress=progress.workers,
            say=progress.say,
        )
    finally:
        connection.close()


class Terms(Struct, frozen=True, kw_only=True):
    """What a worker may use from now on."""

    share: float
    """Of the run's requests and tokens a minute."""
    max_tokens: float | None
    """In all, since the worker began; the driver raises it as long as the run's budget lasts."""
    max_cost: float | None


class Lending:
    """What the driver has to lend: the limits a minute in equal shares, the budget in pieces."""

    def __init__(self, config: RunConfig, tokens_used: float, money_used: float) -> None:
        self._tokens = Leases(config.max_total_tokens, tokens_used)
        self._money = Leases(config.max_cost, money_used)

    def terms(self, worker: int, report: Report, working: int) -> bytes:
        return msgspec.json.encode(
            Terms(
                share=1 / max(working, 1),
                max_tokens=self._tokens.lend(worker, report.tokens, working),
                max_cost=self._money.lend(worker, report.money, working),
            )
        )

    def give_back(self, worker: int, report: Report) -> None:
        self._tokens.give_back(worker, report.tokens)
        self._money.give_back(worker, report.money)

    def used_up(self) -> str | None:
        """Why nothing new may be begun."""
        for leases, flag in ((self._tokens, "--max-tokens"), (self._money, "--max-cost")):
            if leases.used_up:
                return f"the budget of the run ({flag}) is used up"
        return None


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


def open_worker(payload: bytes) -> Worker:
    """What a worker process does once, before its first shard."""
    return Worker(msgspec.json.decode(payload, type=WorkerPayload))


class Worker:
    """Everything of a run that outlives a shard: the tasks, the models, one event loop, what was finished before."""

    def __init__(self, payload: WorkerPayload) -> None:
        self._folder = Path(payload.folder)
        _enter(payload.project, self._folder)
        env_file.choose(None if payload.env is None else Path(payload.env))
        self._now = _WorkerProgress()
        parts = with_sandbox(_rebuilt(payload.run_file), self._now)
        record_sandbox(self._folder, parts.run_file)
        self._ending = False
        self._stop = Stop()
        self._budget = make_budget(parts.quotes, payload.run_file.config, self._stop)
        self._parts = parts._replace(model=budgeted(parts.model, parts.models.judges, parts.quotes, self._budget))
        self._finished = finished_keys(self._folder / "journal.jsonl")
        self._runner = asyncio.Runner()

    def run(self, start: int, stop: int, terms: bytes) -> bool:
        """Make the attempts of a shard; whether all of them were made."""
        self._stop = self._budget.stop = Stop()
        self._stop.asked = self._ending
        self._use(msgspec.json.decode(terms, type=Terms))
        counts = self._runner.run(self._shard(Shard(start, stop)))
        return not counts.interrupted and counts.stopped is None

    async def _shard(self, shard: Shard) -> ShardCounts:
        return await run_range(self._folder, self._parts, shard, self._finished, self._stop, self._now)

    def report(self, terms: bytes | None) -> Report:
        """How far this worker has got; called from another thread while a shard runs."""
        if terms is not None:
            known = msgspec.json.decode(terms, type=Terms)
            self._runner.get_loop().call_soon_threadsafe(self._use, known)
        now = self._now
        return Report(now.made, now.failed, self._budget.tokens, self._budget.cost, now.told())

    def stop(self) -> None:
        self._ending = self._stop.asked = True

    def _use(self, terms: Terms) -> None:
        self._parts.models.keep_to_share(terms.share)
        self._budget.allow(terms.max_tokens, terms.max_cost)


def _rebuilt(run_file: RunFile) -> Parts:
    """The parts of the run as this node builds them, which must be what the driver has built."""
    # SQLite files want one machine: each node keeps a completion cache of its own
    place = Path(run_file.config.cache_path)
    cache = str(place.with_name(f"{place.stem}-{os.uname().nodename}{place.suffix}"))
    # and as many workers as it has CPUs, so that none needs processes of its own
    # whose code runs was asked on the driver, whose word counts: the files may lie elsewhere on this node
    config = msgspec.structs.replace(run_file.config, cache_path=cache, score_workers=0, trust=True)
    parts = put_together(run_file.definitions, config)
    if parts.run_file.fingerprint != run_file.fingerprint:
        changes = ", ".join(what_changed(run_file, parts.run_file))
        raise UsageError(f"this node would make another run: {changes}. Give every node the same settings.")
    return parts


class _WorkerProgress(Progress):
    """Counts and sentences for the driver to ask."""

    def __init__(self) -> None:
        self.made = self.failed = 0
        self._said: list[str] = []

    def records(self, records: list[Record]) -> None:
        self.made += len(records)
        self.failed += sum(record.failed for record in records)

    def say(self, sentence: str) -> None:
        self._said.append(f"{os.uname().nodename}: {sentence}")

    def told(self) -> tuple[str, ...]:
        said, self._said = self._said, []
        return tuple(said)


def _enter(project: str, folder: Path) -> None:
    try:
        os.chdir(project)
    except OSError as error:
        raise UsageError(f"{project}: cannot be entered here: {error.strerror}") from error
    if not (folder / "run.json").exists():
        raise UsageError(f"{folder}: not seen from here; --run-dir must lie on storage that every node shares")
