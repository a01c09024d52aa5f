"""How a task's scorer scores an answer: the solvers continue from their request, then the scorer gets the result."""

from __future__ import annotations

import math
from typing import Any

from assay.tasks.inspect.worker.loading import kept_task
from assay.tasks.inspect.worker.replay import AskedError, request_of, run_here, solved
from assay.tasks.library.plain import plain
from assay.tasks.library.time_limit import scores_in_time

GRADER = "mockllm/grader"
"""A model of Inspect that needs no server: it is never called."""


def score(order: dict[str, Any]) -> dict[str, Any]:
    """For each of some answers: its score, how the scorer's code failed, or what it asks its grader."""
    task = kept_task(order)
    if task is None:
        return {"not_loaded": True}
    scorer = task.scorer[order["scorer"]]
    return scores_in_time(order["samples"], order["seconds"], lambda given: _score_or_question(task, scorer, given))


def _score_or_question(task: Any, scorer: Any, given: dict[str, Any]) -> dict[str, Any]:
    try:
        return run_here(_scored(task, scorer, given))
    except AskedError as asked:
        return {"asks": asked.request}


async def _scored(task: Any, scorer: Any, given: dict[str, Any]) -> dict[str, Any]:
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Target

    sample = Sample.model_validate(given["sample"])
    state, asked = await solved(task, sample, given["answer"])
    if asked["messages"] != given["asked"]:
        raise ValueError("its solvers ask something else each time they run, so that no answer can be scored")
    _grade_by(iter(given["verdicts"]), task.config)
    made = await scorer(state, Target(sample.target))
    return _plain_score(made)


def _plain_score(made: Any) -> dict[str, Any]:
    from inspect_ai.scorer import value_to_float

    if made is None:
        return {"values": {}, "answer": None, "reason": "its scorer gave no score", "unscored": True}
    value = made.value
    number = float(value_to_float()(value))
    label = {"value": value} if isinstance(value, str) else {}
    return {
        "values": {"score": number if math.isfinite(number) else None, **label},
        "answer": made.answer,
        "reason": made.explanation,
        "unscored": not math.isfinite(number),
        "metadata": plain({name: each for name, each in (made.metadata or {}).items() if name != "grading"}),
    }


def _grade_by(verdicts: Any, config: Any) -> None:
    """Model calls inside this context get these answers; `AskedError` when there are no more."""
    from inspect_ai.model import GenerateConfig, ModelOutput, get_model
    from inspect_ai.model._model import init_active_model, init_model_roles
    from inspect_ai.scorer import _model

    async def generate(messages: Any, *_: Any, config: Any = None, **__: Any) -> Any:
        for verdict in verdicts:
            return ModelOutput.from_content(GRADER, verdict)
        raise AskedError(request_of(messages, config or GenerateConfig(), {}))

    grader = get_model(GRADER, memoize=False)
    grader.generate = generate
    init_active_model(grader, config)
    init_model_roles({"grader": grader})
    _model.get_model = lambda *_, **__: grader  # a model that the task names is not asked from here
