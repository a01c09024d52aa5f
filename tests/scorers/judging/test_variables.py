"""What a scorer's templates may read about an answer, under the names that existing prompts rely on."""

from __future__ import annotations

from assay.core.types import Completion, Message, Trace
from assay.prompts.template import Template
from assay.scorers.judging.variables import answer_variables

TRACE = Trace(
    prediction="four",
    messages=(Message(role="user", content="2 + 2?"), Message(role="assistant", content="four")),
    completions=(Completion(text="four", raw={"references": [{"title": "Sums"}]}),),
)


def test_a_template_reads_the_answer_by_every_name() -> None:
    variables = answer_variables(TRACE)
    assert Template("{{ model_output }}|{{ input_prompt }}|{{ messages | length }}", where="t").render(variables) == (
        "four|four|2"
    )
    assert Template("{{ messages[0].content }}", where="t").render(variables) == "2 + 2?"
    assert Template("{{ solver_output.output }}", where="t").render(variables) == "four"


def test_a_plain_prompt_reads_as_the_two_messages_it_amounts_to() -> None:
    found = answer_variables(Trace(prediction="a", prompt="q"))
    assert [(each["role"], each["content"]) for each in found["messages"]] == [("user", "q"), ("assistant", "a")]
    assert found["model_outputs"] == []
