"""A run past one process: one shard of it, and the merge of shards. `ray_run.py` hands shards to a cluster.

A shard is run by the ordinary runner into a journal file of its own; merging takes every finished attempt once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from assay.core.config import RunConfig
from assay.core.journal import Journal, finished_keys
from assay.core.key_set import KeySet
from assay.core.run import Stop, run_attempts
from assay.core.run_file import read_run_file
from assay.core.task import REFUSED_HERE
from assay.core.types import Record, TaskDefinition
from assay.evaluation import (
    Parts,
    Progress,
    close_parts,
    finish,
    prepare_folder,
    put_together,
    refuse_wrong_likelihoods,
    run_name,
    signals,
    with_sandbox,
)
from assay.executors.local import LocalExecutor
from assay.executors.shard_files import (
    Merged,
    Shard,
    finished_in_shards,
    merge_shards,
    new_file,
    positions_of,
    remove_files,
    samples_of,
    shard_files,
    shard_of,
)
from assay.reports.board import Leaderboard
from assay.reports.budgets import budgeted, has_budget, make_budget, spent_before
from assay.scorers.watch import Watch
from assay.tasks.trust import code_seal
from assay.user.seal import is_vouched_for


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
    stopped: str | None = None
    """Why the shard ended itself before everything was attempted: its budget."""


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


def run_shard(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    *,
    number: int,
    count: int,
    folder: Path | None = None,
    resume_foreign: bool = False,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> ShardResult:
    """Run shard `number` of `count`, or go on with it. Limits and budgets are the run's: a shard has its share."""
    progress = progress or Progress()
    shard = shard_of(sum(samples_of(each, config) for each in definitions), number, count)
    parts = with_sandbox(put_together(definitions, config, command=command), progress)
    parts.models.keep_to_share(1 / count)
    folder = folder or Path("runs") / run_name(parts.run_file, definitions)
    prepare = partial(prepare_folder, folder, parts.run_file, resume_foreign=resume_foreign, shard=shard)
    return ShardResult(folder=folder, counts=asyncio.run(_run_alone(folder, parts, shard, count, progress, prepare)))


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
    seal = code_seal(run_file.definitions)
    leaderboard = asyncio.run(finish(folder, run_file, trust=seal is not None and is_vouched_for(folder, seal)))
    return counted(merged, leaderboard)


async def _run_alone(
    folder: Path, parts: Parts, shard: Shard, count: int, progress: Progress, prepare: Callable[[], None]
) -> ShardCounts:
    stop = Stop()
    try:
        await refuse_wrong_likelihoods(parts)
        prepare()
        parts = _within_share(folder, parts, shard, count, stop)
        with signals(stop, progress):
            finished = finished_keys(folder / "journal.jsonl")
            return await run_range(folder, parts, shard, finished, stop, progress)
    finally:
        await close_parts(parts)


def _within_share(folder: Path, parts: Parts, shard: Shard, count: int, stop: Stop) -> Parts:
    """The parts within a shard's share of the budget, less what earlier attempts at this very shard have used."""
    config = parts.run_file.config
    if not has_budget(config):
        return parts
    budget = make_budget(parts.quotes, config, stop)
    budget.allow(
        config.max_total_tokens and config.max_total_tokens / count, config.max_cost and config.max_cost / count
    )
    earlier = (path for other, path in shard_files(folder) if other == shard)
    budget.already(*spent_before(parts.model.name, parts.quotes, earlier))
    return parts._replace(model=budgeted(parts.model, parts.models.judges, parts.quotes, budget))


async def run_range(
    folder: Path, parts: Parts, shard: Shard, finished: KeySet, stop: Stop, progress: Progress
) -> ShardCounts:
    """The ordinary runner on the samples of a shard, into a new file beside those of earlier attempts."""
    config = parts.run_file.config
    positions = positions_of(shard, parts.run_file.definitions, config)
    total = sum(map(len, positions.values())) * config.repeat
    earlier = finished_in_shards(folder, shard)
    count = _Count(progress)
    # the journal's keys are of the whole run; how many of this shard are among them is known when all are made
    progress.begin(total, len(earlier), parts.run_file.definitions)
    journal = Journal(new_file(folder, shard))
    parts.models.tell(stop, progress.say)
    try:
        with Watch(config.timeout_seconds, stop, progress.say):
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
        finished=len(earlier) + count.made - broken if stop.asked or stop.interrupted else total - broken,
        failed=count.failed,
        refused=count.refused,
        made=count.made,
        interrupted=stop.interrupted,
        stopped=stop.reason,
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


def counted(merged: Merged, leaderboard: Leaderboard) -> MergeResult:
    owed = [f"{row.owed:,} of {row.total:,} attempts of `{row.task}`" for row in leaderboard.tasks if row.owed]
    if not owed:
        remove_files(merged)
    return MergeResult(leaderboard=leaderboard, added=merged.added, repeated=merged.repeated, owed=owed)
