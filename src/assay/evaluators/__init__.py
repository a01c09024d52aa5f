"""Evaluator protocol v2: a command, an HTTP service or a judge model that scores one candidate text.

An evaluator is an async callable: `await evaluator(candidate, example, task_model)` gives an `Evaluation`, or raises
`EvaluatorError` (a `FailureError`) for everything that is not a valid score. A failure is never the number 0.
"""

from assay.evaluators.command import command_evaluator
from assay.evaluators.dataset import DatasetError, load_dataset
from assay.evaluators.http_service import http_evaluator
from assay.evaluators.llm_judge import llm_judge_evaluator
from assay.evaluators.payload import Evaluation, Evaluator, EvaluatorError, validate_evaluator_payload
from assay.evaluators.preflight import preflight

__all__ = [
    "DatasetError",
    "Evaluation",
    "Evaluator",
    "EvaluatorError",
    "command_evaluator",
    "http_evaluator",
    "llm_judge_evaluator",
    "load_dataset",
    "preflight",
    "validate_evaluator_payload",
]
