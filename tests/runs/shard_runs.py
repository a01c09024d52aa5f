"""One shard of a run, run to its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core.types import TaskDefinition
from assay.run_config import RunConfig
from assay.runs.evaluate import RunOptions
from assay.runs.plan import PlannedRun
from assay.runs.progress import Progress, run_blocking
from assay.runs.shards import ShardResult, run_planned_shard


def run_shard(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    *,
    number: int,
    count: int,
    folder: Path | None = None,
    resume_foreign: bool = False,
    progress: Progress | None = None,
) -> ShardResult:
    options = RunOptions(folder=folder, resume_foreign=resume_foreign, progress=progress or Progress())
    return run_blocking(run_planned_shard(PlannedRun(list(definitions), config), number, count, options))
