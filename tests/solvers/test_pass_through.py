"""`pass_through_solver`: recorded traces as answers, in the forms people record them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.scripted import Scripted

from assay.core.errors import FailureError, UsageError
from assay.core.types import Sample, Trace
from assay.snippets.payload import solver_output
from assay.solvers.pass_through import NoSolver, PassThrough

ITEMS = [
    {"type": "function_call", "call_id": "0", "name": "setup", "arguments": "{}"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "weather?"}]},
    {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"city": "Bern"}'},
    {"type": "function_call_output", "call_id": "1", "output": "sunny"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}], "created_by": "x"},
]
MESSAGES = [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": "Sunny."}]


def passed(value: Any) -> Trace:
    model = Scripted([])
    trace = asyncio.run(PassThrough(trace_column="trace")(Sample(id="1", row={"trace": value}), model))
    assert model.requests == []
    return trace


@pytest.mark.parametrize(
    "value",
    [{"items": ITEMS}, ITEMS, json.dumps({"items": ITEMS}), {"messages": MESSAGES}, MESSAGES, json.dumps(MESSAGES)],
)
def test_a_trace_is_read_in_every_form(value: Any) -> None:
    trace = passed(value)
    assert trace.prediction == "Sunny."
    assert (trace.messages or ())[-1].content == "Sunny."


def test_a_trace_without_an_answer_has_an_empty_prediction() -> None:
    assert passed({"items": ITEMS[:3]}).prediction == ""


def test_a_trace_in_which_only_the_user_speaks_is_a_failure_and_no_empty_answer() -> None:
    with pytest.raises(FailureError, match="holds no answer"):
        passed({"messages": MESSAGES[:1]})
    assert passed({"messages": [*MESSAGES[:1], {"role": "assistant", "content": ""}]}).prediction == ""


def test_a_row_whose_recording_failed_says_why() -> None:
    sample = Sample(id="1", row={"trace": None, "error": "rate limit"})
    with pytest.raises(FailureError, match="sample `1`: no trace was recorded in the column `trace`: rate limit"):
        asyncio.run(PassThrough(trace_column="trace")(sample, Scripted([])))


@pytest.mark.parametrize("text", ["Sunny.", "", "3", "  two\nlines "])
def test_a_plain_text_is_an_answer(text: str) -> None:
    assert passed(text) == Trace(prediction=text)


@pytest.mark.parametrize(
    ("cell", "answer"), [("[1] see there", "[1] see there"), (3.5, "3.5"), (True, "true"), ({"a": 1}, '{"a":1}')]
)
def test_an_answer_column_is_what_its_cell_says(cell: Any, answer: str) -> None:
    sample = Sample(id="1", row={"answer": cell})
    assert asyncio.run(PassThrough(answer_column="answer")(sample, Scripted([]))) == Trace(prediction=answer)


def test_a_missing_answer_is_a_failure() -> None:
    sample = Sample(id="1", row={"answer": None})
    with pytest.raises(FailureError, match="no answer was recorded in the column `answer`"):
        asyncio.run(PassThrough(answer_column="answer")(sample, Scripted([])))


@pytest.mark.parametrize("given", [{}, {"trace_column": "a", "answer_column": "b"}])
def test_it_is_the_one_column_or_the_other(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="exactly one of `trace_column` and `answer_column`"):
        PassThrough(**given)


@pytest.mark.parametrize("value", ['{"items": [', "[cut off", {"x": 1}, 3, [1], None])
def test_anything_else_is_a_failure(value: Any) -> None:
    with pytest.raises(FailureError) as caught:
        passed(value)
    assert caught.value.failure.stage == "solver"


def test_the_view_of_a_trace_leaves_the_preamble_out() -> None:
    trace = solver_output(passed({"items": ITEMS})).trace
    assert [call.name for call in trace.function_calls] == ["look"]
    assert len(trace.preamble) == 1
    assert trace.get_function_call_arguments(trace.function_calls[0]).city == "Bern"
    assert trace.get_function_output_text(trace.get_function_output_for_call("1")) == "sunny"
    assert trace.get_function_call_pairs()[0][1].output == "sunny"
    assert trace.turns[0].function_calls[0].name == "look"
    assert trace.get_last_user_text() == "weather?"
    assert trace.get_first_system_prompt() is None
    # content is a list of parts that reads as text
    message = trace.assistant_messages[0]
    assert "Sunny" in message.content
    assert str(message.content) == "Sunny."
    assert message.content[0].text == "Sunny."
    assert message.created_by == "x"


def test_without_a_solver_no_model_is_called() -> None:
    assert asyncio.run(NoSolver()(Sample(id="1"), Scripted([]))).prediction == ""
