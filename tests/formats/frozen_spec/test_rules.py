"""The rules of the frozen spec, record by record."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.frozen_spec.reader import (
    RULES,
    SpecError,
    TaskSpec,
    validate_task,
)
from assay.formats.frozen_spec.rules import (
    CATEGORIES,
    LEGAL_METRICS,
    LEGAL_POST_PROCESS,
    METRIC_NAMES,
    OPTIONAL_FIELDS,
    POST_PROCESS_RULES,
    REQUIRED_FIELDS,
)


def record(**changes: Any) -> dict[str, Any]:
    """A good record with some fields changed."""
    good = {
        "task_id": "a1",
        "category": "arithmetic",
        "prompt": "Say 4.",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "none",
    }
    return {**good, **changes}


def mcq(**changes: Any) -> dict[str, Any]:
    return record(**{"category": "mcq", "targets": ["B"], "post_process": "extract_letter", **changes})


def code(**changes: Any) -> dict[str, Any]:
    return record(**{"category": "code_exec", "metric_name": "code_exec", "targets": ["f(1) == 2"], **changes})


def example(number: int) -> dict[str, str]:
    return {"prompt": f"Say {number}.", "completion": str(number)}


BROKEN: list[tuple[str, str, object]] = [
    ("not_an_object", "", []),
    ("not_an_object", "", "text"),
    ("not_an_object", "", None),
    *[("missing_required", name, {k: v for k, v in record().items() if k != name}) for name in REQUIRED_FIELDS],
    ("missing_required", "task_id", {}),
    ("unknown_field", "metric", record(metric="f1")),
    ("unknown_field", "\\x1b[31m", record(**{"\x1b[31m": 1})),
    ("bad_type", "task_id", record(task_id=1)),
    ("bad_type", "category", record(category=None)),
    ("bad_type", "prompt", record(prompt=["a"])),
    ("bad_type", "targets", record(targets="4")),
    ("bad_type", "targets", record(targets={"4": 1})),
    ("bad_type", "targets[1]", record(targets=["4", 4.0])),
    ("bad_type", "targets[0]", record(targets=[None])),
    ("bad_type", "metric_name", record(metric_name=True)),
    ("bad_type", "post_process", record(post_process=None)),
    ("bad_type", "few_shot_examples", record(few_shot_examples=None)),
    ("bad_type", "few_shot_examples", record(few_shot_examples={})),
    ("bad_type", "metadata", record(metadata=[])),
    ("bad_type", "metadata", record(metadata=None)),
    ("bad_example", "few_shot_examples[0]", record(few_shot_examples=["Say 3."])),
    ("bad_example", "few_shot_examples[1].completion", record(few_shot_examples=[example(1), {"prompt": "a"}])),
    ("bad_example", "few_shot_examples[0].prompt", record(few_shot_examples=[{"prompt": 1, "completion": "a"}])),
    ("bad_example", "few_shot_examples[0].answer", record(few_shot_examples=[{**example(1), "answer": "1"}])),
    ("combined_post_process", "post_process", record(post_process=["strip_whitespace", "lower"])),
    ("combined_post_process", "post_process", record(post_process=["lower"])),
    ("combined_post_process", "post_process", record(post_process="strip_whitespace, lower")),
    ("combined_post_process", "post_process", record(post_process="lower|none")),
    ("bad_task_id", "task_id", record(task_id="")),
    ("bad_task_id", "task_id", record(task_id="a 1")),
    ("bad_task_id", "task_id", record(task_id="a1\n")),
    ("bad_task_id", "task_id", record(task_id="a\u00a01")),
    ("bad_task_id", "task_id", record(task_id="a\u200b1")),
    ("unknown_category", "category", record(category="Arithmetic")),
    ("empty_prompt", "prompt", record(prompt="")),
    ("empty_prompt", "prompt", record(prompt=" \n")),
    ("trailing_whitespace", "prompt", record(prompt="Say 4.\n")),
    ("trailing_whitespace", "prompt", record(prompt="Say 4.\u2003")),
    ("empty_targets", "targets", record(targets=[])),
    ("unknown_metric", "metric_name", record(metric_name="bleu")),
    ("unknown_post_process", "post_process", record(post_process="upper")),
    ("unknown_post_process", "post_process", record(post_process="")),
    ("too_many_examples", "few_shot_examples", record(few_shot_examples=[example(n) for n in range(9)])),
    ("embedded_few_shot", "prompt", record(prompt="Q: 1\nA: 2\nQ: 3\nA:")),
    ("embedded_few_shot", "prompt", record(prompt="Text: 1\nLabel: 2\n\nText: 3\nLabel:")),
    ("embedded_few_shot", "prompt", record(prompt="User: 1\nAssistant: 2\n\nUser: 3\nAssistant:")),
    ("embedded_few_shot", "prompt", record(prompt="Problem: 1\nSolution: 2\n\nProblem: 3\nSolution:")),
    ("embedded_few_shot", "prompt", record(prompt="Review: 1\nSentiment: 2\n\nReview: 3\nSentiment:")),
    ("embedded_few_shot", "prompt", record(prompt="Say 3. 3\n\nSay 4.", few_shot_examples=[example(3)])),
    ("mcq_target_count", "targets", mcq(targets=["A", "B"])),
    ("mcq_target_letter", "targets[0]", mcq(targets=["b"])),
    ("mcq_target_letter", "targets[0]", mcq(targets=["F"])),
    ("mcq_target_letter", "targets[0]", mcq(targets=[""])),
    ("mcq_target_letter", "targets[0]", mcq(targets=["AB"])),
    ("bad_expression", "targets[1]", code(targets=["f(1) == 2", "f(2) ="])),
    ("bad_expression", "targets[0]", code(targets=["import os"])),
    ("bad_expression", "targets[0]", code(targets=[""])),
    ("bad_expression", "targets[0]", code(targets=["\0"])),
    ("bad_expression", "targets[0]", code(targets=["-" * 9_999 + "1"])),
    ("bad_expression", "targets[0]", code(targets=["1 + " * 5_000 + "1"])),
    ("bad_imports", "metadata.imports", code(metadata={"imports": "all"})),
    ("bad_imports", "metadata.imports", code(metadata={"imports": None})),
    ("bad_imports", "metadata.imports", code(metadata={"imports": ["os", "a b"]})),
]


@pytest.mark.parametrize(("rule", "field", "bad"), BROKEN, ids=[f"{n}-{case[0]}" for n, case in enumerate(BROKEN)])
def test_a_bad_record_breaks_one_rule_in_one_field(rule: str, field: str, bad: object) -> None:
    error = validate_task(bad, 7)
    assert isinstance(error, SpecError)
    assert (error.rule, error.field, error.line_number) == (rule, field, 7)
    assert error.detail
    assert "\x1b" not in error.detail


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("rule", POST_PROCESS_RULES)
def test_a_category_decides_which_metric_and_rule_are_legal(category: str, metric: str, rule: str) -> None:
    targets = {"mcq": ["A"], "code_exec": ["f(1)"]}.get(category, ["a"])
    outcome = validate_task(record(category=category, metric_name=metric, post_process=rule, targets=targets))
    if metric not in LEGAL_METRICS[category]:
        assert isinstance(outcome, SpecError)
        assert (outcome.rule, outcome.field) == ("illegal_pair", "metric_name")
    elif rule not in LEGAL_POST_PROCESS[category]:
        assert isinstance(outcome, SpecError)
        assert (outcome.rule, outcome.field) == ("illegal_post_process", "post_process")
    else:
        assert isinstance(outcome, TaskSpec)


GOOD = [
    record(),
    record(metadata={"a": {"b": [1, None, 10**30]}}),
    record(few_shot_examples=[]),
    record(few_shot_examples=[example(n) for n in range(8)]),
    record(targets=["4", "four", ""]),
    record(task_id="größe/1:2#3"),
    record(prompt=" \n leading space is fine"),
    mcq(post_process="none"),
    code(targets=["f('\\d') is None", " f(1) ", "f(1) is 2"]),
]


@pytest.mark.parametrize("good", GOOD)
def test_a_good_record_comes_back_as_it_was(good: dict[str, Any]) -> None:
    task = validate_task(good)
    assert isinstance(task, TaskSpec)
    again = json.loads(msgspec.json.encode(task))
    assert again == {name: value for name, value in good.items() if value != []}  # no examples and none given are one


@given(
    st.dictionaries(
        st.sampled_from([*REQUIRED_FIELDS, *OPTIONAL_FIELDS, "other"]),
        st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3) | st.integers(), max_size=2)
        | st.sampled_from([*CATEGORIES, *METRIC_NAMES, *POST_PROCESS_RULES])
        | st.dictionaries(st.sampled_from(["prompt", "completion", "a"]), st.text(max_size=3)),
    )
)  # fmt: skip
def test_whatever_a_record_holds_the_answer_is_a_task_or_a_rule(changes: dict[str, Any]) -> None:
    outcome = validate_task(record(**changes))
    if isinstance(outcome, SpecError):
        assert outcome.rule in RULES
        assert "at `$" not in outcome.detail  # the slow second look found the rule itself
    else:
        assert not (set(changes) - {*REQUIRED_FIELDS, *OPTIONAL_FIELDS})
