"""A weighted list of assertions: one score, evidence for each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import Completion, Sample, Score, Trace
from assay.scorers.assertions.assertion_list import assertions

SAMPLE = Sample(id="0", row={"a": "Paris"})


def scored(
    listed: Sequence[dict[str, Any]], answer: str, *, context: BuildContext | None = None, **completion: Any
) -> Score:
    options = {name: completion.pop(name) for name in ("threshold", "text") if name in completion}
    scorer = assertions("s", assertions=listed, context=context or BuildContext(), **options)
    trace = Trace(prediction=answer, completions=(Completion(text=answer, **completion),))
    return asyncio.run(scorer(SAMPLE, trace))  # type: ignore[arg-type]


WEIGHTED = [
    {"type": "contains", "value": "{{ sample.a }}", "weight": 3},
    {"type": "not_icontains", "value": "sorry"},
]


def test_every_assertion_leaves_evidence() -> None:
    found = scored(WEIGHTED, "Sorry, Paris.")
    assert found.values == {"score": 0.0, "passed": 0.75}
    assert found.reason == "does not hold: not_icontains"
    assert found.metadata == {
        "assertions": [
            {"type": "contains", "value": "Paris", "passed": True, "weight": 3.0},
            {"type": "not_icontains", "value": "sorry", "passed": False, "weight": 1.0},
        ]
    }


def test_a_share_of_the_weights_may_be_enough() -> None:
    assert scored(WEIGHTED, "Sorry, Paris.", threshold=0.75).values["score"] == 1.0
    assert scored(WEIGHTED, "Sorry, Paris.", threshold=0.76).values["score"] == 0.0


@pytest.mark.parametrize(("seconds", "score"), [(0.5, 1.0), (2.5, 0.0)])
def test_latency_is_that_of_the_answers(seconds: float, score: float) -> None:
    found = scored([{"type": "latency", "max_seconds": 1}], "x", seconds=seconds)
    assert found.values["score"] == score
    assert found.metadata is not None
    assert found.metadata["assertions"][0]["found"] == f"{seconds:.3f} s"


@pytest.mark.parametrize(("most", "score"), [(0.5, 0.0), (0.75, 1.0)])
def test_cost_is_what_the_run_says_that_answers_cost(most: float, score: float) -> None:
    context = BuildContext(cost_of=lambda completions: 0.75 * len(completions))
    assert scored([{"type": "cost", "max_cost": most}], "x", context=context).values["score"] == score


def test_an_unknown_cost_is_a_failure() -> None:
    for context in (BuildContext(), BuildContext(cost_of=lambda _: None)):
        with pytest.raises(FailureError, match="no price is known"):
            scored([{"type": "cost", "max_cost": 1}], "x", context=context)


def test_how_an_answer_ended() -> None:
    assert scored([{"type": "not_finish_reason", "value": "length"}], "x", finish_reason="stop").values["score"] == 1.0


def test_another_text_than_the_answer() -> None:
    assert scored([{"type": "equals", "value": "PARIS"}], "x", text="{{ sample.a | upper }}").values["score"] == 1.0


def test_a_column_that_is_missing_is_a_failure_with_its_field() -> None:
    with pytest.raises(FailureError) as caught:
        scored([{"type": "contains", "value": "{{ sample.b }}"}], "x")
    assert caught.value.failure.field == "scorers.s.assertions[0].value"


def test_an_unknown_assertion_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown assertion `contans`"):
        assertions("s", assertions=[{"type": "contans"}])


PROVED_BY_NO_TEXT: list[list[dict[str, Any]]] = [
    [{"type": "regex", "value": "{{ sample.a }}("}],
    [{"type": "contains", "value": "x"}, {"type": "regex", "value": "{{ sample.a }}("}],
    [{"type": "not_latency", "max_seconds": 3}],
    [{"type": "equals", "value": "x"}, {"type": "not_cost", "max_cost": 3}],
]


@pytest.mark.parametrize("listed", PROVED_BY_NO_TEXT, ids=lambda listed: str(listed[-1]["type"]))
def test_a_broken_pattern_and_a_slow_or_dear_answer_have_no_gold(listed: list[dict[str, Any]]) -> None:
    assert assertions("s", assertions=listed).gold(SAMPLE) is None  # type: ignore[attr-defined]


ROW = Sample(
    id="0", row={"names": ["Bern", "Berne, CH"], "object": {"a": [1]}, "schema": {"required": ["a"]}, "cited": "[1]"}
)


@pytest.mark.parametrize(
    ("assertion", "answer", "score"),
    [
        ({"type": "contains_any", "value": "{{ sample.names }}"}, "In Bern.", 1.0),
        ({"type": "contains_any", "value": "{{ sample.names | tojson }}"}, "Berne, CH", 1.0),
        ({"type": "contains_all", "value": "{{ sample.names }}"}, "In Bern.", 0.0),
        ({"type": "not_icontains_any", "value": "{{ sample.names }}"}, "bern", 0.0),
        ({"type": "contains_any", "value": "{{ sample.names[0] }}, Basel"}, "Basel", 1.0),
        ({"type": "contains_any", "value": "[1], [2]"}, "as in [2]", 1.0),
        ({"type": "starts_with", "value": "{{ sample.cited }}"}, "[1] says", 1.0),
        ({"type": "equals", "value": "{{ sample.object }}"}, '{"a":[1]}', 1.0),
        ({"type": "equals", "value": "{{ sample.object | tojson }}"}, '{"a": [2]}', 0.0),
        ({"type": "json_schema", "value": "{{ sample.schema }}"}, '{"a": 1}', 1.0),
        ({"type": "is_json", "value": "{{ sample.schema | tojson }}"}, "{}", 0.0),
    ],
)
def test_a_template_may_give_the_list_the_object_or_the_schema_of_a_row(
    assertion: dict[str, Any], answer: str, score: float
) -> None:
    scorer = assertions("s", assertions=[assertion])
    found = asyncio.run(scorer(ROW, Trace(prediction=answer)))
    assert found.values["score"] == score
    gold = scorer.gold(ROW)  # type: ignore[attr-defined]
    assert gold is not None
    assert asyncio.run(scorer(ROW, Trace(prediction=gold.text))).values["score"] == 1.0


def test_a_template_that_gives_no_schema_is_a_failure() -> None:
    scorer = assertions("s", assertions=[{"type": "json_schema", "value": "{{ sample.cited }}"}])
    with pytest.raises(FailureError, match=r"the schema '\[1\]': a schema that is not an object but list"):
        asyncio.run(scorer(ROW, Trace(prediction="{}")))
