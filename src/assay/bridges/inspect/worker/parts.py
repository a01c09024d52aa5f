"""Which parts of a task are supported, and what the others are called in the error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.bridges.process.problem import BridgeError

PROMPTS = frozenset(("system_message", "user_message", "assistant_message", "prompt_template", "chain_of_thought"))
ASKING = frozenset(("generate", "multiple_choice"))
GRADED = frozenset(("model_graded_qa", "model_graded_fact"))
SCORERS = frozenset(("match", "includes", "exact", "f1", "pattern", "answer", "choice", "math")) | GRADED
MEANS = frozenset(("accuracy", "mean"))
SPREADS = frozenset(("stderr", "bootstrap_stderr", "std", "var", "ci", "ci_wilson"))
"""Metrics that are uncertainties of the others; assay has its own."""
_OWN = "inspect_ai/"
_TOOLS = frozenset(("use_tools", "basic_agent", "react", "bridge", "human_agent", "human_cli"))


def refuse_unsupported(task: Any, shown: str) -> None:
    """`BridgeError` with everything that the task needs and `inspect:` does not support."""
    needs = list(dict.fromkeys([*_of_task(task), *_of_solvers(task), *_of_scorers(task), *_of_samples(task)]))
    if needs:
        raise BridgeError(
            f"`{shown}` needs what `inspect:` does not support: {'; '.join(needs)}. Run it with Inspect itself: "
            "`assay view`, `diff` and `leaderboard` read its logs"
        )


def name_of(part: Any) -> str:
    """The registered name of a solver, scorer or metric; without the package where it is Inspect's own."""
    from inspect_ai._util.registry import is_registry_object, registry_info

    if not is_registry_object(part):
        return f"{type(part).__name__} {getattr(part, '__name__', '')}".strip()
    return str(registry_info(part).name).removeprefix(_OWN)


def parameters_of(part: Any) -> dict[str, Any]:
    from inspect_ai._util.registry import registry_params

    parameters: dict[str, Any] = registry_params(part)
    return parameters


def solvers_of(task: Any) -> list[Any]:
    """The steps of the task in their order, its setup first."""
    from inspect_ai.solver import Plan
    from inspect_ai.solver._chain import unroll

    steps = [] if task.setup is None else unroll(task.setup)
    for step in task.solver.steps if isinstance(task.solver, Plan) else [task.solver]:
        steps += unroll(step)
    return steps


def metrics_of(scorer: Any) -> list[Any]:
    from inspect_ai.scorer._scorer import scorer_metrics

    metrics = scorer_metrics(scorer)
    return list(metrics) if isinstance(metrics, list | tuple) else [metrics]


def _of_task(task: Any) -> Iterator[str]:
    if task.sandbox is not None:
        yield f"a sandbox ({task.sandbox.type})"
    if task.sample_source is not None:
        yield "samples that are generated while it runs"
    for name, feature in (
        ("approval", "approval of tool calls"),
        ("cleanup", "a cleanup function"),
        ("early_stopping", "early stopping"),
        ("token_limit", "a token limit for each sample"),
        ("cost_limit", "a cost limit for each sample"),
    ):
        if getattr(task, name, None) is not None:
            yield feature
    if (task.epochs or 1) > 1:
        from inspect_ai.scorer._reducer import reducer_log_name

        for name in map(reducer_log_name, task.epochs_reducer or ()):
            if name != "mean":
                yield f"the epoch reducer `{name}`"


def _of_solvers(task: Any) -> Iterator[str]:
    answers = 0
    steps = solvers_of(task)
    for step in steps:
        name = name_of(step)
        if name in _TOOLS:
            yield f"tools or an agent (`{name}`)"
        elif name not in PROMPTS | ASKING:
            yield f"the solver `{name}`"
        elif name == "multiple_choice" and parameters_of(step).get("shuffle"):
            yield "a multiple_choice that shuffles while it asks (`shuffle_choices` of its dataset does it before)"
        elif answers and name in PROMPTS - {"system_message"}:
            yield f"the solver `{name}` after an answer"
        answers += name in ASKING
    if answers != 1 and all(name_of(step) in PROMPTS | ASKING for step in steps):
        yield f"{answers} answers to a sample, where only one is supported"


def _of_scorers(task: Any) -> Iterator[str]:
    if not task.scorer:
        yield "a scorer, for it has none"
    for scorer in task.scorer or ():
        name = name_of(scorer)
        if name not in SCORERS:
            yield f"the scorer `{name}`"
        for metric in metrics_of(scorer):
            if isinstance(metric, dict):
                yield "metrics for single values of a score"
            elif name_of(metric) not in MEANS | SPREADS or parameters_of(metric).get("to_float"):
                yield f"the metric `{name_of(metric)}`"


def _of_samples(task: Any) -> Iterator[str]:
    for sample in task.dataset:
        if sample.sandbox is not None or sample.files or sample.setup:
            yield "a sandbox for its samples"
        for message in () if isinstance(sample.input, str) else sample.input:
            kinds = [] if isinstance(message.content, str) else [part.type for part in message.content]
            yield from (f"samples with {kind}" for kind in kinds if kind != "text")
            if message.role == "tool" or (message.role == "assistant" and message.tool_calls):
                yield "samples with tool calls"
