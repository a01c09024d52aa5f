"""One evaluation before the work begins: what would fail a thousand times should fail once, with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.evaluators.command import CommandEvaluator
from assay.evaluators.http_service import HttpEvaluator
from assay.evaluators.payload import Evaluation, Evaluator

SENTINEL = "__optimize_anything_preflight__"
"""The probe's candidate: a slow evaluator may know it and answer at once with any valid score."""

PREFLIGHT_SECONDS = 10.0


async def preflight(
    evaluator: Evaluator,
    example: Mapping[str, Any] | None = None,
    task_model: str | None = None,
    *,
    timeout_seconds: float = PREFLIGHT_SECONDS,
) -> Evaluation:
    """Ask the evaluator for the sentinel, just as it will be asked for candidates, example and task model included.

    `UsageError` when something it needs is not there, `EvaluatorError` when its answer is not a valid score.
    """
    if isinstance(evaluator, CommandEvaluator):
        evaluator.check()
    if isinstance(evaluator, CommandEvaluator | HttpEvaluator):
        evaluator = evaluator.with_timeout(timeout_seconds)
        try:
            return await evaluator(SENTINEL, example, task_model)
        finally:
            await evaluator.close()
    return await evaluator(SENTINEL, example, task_model)
