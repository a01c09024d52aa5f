"""`python` solver: the author's `async def run_solver(sample, model, trace)`, in a process of its own."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Trace
from assay.part_options import PythonOption, part
from assay.snippets.payload import output_of, plain_message
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet
from assay.snippets.views import SolverTrace, chat_messages, trace_items
from assay.solvers.single_turn import reply
from assay.solvers.templated import request_fields


@describes(SolverNeeds(runs="snippet"))
@part(
    "The author's `async def run_solver(sample, model, trace)`.",
    example="""\
type: python
run_solver_snippet: |
  async def run_solver(sample, model, trace):
      trace.append_user_message(sample["question"])
      trace.add_model_response(await model.predict(trace.items))
      return trace
""",
)
class PythonSolver:
    """The author's `run_solver(sample, model, trace)`, in a worker process with a time limit.

    It calls the model over its pipe.
    """

    def __init__(
        self,
        *,
        run_solver_snippet: Annotated[
            str, PythonOption("Asks `model`, returns `trace`.", "run_solver", ("sample", "model", "trace"))
        ],
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self._snippet = Snippet(
            run_solver_snippet,
            function="run_solver",
            stage="solver",
            part="python",
            time_limit_seconds=time_limit_seconds,
            takes=3,
            context=context,
        )

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        completions: list[Completion] = []

        async def predict(message: dict[str, Any]) -> dict[str, Any]:
            completion = await model.generate(_request(message))
            completions.append(completion)
            return {**output_of(completion), "items": trace_items([plain_message(reply(completion))])}

        solved = await self._snippet.call(
            {"value": sample.row or {}}, {"model": model.name}, {"trace": None}, predict=predict
        )
        if solved["text"] is None and not completions:
            raise _failure("bad_output", f"sample `{sample.id}`: run_solver returned a trace without an answer")
        text = solved["text"] if solved["text"] is not None else completions[-1].text
        return _trace(text, solved["items"], completions)

    async def aclose(self) -> None:
        await self._snippet.aclose()


def _request(message: dict[str, Any]) -> Request:
    """The request that a snippet sends over its pipe."""
    try:
        fields = request_fields(message.get("extra") or {})
    except ValueError as error:
        raise _failure("bad_input", str(error)) from error
    if "prompt" in message:
        return Request(prompt=message["prompt"], **fields)
    return Request(messages=msgspec.convert(message["messages"], tuple[Message, ...]), **fields)


def _trace(text: str, items: list[dict[str, Any]] | None, completions: list[Completion]) -> Trace:
    if items is None:
        return Trace(prediction=text, completions=tuple(completions))
    messages = tuple(Message(**message) for message in chat_messages(SolverTrace(items).items))
    return Trace(prediction=text, messages=messages, completions=tuple(completions), items=items)


def _failure(kind: str, message: str) -> FailureError:
    return FailureError(Failure(stage="solver", part="python", kind=kind, message=message))
