"""One evaluation before the work begins: what would fail a thousand times should fail once, with a sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from assay.evaluators.command import CommandEvaluator
from assay.evaluators.http_service import HttpEvaluator
from assay.evaluators.payload import CandidateParts, Evaluation, Evaluator, EvaluatorError, failed
from assay.evaluators.tries import TRIES, worth_another_try

SENTINEL = "__optimize_anything_preflight__"
"""The probe's candidate: a slow evaluator may know it and answer at once with any valid score."""


async def preflight(
    evaluator: Evaluator,
    example: Mapping[str, Any] | None = None,
    task_model: str | None = None,
    *,
    components: Collection[str] = (),
    patient: Evaluator | None = None,
) -> Evaluation:
    """Evaluate the sentinel, just as candidates will be evaluated: with the example, the task model and
    its own time limit, kept running and in batches where that was requested. One that fails is tried again as in the
    search, so that a flaky evaluator may begin; one that times out or cannot be reached is not. `components` are the
    names that candidates of several texts have; the sentinel stands under each. `patient` is the same evaluator as one
    that waits when the service says "not now".

    `UsageError` when something it needs is not there, `EvaluatorError` when its answer is not a valid score.
    """
    if isinstance(evaluator, CommandEvaluator):
        evaluator.check()
    candidate = CandidateParts(dict.fromkeys(components, SENTINEL), SENTINEL) if components else SENTINEL
    try:
        return await _tried(evaluator, patient, candidate, example, task_model)
    except EvaluatorError as error:
        raise _explained(error, evaluator) from error


async def _tried(
    evaluator: Evaluator,
    patient: Evaluator | None,
    candidate: str,
    example: Mapping[str, Any] | None,
    task_model: str | None,
) -> Evaluation:
    for _ in range(TRIES - 1):
        try:
            return await _once(evaluator, candidate, example, task_model)
        except EvaluatorError as error:
            if error.failure.kind == "timeout" or error.away == "unreachable":
                raise  # the user should not wait for minutes to see this
            if patient is not None and error.failure.retryable and isinstance(evaluator, HttpEvaluator):
                answer = await patient(candidate, example, task_model)
                if evaluator.batch is None:
                    return answer
            elif error.status is not None or not worth_another_try(evaluator, error.failure):
                raise
    return await _once(evaluator, candidate, example, task_model)


async def _once(
    evaluator: Evaluator, candidate: str, example: Mapping[str, Any] | None, task_model: str | None
) -> Evaluation:
    if isinstance(evaluator, CommandEvaluator | HttpEvaluator) and evaluator.batch is not None:
        return await _batch(evaluator, evaluator.payload(candidate, example, task_model), evaluator.batch)
    return await evaluator(candidate, example, task_model)


async def _batch(evaluator: CommandEvaluator | HttpEvaluator, payload: dict[str, Any], size: int) -> Evaluation:
    """Two at once, not retried one by one: an evaluator that answers only the first one fails here."""
    results = await evaluator.send_batch([payload] * min(size, 2))
    evaluations = []
    for result in results:
        if isinstance(result, EvaluatorError):
            raise result
        evaluations.append(result)
    return evaluations[0]


def notes(evaluator: Evaluator) -> list[str]:
    """What a user should know before the work begins: how the evaluator is called, and which variables it misses."""
    withheld = evaluator.withheld_in_words() if isinstance(evaluator, CommandEvaluator) else None
    return [note for note in (in_words(evaluator), withheld) if note is not None]


def in_words(evaluator: Evaluator) -> str | None:
    """How an evaluator will be called, where that is not the default of protocol v2."""
    if not isinstance(evaluator, CommandEvaluator | HttpEvaluator) or not evaluator.ways:
        return None
    return f"{evaluator.name}: {' and '.join(evaluator.ways)}"


def _explained(error: EvaluatorError, evaluator: Evaluator) -> EvaluatorError:
    """The same error with the flags in use and how to do without: the evaluator may only not support them."""
    hints = [f"This was the preflight: an evaluation of the candidate `{SENTINEL}`, before the work begins"]
    if error.failure.kind == "timeout":
        hints.append("it has the time limit of every evaluation (--evaluator-timeout); --no-preflight skips it")
    if (how := in_words(evaluator)) is not None:
        hints.append(f"{how}, as requested; without that option it gets plain requests of protocol v2")
    seen = error.failure.message.removeprefix(f"{evaluator.name}: ")
    message = f"{seen}{'' if seen.endswith(('.', '?', '!')) else '.'} {'; '.join(hints)}."
    made = failed(evaluator.name, error.failure.kind, message, error.side_info, retryable=error.failure.retryable)
    return EvaluatorError(made.failure, made.side_info, away=error.away, status=error.status, headers=error.headers)
