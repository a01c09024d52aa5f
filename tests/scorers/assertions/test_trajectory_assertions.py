"""Assertions about spans, steps and skills give promptfoo's verdicts.

`cases/trace_assertions.jsonl` holds generated traces with the verdicts of promptfoo 0.121.20: of each type, with and
without its negation, sixteen that pass and sixteen that do not.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.types import Completion, Sample, Score, Trace
from assay.scorers.assertions.sample_assertions import sample_assertions
from assay.scorers.assertions.trajectory_assertions import MOST_JUDGED, is_same, steps_of, summary
from assay.spans import Span, with_spans

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "trace_assertions.jsonl").read_text().splitlines()
]


def scored(
    node: dict[str, Any], spans: list[Span] | None, command_tools: list[str] | None = None, metadata: Any = None
) -> Score:
    completion = Completion(text="done", raw=None if metadata is None else {"metadata": metadata})
    if spans is not None:
        completion = with_spans(completion, spans, "t")
    scorer = sample_assertions("a", command_tools=command_tools or [])
    sample = Sample(id="1", extras={"assertions": [node]}, row={})
    return asyncio.run(scorer(sample, Trace(prediction="done", completions=(completion,))))


def span(name: str, start: float = 0, **attributes: Any) -> Span:
    return {"name": name, "startTime": start, "endTime": start + 10, "attributes": attributes}


@pytest.mark.parametrize("kind", sorted({case["type"] for case in CASES}))
def test_every_verdict_is_promptfoos(kind: str) -> None:
    cases = [case for case in CASES if case["type"] == kind]
    assert len(cases) == 32
    for case in cases:
        node = {"type": kind, **({"value": case["value"]} if "value" in case else {})}
        score = scored(node, case.get("spans", []), case.get("command_tools"), case.get("metadata"))
        assert (score.values["score"], score.values["passed"]) == (case["passed"], case["passed"]), case


@pytest.mark.parametrize("kind", sorted({case["type"] for case in CASES if "spans" in case}))
def test_an_answer_without_a_trace_is_a_failure_and_not_a_score(kind: str) -> None:
    case = next(case for case in CASES if case["type"] == kind)
    with pytest.raises(FailureError, match="recorded without one; run the task again with `tracing`"):
        scored({"type": kind, "value": case.get("value")}, None)


def test_steps_are_read_from_the_attributes_in_the_order_of_time() -> None:
    spans = [
        span("later", 20, **{"gen_ai.tool.name": "b", "gen_ai.tool.call.arguments": '{"n": 1}'}),
        span("run", 10, **{"tool.name": "shell", "tool.args": '{"cmd": "ls -l"}'}),
        span("search", 5, query="cats"),
        span("reasoning", 30),
        span("agent response", 40),
        span("chat m", 1, **{"gen_ai.tool.definitions": '[{"name": "b"}]'}),
        span("mcp files/read", 50),
    ]
    assert [(step.kind, step.name, step.arguments) for step in steps_of(spans)] == [
        ("span", "chat m", ()),
        ("search", "cats", ()),
        ("command", "ls -l", ({"cmd": "ls -l"},)),
        ("tool", "b", ({"n": 1.0},)),
        ("reasoning", "reasoning", ()),
        ("message", "agent response", ()),
        ("tool", "read", ()),
    ]


def test_a_command_is_matched_by_its_program_too() -> None:
    step = steps_of([span("x", **{"tool.name": "bash", "tool.args": '{"cmd": "git  log"}'})], ["bash"])[0]
    assert step.aliases == ("x", "git  log", "bash", "git")


def test_values_are_the_same_as_in_javascript() -> None:
    assert is_same({"a": [1, None]}, {"a": [1.0, None]})
    assert not is_same(1, True)
    assert not is_same(0.0, -0.0)
    assert not is_same([1], [1, 2])
    assert not is_same("1", 1)


def test_a_grader_sees_equal_steps_once_and_only_the_ends_of_a_long_trace() -> None:
    spans = [span("same", number) for number in range(3)] + [span(f"s{number}", 10 + number) for number in range(40)]
    shown = json.loads(summary({"traceId": "t", "spans": spans}))
    assert (shown["stepCount"], shown["compactedStepCount"]) == (43, 41)
    assert shown["steps"][0] == {"index": 1, "type": "span", "name": "same", "collapsedCount": 3}
    assert shown["steps"][12] == {"omittedCount": 17}
    assert len(shown["steps"]) == MOST_JUDGED + 1
