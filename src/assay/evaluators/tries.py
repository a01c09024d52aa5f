"""How often an evaluation that failed is retried: one rule for the preflight and for the search after it."""

from __future__ import annotations

from assay.core.types import Failure
from assay.evaluators.http_service import HttpEvaluator
from assay.evaluators.llm_judge import JudgeEvaluator
from assay.evaluators.payload import AsksModels, Evaluator

TRIES = 3
"""How often an evaluation that fails is tried, for every candidate alike."""


def worth_another_try(evaluator: Evaluator, failure: Failure) -> bool:
    """Whether the same evaluation may succeed when it is made once more.

    Calls to services, and to the models of judges and tasks, have by then been retried where that may help, and a judge
    whose verdict was unusable has been called again. A text that cannot be sent stays one, and what was given up
    because the work is to end is not begun again.
    """
    if isinstance(evaluator, JudgeEvaluator) and failure.kind == "bad_output":
        return False
    if isinstance(evaluator, HttpEvaluator) and failure.kind in ("timeout", "connection"):
        return False
    if failure.retryable:
        return not isinstance(evaluator, HttpEvaluator | AsksModels)
    return failure.kind not in ("bad_candidate", "interrupted")
