"""A run past one process: one shard of it, and the merge of shards. `runs/driver.py` hands shards to a cluster.

A shard is run by the ordinary runner into a journal file of its own; merging takes every finished attempt once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from assay.core.journal import Journal
from assay.core.run import Stop
from assay.core.task import REFUSED_HERE
from assay.core.types import Record
from assay.results.board.board_types import Leaderboard
from assay.results.report_settings import View
from assay.run_file import read_run_file
from assay.runs.assemble import Parts, assemble
from assay.runs.earlier_attempts import EarlierAttempts, InEither
from assay.runs.evaluate import RunOptions, on_records_for
from assay.runs.finish import finish
from assay.runs.folder import prepare_folder
from assay.runs.listeners import Listeners
from assay.runs.local import run_here
from assay.runs.plan import PlannedRun
from assay.runs.progress import Progress, run_blocking, signals
from assay.runs.shard_files import (
    Merged,
    Shard,
    merge_shards,
    new_file,
    positions_of,
    remove_files,
    shard_files,
    shard_of,
)
from assay.runs.stretches import OpenStretch, canary_usage, open_stretch
from assay.trust.consent import code_seal
from assay.user.seal import is_sealed


class ShardCounts(Struct, frozen=True, kw_only=True):
    """The state of one shard: all that a worker returns, whatever the size of the shard."""

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
    """The run's folder, and the state of this shard."""

    folder: Path
    counts: ShardCounts


class MergeResult(Struct, frozen=True, kw_only=True):
    """What the merge took in, and the leaderboard of all that is there now."""

    leaderboard: Leaderboard
    added: int
    repeated: int
    remaining: list[str]
    """The samples of each task that remain, in words."""


async def run_planned_shard(run: PlannedRun, number: int, count: int, options: RunOptions) -> ShardResult:
    """Run shard `number` of `count`, or resume it. Limits and budgets are the run's: a shard has its share."""
    stop, progress = Stop(), options.progress
    shard = shard_of(sum(map(run.config.samples_of, run.definitions)), number, count)
    async with assemble(run.definitions, run.config, model=run.model, command=options.command) as parts:
        parts.models.keep_to_share(1 / count)
        await parts.make_ready(progress)
        folder = options.folder_of(parts.run_file)
        prepare_folder(folder, parts.run_file, resume_foreign=options.resume_foreign, shard=shard)
        parts.belong_to(folder)
        # less what earlier attempts at this shard have used
        earlier = [path for other, path in shard_files(folder) if other == shard]
        parts.keep_to_budget(stop, earlier, sharers=count, canaries=canary_usage(folder, shard))
        with signals(stop, progress):
            finished = EarlierAttempts(folder / "journal.jsonl")
            stretch = await open_stretch(
                folder, parts, options.accepted, stop, progress, made=len(finished), shard=shard
            )
            listeners = Listeners(options.listeners, progress.warn)
            counts = await run_range(folder, parts, shard, finished, stop, progress, stretch, listeners)
    return ShardResult(folder=folder, counts=counts)


def merge_run(folder: Path, view: View | None = None) -> MergeResult:
    """Take what the shards of a run have finished into its journal, and make the leaderboard of it.

    The shard files are removed once every attempt of the run is in the journal, and kept for the next merge before.
    """
    run_file = read_run_file(folder)
    with closing(Journal(folder / "journal.jsonl")) as journal:
        merged = merge_shards(folder, journal)
    seal = code_seal(run_file.definitions)
    leaderboard = run_blocking(finish(folder, view, trust=seal is not None and is_sealed(folder, seal)))
    return merge_result(merged, leaderboard)


async def run_range(
    folder: Path,
    parts: Parts,
    shard: Shard,
    finished: EarlierAttempts,
    stop: Stop,
    progress: Progress,
    stretch: OpenStretch,
    listeners: Listeners | None = None,
) -> ShardCounts:
    """The ordinary runner on the samples of a shard, into a new file next to those of earlier attempts."""
    positions = positions_of(shard, parts.run_file.definitions, parts.config)
    total = sum(len(part) * parts.config.repeat_of(name) for name, part in positions.items())
    earlier = EarlierAttempts(*(path for other, path in shard_files(folder) if other.overlaps(shard)))
    count = _Count(on_records_for(progress, listeners or Listeners((), progress.warn)))
    # the journal's keys are of the whole run; how many of this shard are among them is known when all are made
    progress.begin(total, len(earlier), parts.run_file.definitions)
    journal = Journal(new_file(folder, shard), own_parts=parts.own_parts)
    try:
        known = InEither(earlier, finished)
        await run_here(parts, journal, known, stop, progress, stretch, on_records=count.records, positions=positions)
    finally:
        progress.end()
        journal.close()
        if not count.made:
            journal.path.unlink(missing_ok=True)
    broken = count.failed + count.refused
    return ShardCounts(
        planned=total,
        finished=len(earlier) + count.made - broken if stop.requested or stop.interrupted else total - broken,
        failed=count.failed,
        refused=count.refused,
        made=count.made,
        interrupted=stop.interrupted,
        stopped=stop.reason,
    )


class _Count:
    """How many attempts were made and how many of them failed, passed on to the progress line."""

    def __init__(self, hear: Callable[[list[Record]], None]) -> None:
        self._hear = hear
        self.made = self.failed = self.refused = 0

    def records(self, records: list[Record]) -> None:
        self.made += len(records)
        for record in records:
            if record.failures:
                refused = record.failures[0].kind == REFUSED_HERE
                self.refused += refused
                self.failed += not refused
        self._hear(records)


def merge_result(merged: Merged, leaderboard: Leaderboard) -> MergeResult:
    remaining = [
        f"{row.remaining:,} of {row.total:,} attempts of `{row.task}`" for row in leaderboard.tasks if row.remaining
    ]
    if not remaining:
        remove_files(merged)
    return MergeResult(leaderboard=leaderboard, added=merged.added, repeated=merged.repeated, remaining=remaining)
