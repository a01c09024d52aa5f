"""Assertions that samples bring along: what is not a verdict, programs without leave, gold answers.

The verdicts themselves are checked against promptfoo's in `tests/bridges/promptfoo/test_promptfoo_source.py`.
"""

from __future__ import annotations

import asyncio
import math
import shutil
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Completion, Sample, Score, Trace
from assay.scorers.assertions.sample_assertions import SampleAssertions, sample_assertions

TOOLS = [{"function": {"name": "add", "parameters": {"type": "object", "required": ["a"]}}}]


def scored(answer: str | Completion, *assertions: dict[str, Any], **options: Any) -> Score:
    completion = Completion(text=answer) if isinstance(answer, str) else answer
    trace = Trace(prediction=completion.text, prompt="asked", completions=(completion,))

    async def score() -> Score:
        made = sample_assertions("a", context=BuildContext(own_code=True), **options)
        try:
            return await made(Sample(id="1", extras={"assertions": list(assertions)}, row={}), trace)
        finally:
            await made.aclose()

    return asyncio.run(score())


def test_without_assertions_there_is_no_score() -> None:
    assert scored("x").values == {"score": None}


def test_tool_calls_are_held_against_the_tools() -> None:
    call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    wrong = {"type": "function", "function": {"name": "add", "arguments": "{}"}}
    valid = {"type": "is-valid-openai-tools-call"}
    assert scored(Completion(text="", tool_calls=[call]), valid, tools=TOOLS).values["score"] == 1.0
    assert scored(Completion(text="", tool_calls=[call, wrong]), valid, tools=TOOLS).values["score"] == 0.0
    assert scored("no call", valid, tools=TOOLS).values["score"] == 0.0
    contains = {"type": "contains", "value": '"name":"add"'}
    assert scored(Completion(text="", tool_calls=[call]), contains).values["score"] == 1.0


def test_the_f1_of_tools_is_not_inverted_by_a_negation() -> None:
    call = Completion(text="", tool_calls=[{"type": "function", "function": {"name": "add", "arguments": "{}"}}])
    half = {"type": "tool-call-f1", "value": "add, sub, mul"}
    assert scored(call, half).values == {"score": 0.0, "passed": 0.5}
    assert scored(call, {**half, "type": "not-tool-call-f1"}).values == {"score": 1.0, "passed": 0.5}


@pytest.mark.parametrize(
    ("assertion", "passes", "score"),
    [
        ({"type": "perplexity", "threshold": 2.1}, True, 1.0),
        ({"type": "perplexity", "threshold": 1.9}, False, 0.0),
        ({"type": "not-perplexity", "threshold": 1.9}, True, 1.0),
        ({"type": "perplexity"}, True, 1.0),
        ({"type": "not-perplexity"}, True, 1.0),
        ({"type": "perplexity-score", "threshold": 0.3}, True, 1 / 3),
        ({"type": "not-perplexity-score", "threshold": 0.4}, True, 2 / 3),
        ({"type": "not-perplexity-score"}, True, 2 / 3),
    ],
)
def test_perplexity_is_that_of_the_answers_tokens(assertion: dict[str, Any], passes: bool, score: float) -> None:
    tokens = [{"token": "a", "logprob": math.log(1 / 4)}, {"token": "b", "logprob": 0.0}]
    values = scored(Completion(text="ab", logprobs=tokens), assertion).values
    assert values == {"score": float(passes), "passed": pytest.approx(score)}
    with pytest.raises(FailureError, match="without log-probabilities"):
        scored("ab", assertion)


def program(code: str, language: str = "javascript") -> dict[str, Any]:
    return {"type": language, "value": code, "program": {"language": language, "code": code}}


@pytest.mark.parametrize(
    ("code", "language", "kind"),
    [
        ("output.nothing.here", "javascript", "exception"),
        ("'maybe'", "javascript", "bad_output"),
        ("1 / 0", "python", "exception"),
        ("'maybe'", "python", "bad_output"),
    ],
)
def test_a_program_that_breaks_is_a_failure_and_no_zero(code: str, language: str, kind: str) -> None:
    if language == "javascript" and shutil.which("node") is None:
        pytest.skip("JavaScript needs node")
    with pytest.raises(FailureError) as broken:
        scored("x", program(code, language), node_program="x", python_snippet="x")
    assert broken.value.failure.kind == kind


def test_a_program_that_the_task_does_not_name_is_not_run() -> None:
    with pytest.raises(FailureError, match="does not declare that it runs programs"):
        scored("x", program("true"))


def test_a_program_scores_all_assertions_together() -> None:
    async def score() -> Score:
        made = sample_assertions("a", python_snippet="x", context=BuildContext(own_code=True))
        code = "metrics['M'] / 4"
        scoring = {"language": "python", "code": code.replace("metrics", "output")}
        extras = {"assertions": [{"type": "contains", "value": "x", "metric": "M"}], "scoring": scoring}
        try:
            return await made(Sample(id="1", extras=extras, row={}), Trace(prediction="x"))
        finally:
            await made.aclose()

    assert asyncio.run(score()).values == {"score": 1.0, "passed": 0.25, "metric.M": 1.0}


def test_an_answer_that_passes_is_made_of_the_assertions() -> None:
    made = SampleAssertions("a", {}, (), False, {}, (), (), BuildContext())
    asserted = [{"type": "contains", "value": "x"}, {"type": "not-contains", "value": "y"}]
    gold = made.gold(Sample(id="1", extras={"assertions": asserted}))
    assert gold is not None
    assert scored(gold.text, *asserted).values["score"] == 1.0
    assert made.gold(Sample(id="1", extras={"assertions": [program("true")]})) is None
