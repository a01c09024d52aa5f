"""Runs a task's solvers over a sample with the answer known so far: its next request, or its final state."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from assay.bridges.inspect.worker.parts import solvers_of
from assay.bridges.process.problem import BridgeError

MODEL = "assay/model"
Result = TypeVar("Result")
PASSED = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop_seqs": "stop",
    "reasoning_effort": "reasoning_effort",
}
"""Generation settings of Inspect -> their names in a request."""
PASSED_AS_THEY_ARE = frozenset(("frequency_penalty", "presence_penalty", "logit_bias", "top_k"))
OF_THE_RUN = frozenset((
    "max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections", "adaptive_connections",
    "cache_prompt", "cache", "batch", "parallel_tool_calls", "internal_tools", "max_tool_output", "system_message",
    "reasoning_history", "fail_on_refusal",
))  # fmt: skip
"""Settings about how requests are sent, which assay handles, or that are in the messages already."""
_STOPS = {"length": "max_tokens", "content_filter": "content_filter"}


class UnansweredError(BaseException):
    """A request without an answer yet. Not an `Exception`, so that no solver can swallow it."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__("unanswered")
        self.request = request


def run_here(work: Coroutine[Any, Any, Result]) -> Result:
    """What the coroutine returns, run in an event loop of its own while the process's own loop waits."""
    outer = asyncio.events._get_running_loop()
    asyncio.events._set_running_loop(None)
    try:
        return asyncio.run(work)
    finally:
        asyncio.events._set_running_loop(outer)


async def solved(task: Any, sample: Any, answer: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """The state after the task's solvers, and their request; `UnansweredError` where it has no answer."""
    from inspect_ai._eval.task.util import sample_messages
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState
    from inspect_ai.solver._task_state import set_sample_state
    from inspect_ai.util._store import init_subtask_store

    state = TaskState(
        model=ModelName(MODEL),
        sample_id=sample.id or 0,
        epoch=1,
        input=sample.input,
        target=Target(sample.target),
        choices=sample.choices,
        messages=sample_messages(sample),
        metadata=dict(sample.metadata or {}),
    )
    set_sample_state(state)
    init_subtask_store(state.store)
    request: dict[str, Any] = {}

    async def generate(state: Any, tool_calls: str = "loop", **settings: Any) -> Any:
        request.update(request_of(state.messages, task.config, settings))
        if answer is None:
            raise UnansweredError(request)
        state.output = ModelOutput.from_content(MODEL, answer["text"], _STOPS.get(answer["finish_reason"], "stop"))
        state.messages.append(state.output.message)
        return state

    for step in solvers_of(task):
        state = await step(state, generate)
        if state.completed:
            break
    return state, request


def request_of(messages: list[Any], config: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """What Inspect would send: messages and settings, under assay's names."""
    from inspect_ai.model import GenerateConfig

    merged = config.merge(GenerateConfig(**{name: each for name, each in settings.items() if each is not None}))
    options = merged.model_dump(exclude_none=True)
    turns = [{"role": message.role, "content": _content(message)} for message in messages]
    if options.get("system_message"):
        turns.insert(0, {"role": "system", "content": options["system_message"]})
    return {"messages": turns, "generation": _generation(options)}


def _generation(options: dict[str, Any]) -> dict[str, Any]:
    generation: dict[str, Any] = {}
    for name, value in options.items():
        if name in PASSED:
            generation[PASSED[name]] = value
        elif name in PASSED_AS_THEY_ARE:
            generation.setdefault("extra", {})[name] = value
        elif name not in OF_THE_RUN:
            raise BridgeError(f"the generation setting `{name}` is not supported")
    return generation


def _content(message: Any) -> str:
    """The text of a message; several parts are joined by line breaks, as in `message.text`."""
    return str(message.text)
