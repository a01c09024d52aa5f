"""`pass_through_solver`: the answer is already there, as a recorded trace in a column; no model is called."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError
from assay.core.seams import Model
from assay.core.types import Failure, Message, Sample, Trace
from assay.part_options import Doc, part
from assay.snippets import views
from assay.snippets.views import chat_messages, plain, trace_items


@describes(SolverNeeds(asks_model=False))
@part("Uses the recorded trace in a column as the answer.", example="trace_column: trace")
class PassThrough:
    """The recorded trace in a column, as the answer."""

    def __init__(self, *, trace_column: Annotated[str, Meta(min_length=1), Doc("The column.")]) -> None:
        self._column = trace_column

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        items = recorded_items(sample, self._column, "pass_through_solver")
        trace = views.SolverTrace(items)
        answer = trace.get_last_assistant_text()
        if answer is None and not trace.function_calls:
            raise _failure("pass_through_solver", sample, f"the trace in the column `{self._column}` holds no answer")
        return Trace(
            prediction=answer or "",
            messages=tuple(Message(**message) for message in chat_messages(items)),
            items=[plain(item) for item in items],
        )


@describes(SolverNeeds(asks_model=False, answers=False))
class NoSolver:
    """Calls no model: for tasks that evaluate a dataset or a system."""

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        return Trace(prediction="")


def recorded_items(sample: Sample, column: str, part: str) -> list[Any]:
    """The items of a recorded trace: a mapping with `items` or `messages`, a list of either, or the JSON of one."""
    row = sample.row or {}
    if column not in row:
        raise _failure(part, sample, f"there is no column `{column}`; columns: {', '.join(row)}")
    value = row[column]
    if value is None:
        why = f": {row['error']}" if row.get("error") else ""
        raise _failure(part, sample, f"no trace was recorded in the column `{column}`{why}")
    try:
        if isinstance(value, str):
            value = msgspec.json.decode(value)
        if isinstance(value, dict):
            value = value["items"] if "items" in value else trace_items(value["messages"])
        if value and all(isinstance(item, dict) and "type" not in item for item in value):
            value = trace_items(value)
        return views.SolverTrace(value).items
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"the column `{column}` holds no trace ({type(error).__name__}: {error})"
        raise _failure(part, sample, message) from error


def _failure(part: str, sample: Sample, message: str) -> FailureError:
    return FailureError(
        Failure(stage="solver", part=part, kind="bad_input", message=f"sample `{sample.id}`: {message}")
    )
