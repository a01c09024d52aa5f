"""`multi_turn_solver`: builders, loops, and when a conversation ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.scripted import Context, Scripted

from assay.core.errors import FailureError, UsageError
from assay.core.types import Sample, Trace
from assay.part_options import info_of
from assay.snippets.payload import payload_of
from assay.solvers.multi_turn import multi_turn_solver


def say(content: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": "chat_message", "role": role, "content": content, **more}


def stop(text: str, keep: bool = True) -> dict[str, Any]:
    return {"terminate_if": {"includes": text, "keep_iteration": keep}}


GENERATE: dict[str, Any] = {"type": "generate"}


def loop(*builders: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "loop", "message_builders": list(builders), **more}


def other(*extra: str, **more: Any) -> dict[str, Any]:
    return {"type": "generate_message", "model_key": "user", "extra_input_messages": [say(e) for e in extra], **more}


def converse(
    *builders: dict[str, Any], answers: list[Any], others: list[Any] | None = None, row: dict[str, Any] | None = None
) -> tuple[Trace, Scripted, Scripted]:
    model, user = Scripted(answers), Scripted(others or [])
    solver = multi_turn_solver(message_builders=builders, context=Context({"user": user}))
    return asyncio.run(solver(Sample(id="1", row=row or {"q": "hi"}), model)), model, user


def said(trace: Trace) -> list[str]:
    return [f"{m.role}: {m.content}" for m in trace.messages or ()]


def test_messages_and_answers_follow_each_other() -> None:
    trace, model, _ = converse(
        say("be brief", "system"), say("{{ sample.q }}"), GENERATE, say("you said {{ messages[2].content }}"), GENERATE,
        answers=["one", "two"],
    )  # fmt: skip
    assert said(trace) == ["system: be brief", "user: hi", "assistant: one", "user: you said one", "assistant: two"]
    assert trace.prediction == "two"
    assert len(trace.completions) == 2
    assert len(model.requests[1].messages or ()) == 4


def test_another_model_sees_more_than_it_leaves() -> None:
    trace, _, user = converse(
        say("hi"), GENERATE, other("answer as the user", output_role="user"), GENERATE, answers=["a", "b"], others=["u"]
    )
    assert said(trace) == ["user: hi", "assistant: a", "user: u", "assistant: b"]
    assert [m.content for m in user.requests[0].messages or ()] == ["hi", "a", "answer as the user"]
    assert len(trace.completions) == 2  # the other model's answers are not the evaluated model's


def test_another_model_speaks_as_assistant_unless_told_otherwise() -> None:
    speaks = other("x", include_conversation=False)
    trace, _, user = converse(say("hi"), GENERATE, speaks, answers=["a"], others=["u"])
    assert said(trace)[-1] == "assistant: u"
    assert [m.content for m in user.requests[0].messages or ()] == ["x"]


def test_a_loop_counts_from_zero_and_ends_on_its_condition() -> None:
    trace, _, _ = converse(
        loop(say("round {{ loop_index }}"), GENERATE | stop("DONE")), say("after"), GENERATE,
        answers=["no", "DONE", "end"],
    )  # fmt: skip
    assert said(trace) == [
        "user: round 0", "assistant: no", "user: round 1", "assistant: DONE", "user: after", "assistant: end",
    ]  # fmt: skip


def test_a_dropped_iteration_takes_all_its_messages_along() -> None:
    trace, _, _ = converse(
        loop(say("ask {{ loop_index }}"), GENERATE | stop("DONE", keep=False)), answers=["more", "DONE"]
    )
    assert said(trace) == ["user: ask 0", "assistant: more"]


@pytest.mark.parametrize(
    ("keep", "expected"), [(True, ["user: q", "assistant: STOP"]), (False, ["user: q", "assistant: first"])]
)
def test_outside_a_loop_a_condition_ends_the_conversation(keep: bool, expected: list[str]) -> None:
    builders = [say("q"), GENERATE, GENERATE | stop("STOP", keep), GENERATE]
    if keep:
        builders = [say("q"), GENERATE | stop("STOP", keep), GENERATE]
        trace, model, _ = converse(*builders, answers=["STOP"])
    else:
        trace, model, _ = converse(*builders, answers=["first", "STOP"])
    assert said(trace) == expected
    assert len(model.requests) == (1 if keep else 2)


def test_a_loop_that_never_ends_is_a_failure_unless_it_may_go_on() -> None:
    endless = loop(GENERATE | stop("DONE"), max_iterations=2)
    with pytest.raises(FailureError) as caught:
        converse(say("q"), endless, answers=["a", "b"])
    assert caught.value.failure.kind == "max_iterations"
    trace, _, _ = converse(say("q"), endless | {"on_max_iterations": "continue"}, answers=["a", "b"])
    assert trace.prediction == "b"


def test_a_loop_without_a_condition_just_repeats() -> None:
    trace, _, _ = converse(loop(say("q"), GENERATE, max_iterations=3), answers=["a", "b", "c"])
    assert trace.prediction == "c"
    trace, _, _ = converse(say("q"), GENERATE, loop(GENERATE, max_iterations=0), answers=["a"])
    assert trace.prediction == "a"


def test_loops_nest_and_the_inner_one_ends_alone() -> None:
    trace, _, _ = converse(
        loop(say("o{{ loop_index }}"), loop(GENERATE | stop("X"), max_iterations=5), max_iterations=2),
        answers=["a", "X", "X"],
    )
    assert said(trace) == ["user: o0", "assistant: a", "assistant: X", "user: o1", "assistant: X"]


def test_a_recorded_trace_can_be_loaded() -> None:
    recorded = {"items": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "old"}]}]}
    trace, _, _ = converse(
        {"type": "load_trace", "trace_column": "past"}, GENERATE, answers=["new"], row={"past": recorded}
    )
    assert said(trace) == ["user: old", "assistant: new"]


def test_a_conversation_without_an_answer_is_a_failure() -> None:
    with pytest.raises(FailureError, match="without an answer"):
        converse(say("q"), loop(GENERATE, max_iterations=0), answers=[])


def test_a_conversation_that_begins_with_the_model_is_a_failure() -> None:
    with pytest.raises(FailureError, match="there is no message to send yet"):
        converse(loop(GENERATE), answers=["hello"])


def test_a_solver_that_never_calls_the_model_is_refused() -> None:
    with pytest.raises(UsageError, match="no builder is `generate`"):
        converse(say("q"), {"type": "chat_message", "role": "assistant", "content": "SCRIPTED"}, answers=[])


def test_a_scripted_line_is_never_taken_for_the_models_answer() -> None:
    scripted = {"type": "chat_message", "role": "assistant", "content": "SCRIPTED"}
    trace, _, _ = converse(say("q"), GENERATE, scripted, answers=["its own"])
    assert trace.prediction == "its own"
    assert said(trace)[-1] == "assistant: SCRIPTED"


def test_another_models_line_is_never_taken_for_the_models_answer() -> None:
    trace, _, _ = converse(say("q"), GENERATE, other("go on"), answers=["its own"], others=["another's"])
    assert trace.prediction == "its own"


def test_judges_and_snippets_see_the_conversation_as_it_was() -> None:
    trace, _, _ = converse(say("q"), GENERATE, say("bye"), answers=["X"])
    assert [message["content"] for message in payload_of(trace)["messages"]] == ["q", "X", "bye"]


def test_a_message_outside_of_loops_has_no_loop_index() -> None:
    read = info_of(multi_turn_solver)
    assert read is not None
    assert read.check is not None
    builders = [say("round {{ loop_index }}"), loop(say("{{ loop_index }}")), GENERATE, other("turn {{ loop_index }}")]
    problems = read.check({"message_builders": builders})
    assert [place for place, _ in problems] == [
        ("message_builders", 0, "content"),
        ("message_builders", 3, "extra_input_messages", 0, "content"),
    ]
    assert "only messages inside a `loop`" in problems[0][1]
