"""Jobs of the tiny model, run in a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.models.embedded.batch import Batch, BatchJob, Writing
from assay.models.embedded.engine import Engine

PROMPTS = [[5, 9, 17], [200], [40, 41, 42, 43, 44, 45, 46], [5, 9, 17, 18], [99, 3, 99, 3]]


def finish(engine: Engine, jobs: Iterable[BatchJob], slots: int) -> None:
    batch = Batch(engine, slots)
    for job in jobs:
        batch.add(job)
    finished: list[BatchJob] = []
    while batch.busy:
        finished += batch.step()
    assert len(finished) == len(set(map(id, finished)))


def written(engine: Engine, slots: int, **options: Any) -> list[list[int]]:
    jobs = [Writing(key=n, prompt=prompt, most_tokens=6 + n, **options) for n, prompt in enumerate(PROMPTS)]
    finish(engine, jobs, slots)
    return [job.tokens for job in jobs]
