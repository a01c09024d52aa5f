"""A trace as the plain data that views are made of, on either side of the worker's pipe."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.types import Completion, Message, Trace
from assay.snippets.views import SolverOutput, chat_answer, chat_messages, trace_items


def solver_output(trace: Trace) -> SolverOutput:
    """What templates and filters call `solver_output`."""
    return SolverOutput(payload_of(trace))


def payload_of(trace: Trace) -> dict[str, Any]:
    items = trace.items
    if items is None:
        messages = full_conversation(trace)
        items = trace_items(messages)
    else:
        messages = chat_messages(SolverOutput({"items": items}).trace.items)
    return {
        "prediction": trace.prediction,
        "messages": messages,
        "items": items,
        "outputs": [output_of(completion) for completion in trace.completions],
    }


def full_conversation(trace: Trace) -> list[dict[str, Any]]:
    """Every message, whatever the last one is; of a plain prompt, the question and its answer."""
    if trace.messages:
        return [plain_message(message) for message in trace.messages]
    question = [] if trace.prompt is None else [{"role": "user", "content": trace.prompt}]
    answer: dict[str, Any] = {"role": "assistant", "content": trace.prediction}
    if trace.completions and trace.completions[-1].tool_calls:
        answer["tool_calls"] = trace.completions[-1].tool_calls
    return [*question, answer]


def plain_message(message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(message)
    fields.setdefault("content", "")
    return fields


def output_of(completion: Completion) -> dict[str, Any]:
    """A completion in the shape of a chat answer, with the rest of the server's response."""
    data = chat_answer(completion.text)
    for name, value in (completion.raw or {}).items():
        if name == "references":
            data["choices"][0]["references"] = value
        else:
            data[name] = value
    if completion.tool_calls:
        data["choices"][0]["message"].setdefault("tool_calls", completion.tool_calls)
    data.setdefault(
        "usage", {"num_prompt_tokens": completion.tokens_in, "num_completion_tokens": completion.tokens_out}
    )
    return {"text": completion.text, "data": data}
