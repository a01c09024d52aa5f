"""Every solver of the catalog keeps the contract of a solver."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from assay.catalog import CATALOG, describe, make, solver_needs
from assay.core.describe import SolverNeeds
from assay.core.types import PartSpec, Sample
from assay.testing import ScriptedModel, check_solver

CHAT = [{"role": "user", "content": "{{ sample.q }}"}]
CHOICES = {"choices": ["red", "blue", "green"]}
RECORDED = json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])
CONVERSATION = [
    {"type": "chat_message", "role": "user", "content": "{{ sample.q }}"},
    {"type": "generate"},
    {
        "type": "loop",
        "max_iterations": 2,
        "message_builders": [
            {
                "type": "generate_message",
                "model_key": "user",
                "output_role": "user",
                "extra_input_messages": [{"role": "user", "content": "Ask on."}],
            },
            {"type": "generate"},
        ],
    },
]
SNIPPET = """
async def run_solver(sample, model, trace):
    first = await model.predict(sample["q"])
    second = await model.predict({"messages": [{"role": "user", "content": first.text + " again"}]})
    trace.items.extend(second.items)
    return trace
"""


LM_EVAL: dict[str, Any] = {
    "contexts": ["Q:"],
    "requests": [
        {"type": "loglikelihood", "context": 0, "continuation": " a"},
        {"type": "generate_until", "context": 0, "settings": {"max_tokens": 5, "temperature": 0.0, "stop": []}},
    ],
    "repeats": 2,
}


class Case(NamedTuple):
    options: dict[str, Any]
    extras: dict[str, Any] = {}  # noqa: RUF012 - never changed


SOLVERS: dict[str, list[Case]] = {
    "single_turn": [Case({}), Case({"system": "Be short."}), Case({}, {"generation": {"stop": ["\n"], "seed": 3}})],
    "single_turn_solver": [
        Case({"input_builder": {"type": "chat_completion", "input_messages": CHAT}}),
        Case({"input_builder": {"type": "generic", "template": '{"messages": [{"role": "user", "content": "hi"}]}'}}),
    ],
    "multi_turn_solver": [Case({"message_builders": CONVERSATION})],
    "pass_through_solver": [Case({"trace_column": "said"})],
    "python": [Case({"run_solver_snippet": SNIPPET})],
    "no_solver": [Case({})],
    "choice_likelihood": [Case({}, CHOICES), Case({"normalize": "unconditional"}, {**CHOICES, "system": "Choose."})],
    "lettered_choice": [Case({}, CHOICES), Case({}, {**CHOICES, "system": "Choose."})],
    "text_likelihood": [Case({})],
    "prompt_template": [
        Case({"prompt": "{{ q }}"}),
        Case({"prompt": '[{"role": "system", "content": "Be short."}, {"role": "user", "content": "{{ q }}"}]'}),
    ],
    "named_completions": [
        Case({"input_outputs": {"q": "completion"}}),
        Case({"input_outputs": {"q": "completion"}, "n": 2, "output_template": "{i}: {output}\n"}),
    ],
    "lm_eval": [
        Case({"likelihoods": True}, LM_EVAL),
        Case({"likelihoods": False}, {**LM_EVAL, "requests": LM_EVAL["requests"][1:]}),
    ],
}


def test_every_solver_of_the_catalog_is_checked_against_the_contract() -> None:
    assert {*SOLVERS} == {*CATALOG["solver"]}


@pytest.mark.parametrize("name", CATALOG["solver"])
def test_every_solver_of_the_catalog_says_what_it_needs(name: str) -> None:
    assert isinstance(describe("solver", name, SOLVERS[name][0].options), SolverNeeds)


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}-{number}") for name in SOLVERS for number, case in enumerate(SOLVERS[name])],
)
def test_it_keeps_the_contract_of_a_solver(name: str, case: Case) -> None:
    samples = [
        Sample(id=q, prompt=q, targets=("blue",), extras=case.extras, row={"q": q, "said": RECORDED})
        for q in ("What is red?", "And what is not?", "Why?")
    ]
    check_solver(
        lambda context: make("solver", name, case.options, context=context),
        samples,
        needs=solver_needs(PartSpec(key="solver", use=name, options=case.options)),
        others={"user": ScriptedModel(lambda request: f"{len(request.messages or ())} messages: go on")},
    )
