"""What an evaluator is sent and what it may answer."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.evaluators import Evaluation, EvaluatorError, validate_evaluator_payload
from assay.evaluators.payload import (
    CandidateParts,
    build_payload,
    check_score_range,
    encode_payload,
    read_answer,
    read_batch,
)

VALID = [
    ("unit", {"score": 0.5}),
    ("unit", {"score": 1.0, "reasoning": "good", "extra": [1]}),
    ("unit", {"score": 0}),
    ("unit", {"score": 1}),
    ("any", {"score": 1.5}),
    ("any", {"score": -1e300}),
]

INVALID = [
    ("unit", "0.5", "must be an object"),
    ("unit", [0.5], "must be an object"),
    ("unit", None, "must be an object"),
    ("unit", {}, "missing"),
    ("unit", {"Score": 1}, "missing"),
    ("unit", {"score": "good"}, "not numeric"),
    ("unit", {"score": "0.5"}, "not numeric"),
    ("unit", {"score": None}, "not numeric"),
    ("unit", {"score": True}, "not numeric"),
    ("any", {"score": False}, "not numeric"),
    ("any", {"score": [1]}, "not numeric"),
    ("unit", {"score": math.inf}, "not finite"),
    ("any", {"score": math.inf}, "not finite"),
    ("any", {"score": -math.inf}, "not finite"),
    ("unit", {"score": math.nan}, "not finite"),
    ("any", {"score": math.nan}, "not finite"),
    ("any", {"score": 10**400}, "not finite"),
    ("unit", {"score": 10**400}, "not finite"),
    ("unit", {"score": -0.01}, "outside 0..1"),
    ("unit", {"score": 1.01}, "outside 0..1"),
]


@pytest.mark.parametrize(("score_range", "result"), VALID)
def test_a_valid_answer_has_no_fault(score_range: Any, result: Any) -> None:
    assert validate_evaluator_payload(result, score_range) is None


@pytest.mark.parametrize(("score_range", "result", "reason"), INVALID)
def test_an_invalid_answer_is_reported_with_the_reason(score_range: Any, result: Any, reason: str) -> None:
    assert reason in (validate_evaluator_payload(result, score_range) or "")


def test_the_default_range_is_unit() -> None:
    assert validate_evaluator_payload({"score": 1.5}) == validate_evaluator_payload({"score": 1.5}, "unit") is not None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_whatever_passes_is_a_finite_number_in_range(score: Any) -> None:
    for score_range in ("unit", "any"):
        if validate_evaluator_payload({"score": score}, score_range) is None:  # type: ignore[arg-type]
            assert math.isfinite(float(score))
            assert score_range == "any" or 0 <= score <= 1


TEXTS = [
    (b"", "nothing at all"),
    (b"great!", "not valid JSON"),
    (b'ready\n{"score": 1}', "not valid JSON"),
    (b'{"score": 1} thanks', "not valid JSON"),
    (b'{"score": NaN}', "not numeric: NaN"),
    (b'{"score": Infinity}', "not numeric: Infinity"),
    (b'{"score": 0.1, "score": 0.9}', "given twice"),
    (b'{"score": 0.1, "score": 0.9, "x": NaN}', "not valid JSON"),
    (b'{"score": 1, "note": "\xff"}', "not UTF-8"),
    (b'\xef\xbb\xbf{"score": }', r"expecting value \(column 11\)"),
    ('{"score": 1}'.encode("utf-16-le"), "not valid JSON"),
    (b"[" * 100_000, "nested"),
    (b"[]", "must be an object"),
]


@pytest.mark.parametrize(("answer", "reason"), TEXTS)
def test_only_one_json_object_is_an_answer(answer: bytes, reason: str) -> None:
    with pytest.raises(EvaluatorError, match=reason) as caught:
        read_answer(answer, "any", "evaluator")
    assert caught.value.failure.kind == "bad_output"
    assert caught.value.failure.stage == "scorer"


@given(st.binary(max_size=40))
def test_any_bytes_are_an_evaluation_or_a_failure(answer: bytes) -> None:
    try:
        score = read_answer(answer, "any", "evaluator").score
    except EvaluatorError:
        return
    assert math.isfinite(score)


def test_every_key_but_the_score_is_side_information() -> None:
    evaluation = read_answer(b'{"score": 1, "reasoning": "ok", "scores": {"a": 1}, "candidate": 3}', "unit", "e")
    assert evaluation.score == 1.0
    assert type(evaluation.score) is float
    assert evaluation.side_info == {"reasoning": "ok", "scores": {"a": 1}, "candidate": 3}


@pytest.mark.parametrize(
    ("answer", "side_info"),
    [
        (b'{"score": 1, "loss": NaN, "best": [-Infinity]}', {"loss": "NaN", "best": ["-Infinity"]}),
        (b'{"score": 1, "note": "half \\ud83d of one"}', {"note": "half \ufffd of one"}),
        (b'\xef\xbb\xbf{"score": 1}', {}),
    ],
)
def test_what_python_and_windows_write_next_to_a_score_costs_no_evaluation(answer: bytes, side_info: Any) -> None:
    evaluation = read_answer(answer, "unit", "e")
    assert (evaluation.score, evaluation.side_info) == (1.0, side_info)


def test_each_result_of_a_batch_is_judged_by_the_rules_of_a_single_answer() -> None:
    answer = b'{"results": [{"score": 1, "note": "ok"}, {"score": 1.5}, {"error": "no licence"}, 0.5, {"score": NaN}]}'
    first, *others = read_batch(answer, 5, "unit", "e")
    assert first == Evaluation(score=1.0, side_info={"note": "ok"})
    reasons = ["outside 0..1", "no licence", "must be an object", "not numeric"]
    for reason, other in zip(reasons, others, strict=True):
        assert isinstance(other, EvaluatorError)
        assert reason in other.failure.message


@pytest.mark.parametrize("answer", [b'{"score": 1}', b'[{"score": 1}]', b'{"results": [{"score": 1}]}', b"hm"])
def test_an_answer_that_does_not_fit_its_batch_fails_all_of_it(answer: bytes) -> None:
    with pytest.raises(EvaluatorError) as caught:
        read_batch(answer, 2, "unit", "e")
    assert caught.value.failure.kind == "bad_output"


def test_the_side_information_of_a_bad_score_is_kept_as_it_is() -> None:
    with pytest.raises(EvaluatorError) as caught:
        read_answer(b'{"score": 7, "error": "of my own"}', "unit", "e")
    assert caught.value.side_info == {"score": 7, "error": "of my own"}


def test_the_payload_holds_what_there_is_and_nothing_else() -> None:
    assert build_payload("text", None, None) == {"_protocol_version": 2, "candidate": "text"}
    assert build_payload("text", {"candidate": "mine"}, "m") == {
        "_protocol_version": 2,
        "candidate": "text",
        "task_model": "m",
        "example": {"candidate": "mine"},
    }
    assert build_payload("text", {}, None)["example"] == {}


@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text()))
def test_a_payload_survives_its_encoding_or_is_a_failure(candidate: str, example: dict[str, Any]) -> None:
    try:
        encoded = encode_payload("e", build_payload(candidate, example, None))
    except EvaluatorError:
        assert any("\ud800" <= character <= "\udfff" for character in f"{candidate}{example}")
        return
    assert msgspec.json.decode(encoded) == build_payload(candidate, example, None)


def test_an_unknown_score_range_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unit, any"):
        check_score_range("percent")
    with pytest.raises(UsageError, match="unit, any"):
        validate_evaluator_payload({"score": 1}, "weird")  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    assert validate_evaluator_payload({"score": np.float32(0.5)}) is None
    assert validate_evaluator_payload({"score": np.int64(1)}) is None
    assert validate_evaluator_payload({"score": np.float64("nan")}) is not None
    assert validate_evaluator_payload({"score": np.bool_(True)}) is not None


def test_components_are_sent_next_to_the_candidate_and_a_single_text_has_none() -> None:
    parts = CandidateParts({"system": "Be", "tools": "none"})
    assert build_payload(parts, None, None) == {
        "_protocol_version": 2,
        "candidate": "## system\n\nBe\n\n## tools\n\nnone",
        "components": {"system": "Be", "tools": "none"},
    }
    assert "components" not in build_payload("Be", None, None)
