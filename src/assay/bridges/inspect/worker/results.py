"""Scores an answer: the task's solvers continue from their request, then its scorer gets the final state."""

from __future__ import annotations

import math
from typing import Any

from assay.bridges.inspect.worker.loading import kept_task
from assay.bridges.inspect.worker.replay import UnansweredError, request_of, run_here, solved
from assay.bridges.process.plain import plain
from assay.bridges.process.time_limit import scores_in_time

GRADER = "mockllm/grader"
"""A model of Inspect that needs no server: it is never called."""


def score(order: dict[str, Any]) -> dict[str, Any]:
    """For each of these answers: its score, how the scorer's code failed, or its request to a grader."""
    task = kept_task(order)
    if task is None:
        return {"not_loaded": True}
    scorer = task.scorer[order["scorer"]]
    return scores_in_time(order["samples"], order["seconds"], lambda given: _score_or_question(task, scorer, given))


def _score_or_question(task: Any, scorer: Any, given: dict[str, Any]) -> dict[str, Any]:
    try:
        return run_here(_scored(task, scorer, given))
    except UnansweredError as unanswered:
        return {"asks": unanswered.request}


async def _scored(task: Any, scorer: Any, given: dict[str, Any]) -> dict[str, Any]:
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Target

    sample = Sample.model_validate(given["sample"])
    state, request = await solved(task, sample, given["answer"])
    if request["messages"] != given["messages"]:
        raise ValueError("its solvers make a different request each time they run, so that no answer can be scored")
    _grade_by(iter(given["verdicts"]), task.config)
    return _plain_score(await scorer(state, Target(sample.target)))


def _plain_score(score: Any) -> dict[str, Any]:
    from inspect_ai.scorer import value_to_float

    if score is None:
        return {"values": {}, "answer": None, "reason": "its scorer gave no score", "unscored": True}
    value = score.value
    number = float(value_to_float()(value))
    label = {"value": value} if isinstance(value, str) else {}
    return {
        "values": {"score": number if math.isfinite(number) else None, **label},
        "answer": score.answer,
        "reason": score.explanation,
        "unscored": not math.isfinite(number),
        "metadata": plain({name: each for name, each in (score.metadata or {}).items() if name != "grading"}),
    }


def _grade_by(verdicts: Any, config: Any) -> None:
    """Make the grader return these verdicts; it raises `UnansweredError` when there are no more."""
    from inspect_ai.model import GenerateConfig, ModelOutput, get_model
    from inspect_ai.model._model import init_active_model, init_model_roles
    from inspect_ai.scorer import _model

    async def generate(messages: Any, *_: Any, config: Any = None, **__: Any) -> Any:
        for verdict in verdicts:
            return ModelOutput.from_content(GRADER, verdict)
        raise UnansweredError(request_of(messages, config or GenerateConfig(), {}))

    grader = get_model(GRADER, memoize=False)
    grader.generate = generate
    init_active_model(grader, config)
    init_model_roles({"grader": grader})
    _model.get_model = lambda *_, **__: grader  # a model that the task names is not called here
