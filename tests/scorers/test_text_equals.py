"""`string_equals`, `string_equals_mcqa` and `bleu`: the measured table, with its surprises."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sacrebleu
from tests.scripted import Context

from assay.core.errors import FailureError, UsageError
from assay.core.types import Message, Sample, Score, Trace
from assay.scorers.text_equals import Bleu, MultipleChoice, StringEquals, parse_list


def score(scorer: Any, prediction: str, row: dict[str, Any]) -> Score:
    trace = Trace(
        prediction=prediction,
        messages=(Message(role="user", content="q"), Message(role="assistant", content=prediction)),
    )
    result: Score = asyncio.run(scorer(Sample(id="1", row=row), trace))
    return result


@pytest.mark.parametrize(
    ("prediction", "target", "right"),
    [
        ("Paris", "Paris", True),
        ("paris", "Paris", False),  # case counts
        ("Paris ", "Paris", False),  # so does whitespace
        ("3", 3, True),  # a value that is not text is compared by its text
        ("3.0", 3, False),
        ("true", True, True),  # as files of data write it
    ],
)
def test_texts_are_equal_or_not(prediction: str, target: Any, right: bool) -> None:
    found = score(StringEquals("s", ground_truth="{{ sample.target }}"), prediction, {"target": target})
    assert found.values == {"is_correct": right}
    assert found.metadata["answer_pred"] == prediction
    assert (found.metadata["answer_gt"] == prediction) is right


@pytest.mark.parametrize("target", [None, "", " "])
def test_a_sample_without_an_expected_text_fails_unless_the_task_allows_it(target: Any) -> None:
    with pytest.raises(FailureError) as missing:
        score(StringEquals("s", ground_truth="{{ sample.target }}"), "None", {"target": target})
    assert (missing.value.failure.kind, missing.value.failure.field) == ("missing_gold", "scorers.s.ground_truth")
    assert "`empty_gold: allowed` lets it be empty" in missing.value.failure.message
    allowed = StringEquals("s", ground_truth="{{ sample.target }}", empty_gold="allowed")
    assert score(allowed, target or "", {"target": target}).values == {"is_correct": True}
    assert score(allowed, "None", {"target": target}).values == {"is_correct": False}


def test_a_null_that_is_not_printed_is_none_that_is_missing() -> None:
    gold = StringEquals("s", ground_truth="{{ sample.target or sample.other }}")
    assert score(gold, "b", {"target": None, "other": "b"}).values == {"is_correct": True}


def test_one_trailing_newline_of_a_folded_ground_truth_is_dropped() -> None:
    assert score(StringEquals("s", ground_truth="{{ sample.t }}\n"), "x", {"t": "x"}).values["is_correct"] is True
    assert score(StringEquals("s", ground_truth="{{ sample.t }}\n\n"), "x", {"t": "x"}).values["is_correct"] is False


@pytest.mark.parametrize(
    "value",
    [
        "{{ solver_output.output }}",
        "{{ solver_output.output.choices[0].message.content }}",
        "{{ solver_output.output['choices'][0]['message']['content'] }}",
        "{{ solver_output.messages[-1].content }}",
        "{{ solver_output.messages[1]['content'] }}",
        "{{ solver_output.trace.get_last_assistant_text() }}",
        "{{ solver_output['output'] }}",
        "{{ solver_output.output | lower | title }}",
    ],
)
def test_the_value_reads_the_answer_by_attribute_and_by_item(value: str) -> None:
    scorer = StringEquals("s", ground_truth="Paris", value=value)
    assert score(scorer, "Paris", {}).values["is_correct"] is True


def test_the_ground_truth_sees_only_the_sample() -> None:
    with pytest.raises(FailureError, match="unknown variable `solver_output`"):
        score(StringEquals("s", ground_truth="{{ solver_output.output }}", context=Context()), "x", {})


def test_without_a_solver_a_value_is_needed() -> None:
    with pytest.raises(UsageError, match="give `value`"):
        StringEquals("s", ground_truth="x", has_solver=False)
    scorer = StringEquals("s", ground_truth="{{ sample.a }}", value="{{ sample.b }}", has_solver=False)
    assert score(scorer, "", {"a": "1", "b": 1}).values["is_correct"] is True


@pytest.mark.parametrize(
    ("prediction", "right", "validity"),
    [
        ("B", True, "valid"),
        ("B) because", True, "valid"),
        ("Because", True, "valid"),  # only the first character is looked at
        (" B", False, "invalid"),  # untrimmed
        ("(B)", False, "invalid"),
        ("b", False, "invalid"),
        ("", False, "unknown"),
        ("A", False, "valid"),
    ],
)
def test_the_first_character_is_the_choice(prediction: str, right: bool, validity: str) -> None:
    scorer = MultipleChoice("m", ground_truth_choice="{{ sample.a }}", choices="{{ sample.c }}")
    found = score(scorer, prediction, {"a": "B", "c": ["A", "B"]})
    assert found.values == {"is_correct": right}
    assert found.metadata == {
        "ground_truth_choices": ["A", "B"],
        "ground_truth_correct_choice": "B",
        "predicted_choice": prediction[:1],
        "completion_validity": validity,
    }


def test_choices_may_be_json_or_a_printed_list() -> None:
    assert parse_list('["x", 1]') == ["x", 1]
    assert parse_list("['x', 1]") == ["x", 1]
    for bad in ("x", "3", "{}", "[" * 10000):
        with pytest.raises(ValueError, match="not a list"):
            parse_list(bad)
    scorer = MultipleChoice("m", ground_truth_choice="A", choices="{{ sample.c }}", context=Context())
    with pytest.raises(FailureError, match="expected a list of choices"):
        score(scorer, "A", {"c": "no list"})


def test_a_right_choice_that_is_none_of_the_choices_fails() -> None:
    scorer = MultipleChoice("m", ground_truth_choice="{{ sample.a }}", choices="{{ sample.c }}")
    row = {"a": "C", "c": ["Paris", "Rome"]}
    with pytest.raises(FailureError, match=r"the right choice 'C' is none of the choices \(A, B\)"):
        score(scorer, "C", row)
    with pytest.raises(FailureError, match="is null"):
        scorer.gold(Sample(id="1", row={**row, "a": None}))


@pytest.mark.parametrize(
    ("prediction", "target"),
    [
        ("the cat sat on the mat", "the cat sat on the mat"),
        ("the cat is on the mat", "there is a cat on the mat"),
        ("x", "y"),
    ],
)
def test_bleu_is_the_sentence_bleu_of_the_field(prediction: str, target: str) -> None:
    found = score(Bleu("b", ground_truth="{{ sample.t }}"), prediction, {"t": target})
    expected = sacrebleu.sentence_bleu(prediction, [target]).score / 100
    assert found.values["bleu_score"] == pytest.approx(expected, abs=1e-9)
