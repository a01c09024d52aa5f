"""The life of one sample: ask, score, write down what happened. The only place where an exception becomes a failure."""

from __future__ import annotations

import traceback
from time import perf_counter

from assay.core.errors import FailureError
from assay.core.fingerprint import short_fingerprint
from assay.core.seams import Model, Work
from assay.core.task import Task
from assay.core.types import Failure, Record, Sample, Score, Stage, Trace
from assay.core.usage import open_account, usage_of


def attempt_key(task_name: str, sample: Sample, attempt: int) -> str:
    """The identity of an attempt: what is asked of whom, never a position in a file."""
    return short_fingerprint((task_name, sample, attempt))


async def make_attempt(work: Work, model: Model) -> Record:
    """Take one sample once through its task. Never raises for what a part does; what broke is in the record."""
    task: Task = work.task
    sample = work.sample
    started = perf_counter()
    account = open_account()
    trace: Trace | None = None
    scores: tuple[Score, ...] = ()
    failures: tuple[Failure, ...] = ()
    excluded: tuple[str, ...] = ()
    if task.unusable is not None:
        failures = (task.unusable,)
    else:
        try:
            trace = await task.solver(sample, model)
        except Exception as error:
            failures = (failure_of(error, "solver", task.definition.solver.use),)
    if trace is not None:
        scores, failures, excluded = await score_trace(task, sample, trace)
    return Record(
        key=work.key,
        task=task.definition.name,
        sample_id=sample.id,
        index=work.position,
        attempt=work.attempt,
        targets=sample.targets,
        metadata=sample.metadata,
        trace=trace,
        scores=scores,
        failures=failures,
        excluded=excluded,
        seconds=round(perf_counter() - started, 6),
        usage=usage_of(account, trace) if account else (),
    )


async def score_trace(
    task: Task, sample: Sample, trace: Trace
) -> tuple[tuple[Score, ...], tuple[Failure, ...], tuple[str, ...]]:
    """Let every scorer look, then every action rule: scores, what broke, and the rules that applied."""
    scores: list[Score] = []
    failures: list[Failure] = []
    excluded: list[str] = []
    for scorer in task.scorers_for(sample):
        try:
            scores.append(await scorer(sample, trace))
        except Exception as error:
            failures.append(failure_of(error, "scorer", scorer.name))
    for key, applies in task.actions.items():
        try:
            if not failures and applies(sample, trace, tuple(scores)):
                excluded.append(key)
        except Exception as error:
            failures.append(failure_of(error, "action", key))
    return tuple(scores), tuple(failures), tuple(excluded)


def failure_of(error: Exception, stage: Stage, part: str) -> Failure:
    """The failure an exception stands for: its own if it carries one, else kind `exception` and where it was raised."""
    if isinstance(error, FailureError):
        return error.failure
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    message = f"{type(error).__name__}: {error}"[:2000] + where
    return Failure(stage=stage, part=part, kind="exception", message=message)
