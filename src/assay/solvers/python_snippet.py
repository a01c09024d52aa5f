"""`python` solver: the author's `async def run_solver(sample, model, trace)`, in a process of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Trace
from assay.snippets.payload import output_of, plain_message
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet
from assay.snippets.views import SolverTrace, chat_messages, trace_items
from assay.solvers.single_turn import reply
from assay.solvers.templated import refuse_other_model


class PythonSolver:
    """The author's `run_solver(sample, model, trace)`, in a worker process with a time limit.

    It asks the model over its pipe.
    """

    def __init__(
        self,
        *,
        run_solver_snippet: str,
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self._snippet = Snippet(
            run_solver_snippet,
            function="run_solver",
            stage="solver",
            part="python",
            time_limit_seconds=time_limit_seconds,
            context=context,
        )

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        completions: list[Completion] = []

        async def predict(asked: dict[str, Any]) -> dict[str, Any]:
            completion = await model.generate(_request(asked))
            completions.append(completion)
            return {**output_of(completion), "items": trace_items([plain_message(reply(completion))])}

        solved = await self._snippet.call(
            {"value": sample.row or {}}, {"model": model.name}, {"trace": None}, predict=predict
        )
        if solved["text"] is None and not completions:
            raise FailureError(
                Failure(
                    stage="solver",
                    part="python",
                    kind="bad_output",
                    message=f"sample `{sample.id}`: run_solver returned a trace without an answer",
                )
            )
        text = solved["text"] if solved["text"] is not None else completions[-1].text
        return _trace(text, solved["items"], completions)

    async def aclose(self) -> None:
        await self._snippet.aclose()


def _request(asked: dict[str, Any]) -> Request:
    extra = dict(asked.get("extra") or {})
    try:
        refuse_other_model(extra)
    except ValueError as error:
        raise FailureError(Failure(stage="solver", part="python", kind="bad_input", message=str(error))) from error
    known = {name: extra.pop(name) for name in ("temperature", "top_p", "max_tokens", "seed") if name in extra}
    for name in ("tools", "response_format"):
        if name in extra:
            known[name] = extra.pop(name)
    if "stop" in extra:
        stop = extra.pop("stop")
        known["stop"] = (stop,) if isinstance(stop, str) else tuple(stop or ())
    if "prompt" in asked:
        return Request(prompt=asked["prompt"], extra=extra or None, **known)
    return Request(messages=msgspec.convert(asked["messages"], tuple[Message, ...]), extra=extra or None, **known)


def _trace(text: str, items: list[dict[str, Any]] | None, completions: list[Completion]) -> Trace:
    if items is None:
        return Trace(prediction=text, completions=tuple(completions))
    messages = tuple(Message(**message) for message in chat_messages(SolverTrace(items).items))
    return Trace(prediction=text, messages=messages, completions=tuple(completions), items=items)
