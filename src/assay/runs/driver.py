"""A run on other processes or machines: the driver cuts it into shards, lends out its limits, and merges.

Workers (`worker.py`) run the shards; an executor, such as that of Ray, keeps them busy (`executor.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from assay.catalog import resolve
from assay.core.errors import UsageError
from assay.core.journal import Journal
from assay.core.run import Stop
from assay.costs.budget import Budget, SpendingLimits
from assay.own_functions import is_here
from assay.run_file import RunFile
from assay.runs.assemble import assemble
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.evaluate import RunOptions, RunResult, begin, result_of
from assay.runs.executor import Cluster, ShardExecutor
from assay.runs.folder import prepare_folder
from assay.runs.leases import Lending
from assay.runs.listeners import Listeners
from assay.runs.plan import PlannedRun
from assay.runs.progress import Progress, signals
from assay.runs.shard_files import cut, merge_shards
from assay.runs.shards import merge_result
from assay.runs.stretches import canary_usage, open_stretch
from assay.runs.worker import payload_of

LARGEST_SHARD, SMALLEST_SHARD = 10_000, 500
"""Samples. Losing a larger one is expensive, handing out a smaller one costs more than running it."""


async def drive(run: PlannedRun, cluster: Cluster, options: RunOptions, listeners: Listeners) -> RunResult:
    """What the driver does: plan, hand out shards, merge, finish. Workers take a model by its name."""
    if run.model is not None:
        raise UsageError(
            "every node of a cluster builds the model itself: give its name (`module:name`), not an object"
        )
    if run.config.parts:
        raise UsageError(
            f"@{run.config.parts[0].suite} has a `budget` of its own inside this run, which one process keeps: "
            "run it by itself on the cluster, or leave --executor out"
        )
    for definition in run.definitions:
        if any(is_here(part.options.get("metric")) for part in definition.scorers):
            raise UsageError(
                f"every node of a cluster imports the metric itself, and nobody else can import that of task "
                f"`{definition.name}`: put it into a file and give it as `module:function`"
            )
    make_executor: Callable[[Cluster], ShardExecutor] = resolve("executor", cluster.executor, own_code=True)
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
                        await _run_shards(
                            folder,
                            run_file,
                            partial(make_executor, cluster),
                            options.shard_size,
                            lending,
                            stop,
                            progress,
                        )
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
    make_executor: Callable[[], ShardExecutor],
    shard_size: int | None,
    lending: Lending,
    stop: Stop,
    progress: Progress,
) -> None:
    executor = make_executor()
    try:
        samples = sum(run_file.config.samples_of(each) for each in run_file.definitions)
        even = -(-samples // (4 * executor.workers))  # four shards a worker, so that the last ones end together
        size = shard_size or max(SMALLEST_SHARD, min(LARGEST_SHARD, even))
        payload = payload_of(run_file, folder)
        await executor.run(
            msgspec.json.encode(payload),
            cut(samples, size),
            lending=lending,
            stop=stop,
            on_progress=progress.workers,
            say=progress.say,
        )
    finally:
        executor.close()
