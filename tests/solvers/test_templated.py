"""`single_turn_solver`: what the model is sent, and what is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.scripted import Context, Scripted

from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Sample, Trace
from assay.solvers.templated import single_turn_solver


def solve(builder: dict[str, Any], row: dict[str, Any], answer: Any = "yes") -> tuple[Trace, Scripted]:
    model = Scripted([answer])
    solver = single_turn_solver(input_builder=builder, context=Context())
    return asyncio.run(solver(Sample(id="7", row=row), model)), model


def chat(*messages: tuple[str, str]) -> dict[str, Any]:
    return {"type": "chat_completion", "input_messages": [{"role": r, "content": c} for r, c in messages]}


def test_messages_are_rendered_asked_and_kept_with_the_answer() -> None:
    trace, model = solve(chat(("system", "Be brief."), ("user", "Q: {{ sample.q }}\n")), {"q": "why?"})
    assert [(m.role, m.content) for m in model.requests[0].messages or ()] == [
        ("system", "Be brief."),
        ("user", "Q: why?"),
    ]
    assert trace.prediction == "yes"
    assert [m.role for m in trace.messages or ()] == ["system", "user", "assistant"]
    assert trace.completions[0].tokens_in == 3


def test_a_generic_template_renders_the_whole_input() -> None:
    template = '{"messages": [{"role": "user", "content": {{ sample.q | tojson }}}], "temperature": 0.5, "top_k": 3}\n'
    trace, model = solve({"type": "generic", "template": template}, {"q": 'say "hi"\n'})
    request = model.requests[0]
    assert request.messages is not None
    assert request.messages[0].content == 'say "hi"\n'
    assert request.temperature == 0.5
    assert request.extra == {"top_k": 3}
    assert trace.prediction == "yes"


@pytest.mark.parametrize(("template", "prompt"), [('"just {{ sample.q }}"', "just x"), ('{"a": 1}', '{"a":1}')])
def test_a_custom_input_is_a_text(template: str, prompt: str) -> None:
    trace, model = solve({"type": "generic", "template": template}, {"q": "x"})
    assert model.requests[0].prompt == prompt
    assert trace.prompt == prompt


def test_text_with_quotes_inside_quotes_is_a_failure_that_names_the_remedy() -> None:
    template = '{"messages": [{"role": "user", "content": "{{ sample.q }}"}]}'
    with pytest.raises(FailureError) as caught:
        solve({"type": "generic", "template": template}, {"q": 'say "hi"'})
    failure = caught.value.failure
    assert (failure.stage, failure.kind) == ("solver", "bad_input")
    assert "tojson" in failure.message


def test_an_unknown_column_names_task_field_sample_and_variable() -> None:
    with pytest.raises(FailureError) as caught:
        solve(chat(("user", "{{ sample.qestion }}")), {"question": "x"})
    assert caught.value.failure.message == (
        "task `t`, field `definition.solver.input_builder.input_messages[0].content`, sample `7`: "
        "`sample.qestion`: unknown field of `sample` `qestion`. Did you mean `question`?"
    )


def test_tool_calls_are_kept_in_the_conversation() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    trace, _ = solve(chat(("user", "x")), {}, Completion(text="", tool_calls=[call]))
    assert (trace.messages or ())[-1].tool_calls == [call]


def test_bad_builders_are_refused_when_built() -> None:
    with pytest.raises(UsageError, match="unknown input builder"):
        single_turn_solver(input_builder={"type": "x"})
    with pytest.raises(UsageError, match="line 1 of the template"):
        single_turn_solver(input_builder=chat(("user", "{{")))


def test_an_input_cannot_call_another_model_under_the_name_of_this_one() -> None:
    template = '{"model": "say:PARIS", "messages": [{"role": "user", "content": "q"}]}'
    with pytest.raises(FailureError, match="the input names `say:PARIS`"):
        solve({"type": "generic", "template": template}, {"q": "x"})
