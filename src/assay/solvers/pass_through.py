"""`pass_through_solver`: the answer is already there, recorded in a column; no model is called."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Failure, Message, Sample, Trace
from assay.part_options import Doc, part
from assay.prompts.written_text import as_data, as_written
from assay.snippets import views
from assay.snippets.views import chat_messages, plain, trace_items

_PART = "pass_through_solver"


@describes(SolverNeeds(asks_model=False))
@part(
    "Uses the recorded answer or trace in a column as the answer.",
    example="answer_column: answer",
    one_of=(("trace_column", "answer_column"),),
)
class PassThrough:
    """The recorded answer in a column: a conversation in `trace_column`, or its text in `answer_column`.

    What is no JSON in `trace_column` is a text as well; JSON that is no conversation fails.
    """

    def __init__(
        self,
        *,
        trace_column: Annotated[
            Annotated[str, Meta(min_length=1)] | None, Doc("The column of recorded conversations.")
        ] = None,
        answer_column: Annotated[
            Annotated[str, Meta(min_length=1)] | None, Doc("The column of answers, which are texts as they stand.")
        ] = None,
    ) -> None:
        if (trace_column is None) == (answer_column is None):
            raise UsageError("pass_through_solver needs exactly one of `trace_column` and `answer_column`")
        self._column = trace_column or answer_column or ""
        self._holds_texts = answer_column is not None

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        value = _recorded(sample, self._column, _PART, "answer" if self._holds_texts else "trace")
        if self._holds_texts or _is_plain_text(value):
            return Trace(prediction=_text(as_written(sample)[self._column]))
        items = recorded_items(sample, self._column, _PART)
        trace = views.SolverTrace(items)
        answer = trace.get_last_assistant_text()
        if answer is None and not trace.function_calls:
            raise _failure(_PART, sample, f"the trace in the column `{self._column}` holds no answer")
        return Trace(
            prediction=answer or "",
            messages=tuple(Message(**message) for message in chat_messages(items)),
            items=[plain(item) for item in items],
        )


def _is_plain_text(value: Any) -> bool:
    """Whether a recorded value is surely no trace: what begins like JSON may be one that was cut off."""
    return isinstance(value, str) and not value.lstrip().startswith(("{", "["))


def _text(value: Any) -> str:
    """What a cell says, as a template prints it."""
    plain_value = as_data(value)
    return plain_value if isinstance(plain_value, str) else msgspec.json.encode(plain_value).decode()


@describes(SolverNeeds(asks_model=False, answers=False))
class NoSolver:
    """Calls no model: for tasks that evaluate a dataset or a system."""

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        return Trace(prediction="")


def recorded_items(sample: Sample, column: str, part: str) -> list[Any]:
    """The items of a recorded trace: a mapping with `items` or `messages`, a list of either, or the JSON of one."""
    value = _recorded(sample, column, part, "trace")
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


def _recorded(sample: Sample, column: str, part: str, what: str) -> Any:
    row = sample.row or {}
    if column not in row:
        raise _failure(part, sample, f"there is no column `{column}`; columns: {', '.join(row)}")
    if row[column] is None:
        why = f": {row['error']}" if row.get("error") else ""
        raise _failure(part, sample, f"no {what} was recorded in the column `{column}`{why}")
    return row[column]


def _failure(part: str, sample: Sample, message: str) -> FailureError:
    return FailureError(
        Failure(stage="solver", part=part, kind="bad_input", message=f"sample `{sample.id}`: {message}")
    )
