"""The life of one sample: solve, score, record. The only place where an exception becomes a failure."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from time import perf_counter, time
from typing import Any, NamedTuple

import msgspec

from assay.core.describe import Range
from assay.core.draws import Draws
from assay.core.errors import FailureError
from assay.core.fingerprint import short_fingerprint
from assay.core.seams import Model, Work
from assay.core.task import Task
from assay.core.types import Failure, Record, Request, Sample, Score, Stage, Trace
from assay.core.usage import Account, repeats, usage_of
from assay.storage.packed_text import with_packed_texts
from assay.text.tracebacks import describe_exception


def attempt_key(task_name: str, sample: Sample, attempt: int) -> str:
    """The identity of an attempt: task, sample and repetition, never a position in a file."""
    return short_fingerprint((task_name, sample, attempt))


INTERRUPTED = "interrupted"
"""The failure kind of an attempt that did not fail: it was abandoned because the run was stopped."""


async def make_attempt(work: Work, model: Model, earlier: Record | None = None) -> Record:
    """Take one sample once through its task. Errors of parts are not raised; the record has them as failures.

    Where `earlier` has an answer, no model is called, and only the scorers that gave no score are applied."""
    task: Task = work.task
    sample = work.sample
    started = perf_counter()
    trace = earlier.trace if earlier is not None else None
    last_request: Request | None = None
    scoring = Scoring()
    with Account() as account, Draws(task.definition.name, sample, work.attempt):
        if trace is None and (refused := task.unusable or task.without_score.get(sample.id)) is not None:
            scoring = Scoring(failures=(refused,))
        elif trace is None:
            try:
                trace = with_packed_texts(await (task.solve or task.solver)(sample, model))
            except BaseException as error:
                failure = failure_of(raise_unless_part_error(error), "solver", task.definition.solver.use)
                last_request = getattr(model, "last", None)
                scoring = Scoring(failures=(failure,), excluded=apply_rules(task, sample, None, ())[0])
        if trace is not None:
            scoring = await score_trace(task, sample, trace, earlier)
    seconds = perf_counter() - started - account.waited + (0.0 if earlier is None else earlier.seconds)
    return Record(
        key=work.key,
        task=task.definition.name,
        sample_id=sample.id,
        index=work.position,
        attempt=work.attempt,
        targets=sample.targets,
        metadata=sample.slices(),
        trace=trace,
        last_request=last_request.text() if last_request else None,
        scores=scoring.scores,
        failures=scoring.failures,
        excluded=scoring.excluded,
        seconds=int(seconds * 1e6) / 1e6,  # `round` is slower
        finished=int(time() * 1e3) / 1e3,
        usage=usage_of(account, trace) if account else (),
        continued=earlier is not None,
        asked_again=scoring.asked_again or {},
    )


def was_made(record: Record) -> bool:
    """Whether there is anything to record: not for an attempt that was abandoned before its first answer."""
    made = not record.failures or record.trace is not None or record.usage
    return bool(made) or all(failure.kind != INTERRUPTED for failure in record.failures)


class Scoring(NamedTuple):
    """What scorers and action rules made of a trace."""

    scores: tuple[Score, ...] = ()
    failures: tuple[Failure, ...] = ()
    excluded: tuple[str, ...] = ()
    asked_again: dict[str, int] | None = None


async def score_trace(task: Task, sample: Sample, trace: Trace, earlier: Record | None = None) -> Scoring:
    """Apply every scorer without an `earlier` score, then every action rule. A failure of one leaves the others."""
    given = {score.name: score for score in earlier.scores} if earlier is not None else {}
    scores: list[Score] = []
    failures: list[Failure] = []
    asked_again = dict(earlier.asked_again) if earlier is not None else {}
    for scorer in task.scorers_for(sample):
        before = repeats()
        try:
            score = given.get(scorer.name) or await scorer(sample, trace)
            if task.ranges and (ranges := task.ranges.get(scorer.name)) is not None:
                refuse_impossible(score, ranges)
            scores.append(score)
        except BaseException as error:
            failure = failure_of(raise_unless_part_error(error), "scorer", scorer.name)
            failures.append(msgspec.structs.replace(failure, scorer=scorer.name))
        if times := repeats() - before:
            asked_again[scorer.name] = asked_again.get(scorer.name, 0) + times
    excluded, broken = apply_rules(task, sample, trace, tuple(scores)) if task.actions else ((), ())
    # a rule that cannot be applied might have excluded the attempt, so no score of it counts
    return Scoring(tuple(scores), (*failures, *broken), excluded, asked_again)


def refuse_impossible(score: Score, ranges: Mapping[str, Range]) -> None:
    """A number that is infinite, or outside of the range that its scorer describes, breaks the score."""
    for name, value in score.values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            low, high = ranges.get(name, (-sys.float_info.max, sys.float_info.max))
            if value < low or value > high:
                what = f"outside of {low:g} to {high:g}" if name in ranges else "too large for a number"
                message = f"`{name}` is {value:g}, {what}" if isinstance(value, float) else f"`{name}` is {what}"
                raise FailureError(Failure(stage="scorer", part=score.name, kind="bad_output", message=message))


def apply_rules(
    task: Task, sample: Sample, trace: Trace | None, scores: tuple[Score, ...]
) -> tuple[tuple[str, ...], tuple[Failure, ...]]:
    """The action rules that apply, and the failures of those that could not be evaluated."""
    excluded: list[str] = []
    failures: list[Failure] = []
    for key, applies in task.actions.items():
        try:
            if applies(sample, trace, scores):
                excluded.append(key)
        except BaseException as error:
            failures.append(failure_of(raise_unless_part_error(error), "action", key))
    return tuple(excluded), tuple(failures)


def raise_unless_part_error(error: BaseException) -> BaseException:
    """Return an error of the part itself, such as `sys.exit` in a metric; raise one that ends the run."""
    task = asyncio.current_task()
    stray = isinstance(error, asyncio.CancelledError) and task is not None and not task.cancelling()
    if isinstance(error, Exception | SystemExit) or stray:
        return error
    raise error


def failure_of(error: BaseException, stage: Stage, part: str) -> Failure:
    """The failure that an exception carries; for any other exception, kind `exception` with its traceback."""
    if isinstance(error, FailureError):
        return error.failure
    description = describe_exception(error)
    return Failure(stage=stage, part=part, kind="exception", message=str(description), traceback=description.traceback)


def writable(record: Record) -> Record:
    """The record as the journal can hold it: a failure replaces a trace or a score that it cannot."""
    failures = [_in_plain_text(failure) for failure in record.failures]
    if record.trace is not None and (flaw := _flaw(record.trace, Trace)):
        failures.append(Failure(stage="solver", kind="bad_output", message=flaw))
        return msgspec.structs.replace(record, trace=None, scores=(), failures=tuple(failures))
    flaws = [(score, str(getattr(score, "name", "")), _flaw(score, Score)) for score in record.scores]
    failures += (
        Failure(stage="scorer", part=name, scorer=name, kind="bad_output", message=flaw)
        for _, name, flaw in flaws
        if flaw
    )
    scores = tuple(score for score, _, flaw in flaws if not flaw)
    return msgspec.structs.replace(record, scores=scores, failures=tuple(failures))


def _flaw(value: Any, kind: type) -> str | None:
    try:
        msgspec.json.decode(msgspec.json.encode(value), type=kind)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return f"returned no {kind.__name__} that can be written to the journal: {type(error).__name__}: {error}"
    return None


def _in_plain_text(failure: Failure) -> Failure:
    plain = [text.encode("utf-8", "backslashreplace").decode() for text in (failure.message, failure.traceback)]
    return msgspec.structs.replace(failure, message=plain[0], traceback=plain[1])
