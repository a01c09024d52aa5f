"""A run past one process: one shard by hand, the merge of shards, and the same on a Ray cluster.

All three do the same work: a shard is run by the ordinary runner into a journal file of its own, and merging takes
every finished attempt once. A worker rebuilds everything from plain data: a run file and a folder that all can see.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.journal import Journal, finished_keys
from assay.core.key_set import KeySet
from assay.core.run import Stop, run_attempts
from assay.core.run_file import RunFile, read_run_file, what_changed
from assay.core.task import REFUSED_HERE
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
)
from assay.executors.local import LocalExecutor
from assay.executors.ray_cluster import Cluster, Connection
from assay.executors.shard_files import (
    Merged,
    Shard,
    cut,
    finished_in_shards,
    merge_shards,
    new_file,
    positions_of,
    remove_files,
    samples_of,
    shard_of,
)
from assay.reports.board import Leaderboard

LARGEST_SHARD, SMALLEST_SHARD = 10_000, 500
"""Samples. A larger one is dear to lose, a smaller one costs more to hand out than to run."""


class ShardCounts(Struct, frozen=True, kw_only=True):
    """How one shard stands: all that a worker answers with, whatever the size of the shard."""

    planned: int
    finished: int
    failed: int
    refused: int
    """Attempts of tasks that cannot be run on this machine at all."""
    made: int
    """Attempts made now; the others had been finished before."""
    interrupted: bool = False


class ShardResult(Struct, frozen=True, kw_only=True):
    """Where the run lies, and how this shard of it stands."""

    folder: Path
    counts: ShardCounts


class MergeResult(Struct, frozen=True, kw_only=True):
    """What the merge took in, and the leaderboard of all that is there now."""

    leaderboard: Leaderboard
    added: int
    repeated: int
    owed: list[str]
    """The samples of each task that are still owed, in words."""


# -- by hand -------------------------------------------------------------------------------------------------------


def run_shard(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    *,
    number: int,
    count: int,
    folder: Path | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> ShardResult:
    """Run shard `number` of `count`, or go on with it. Request and token limits are the run's: a shard gets a share."""
    parts = _with_share(definitions, config, count, command)
    folder = folder or Path("runs") / run_name(parts.run_file, definitions)
    prepare_folder(folder, parts.run_file, fresh=False)
    shard = shard_of(sum(samples_of(each, config) for each in definitions), number, count)
    progress = progress or Progress()
    return ShardResult(folder=folder, counts=asyncio.run(_run_alone(folder, parts, shard, progress)))


def merge_run(folder: Path) -> MergeResult:
    """Take what the shards of a run have finished into its journal, and make the leaderboard of it.

    The shard files are removed once every attempt of the run is in the journal, and kept for the next merge before.
    """
    run_file = read_run_file(folder)
    journal = Journal(folder / "journal.jsonl")
    try:
        merged = merge_shards(folder, journal)
    finally:
        journal.close()
    leaderboard = asyncio.run(finish(folder, run_file))
    return _counted(merged, leaderboard)


async def _run_alone(folder: Path, parts: Parts, shard: Shard, progress: Progress) -> ShardCounts:
    stop = Stop()
    try:
        await refuse_wrong_likelihoods(parts)
        with signals(stop, progress):
            finished = finished_keys(folder / "journal.jsonl")
            return await _run_range(folder, parts, shard, finished, stop, progress)
    finally:
        await close_parts(parts)


async def _run_range(
    folder: Path, parts: Parts, shard: Shard, finished: KeySet, stop: Stop, progress: Progress
) -> ShardCounts:
    """The ordinary runner on the samples of a shard, into a new file beside those of earlier attempts."""
    config = parts.run_file.config
    positions = positions_of(shard, parts.run_file.definitions, config)
    total = sum(map(len, positions.values())) * config.repeat
    earlier = finished_in_shards(folder, shard)
    count = _Count(progress)
    # the journal's keys are of the whole run; how many of this shard are among them is known when all are made
    progress.begin(total, len(earlier))
    journal = Journal(new_file(folder, shard))
    try:
        await run_attempts(
            parts.tasks,
            parts.model,
            journal,
            LocalExecutor(parts.in_flight),
            finished=_InEither(earlier, finished),
            settings=config.settings(),
            repeat=config.repeat,
            positions=positions,
            stop=stop,
            on_records=count.records,
        )
    finally:
        progress.end()
        journal.close()
        if not count.made:
            journal.path.unlink(missing_ok=True)
    broken = count.failed + count.refused
    return ShardCounts(
        planned=total,
        finished=len(earlier) + count.made - broken if stop.asked else total - broken,
        failed=count.failed,
        refused=count.refused,
        made=count.made,
        interrupted=stop.asked,
    )


class _InEither:
    """Keys that the files of a shard hold, or the journal of the run."""

    def __init__(self, *parts: KeySet) -> None:
        self._parts = parts

    def __contains__(self, key: object) -> bool:
        return any(key in part for part in self._parts)


class _Count:
    """How many attempts were made and how many of them failed, told on to the progress line."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.made = self.failed = self.refused = 0

    def records(self, records: list[Record]) -> None:
        self.made += len(records)
        for record in records:
            if record.failures:
                refused = record.failures[0].kind == REFUSED_HERE
                self.refused += refused
                self.failed += not refused
        self._progress.records(records)


def _with_share(
    definitions: Sequence[TaskDefinition], config: RunConfig, count: int, command: Sequence[str] = ()
) -> Parts:
    """The parts of a run whose models keep to one of `count` equal shares of its limits."""
    parts = put_together(definitions, msgspec.structs.replace(config, share_of=count), command=command)
    return parts._replace(run_file=msgspec.structs.replace(parts.run_file, config=config))


def _counted(merged: Merged, leaderboard: Leaderboard) -> MergeResult:
    owed = [f"{row.owed:,} of {row.total:,} attempts of `{row.task}`" for row in leaderboard.tasks if row.owed]
    if not owed:
        remove_files(merged)
    return MergeResult(leaderboard=leaderboard, added=merged.added, repeated=merged.repeated, owed=owed)


# -- on a Ray cluster ----------------------------------------------------------------------------------------------


def run_on_ray(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    cluster: Cluster,
    *,
    shard_size: int | None = None,
    folder: Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResult:
    """Run the tasks on a Ray cluster, or go on with the run that the folder holds. The folder must be seen by all."""
    parts = put_together(definitions, config, command=command)
    folder = folder or Path("runs") / run_name(parts.run_file, definitions)
    prepare_folder(folder, parts.run_file, fresh=fresh)
    return asyncio.run(_drive(folder, parts, cluster, shard_size, progress or Progress()))


async def _drive(folder: Path, parts: Parts, cluster: Cluster, shard_size: int | None, progress: Progress) -> RunResult:
    run_file = parts.run_file
    try:
        await refuse_wrong_likelihoods(parts)
    finally:
        await close_parts(parts)  # they were built to refuse bad input before anything starts; workers build their own
    stop = Stop()
    journal = Journal(folder / "journal.jsonl")
    try:
        merge_shards(folder, journal)
        done = len(finished_keys(journal.path))
        total = sum(planned(each, run_file.config) for each in run_file.definitions)
        progress.begin(total, done)
        if done < total:
            with signals(stop, progress):
                await _run_shards(folder, run_file, cluster, shard_size, stop, progress)
        merged = merge_shards(folder, journal)
    finally:
        progress.end()
        journal.close()
    leaderboard = await finish(folder, run_file, trust=run_file.config.trust)
    counted = _counted(merged, leaderboard)
    if counted.owed and not stop.asked:
        raise UsageError(
            f"{folder}: the workers are done, but {', '.join(counted.owed)} are not in the journal. "
            "Is the run folder on storage that every node sees? Run the same command again to make them."
        )
    return RunResult(folder=folder, leaderboard=leaderboard, interrupted=stop.asked)


async def _run_shards(
    folder: Path, run_file: RunFile, cluster: Cluster, shard_size: int | None, stop: Stop, progress: Progress
) -> None:
    connection = Connection(cluster)
    try:
        samples = sum(samples_of(each, run_file.config) for each in run_file.definitions)
        even = -(-samples // (4 * connection.workers))  # four shards a worker, so that the last ones end together
        size = shard_size or max(SMALLEST_SHARD, min(LARGEST_SHARD, even))
        payload = WorkerPayload(
            run_file=run_file, folder=str(folder.resolve()), project=os.getcwd(), workers=connection.workers
        )
        await connection.run(
            "assay.shards:open_worker",
            msgspec.json.encode(payload),
            cut(samples, size),
            stop=stop,
            on_answer=lambda shard, counts: None,  # the journal is counted after the merge
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
    workers: int


def open_worker(payload: bytes) -> Worker:
    """What a worker process does once, before its first shard."""
    return Worker(msgspec.json.decode(payload, type=WorkerPayload))


class Worker:
    """Everything of a run that outlives a shard: the tasks, the models, one event loop, what was finished before."""

    def __init__(self, payload: WorkerPayload) -> None:
        self._folder = Path(payload.folder)
        _enter(payload.project, self._folder)
        run_file = payload.run_file
        # SQLite files want one machine: each node keeps a completion cache of its own
        place = Path(run_file.config.cache_path)
        cache = str(place.with_name(f"{place.stem}-{os.uname().nodename}{place.suffix}"))
        config = msgspec.structs.replace(run_file.config, cache_path=cache)
        parts = _with_share(run_file.definitions, config, payload.workers)
        if parts.run_file.fingerprint != run_file.fingerprint:
            changes = ", ".join(what_changed(run_file, parts.run_file))
            raise UsageError(f"this node would make another run: {changes}. Give every node the same settings.")
        self._parts = parts
        self._finished = finished_keys(self._folder / "journal.jsonl")
        self._runner = asyncio.Runner()
        self._stop = Stop()
        self._made = self._failed = 0
        self._now = _WorkerProgress()

    def run(self, start: int, stop: int) -> bytes:
        count = self._now = _WorkerProgress()
        counts = self._runner.run(
            _run_range(self._folder, self._parts, Shard(start, stop), self._finished, self._stop, count)
        )
        self._made, self._failed = self._made + counts.made, self._failed + counts.failed
        self._now = _WorkerProgress()
        return msgspec.json.encode(counts)

    def progress(self) -> tuple[int, int]:
        return self._made + self._now.made, self._failed + self._now.failed

    def stop(self) -> None:
        self._stop.asked = True


class _WorkerProgress(Progress):
    """Counts for the driver to ask."""

    made = failed = 0

    def records(self, records: list[Record]) -> None:
        self.made += len(records)
        self.failed += sum(record.failed for record in records)


def _enter(project: str, folder: Path) -> None:
    try:
        os.chdir(project)
    except OSError as error:
        raise UsageError(f"{project}: cannot be entered here: {error.strerror}") from error
    if not (folder / "run.json").exists():
        raise UsageError(f"{folder}: not seen from here; --run-dir must lie on storage that every node shares")
