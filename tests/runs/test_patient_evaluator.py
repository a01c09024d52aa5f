"""A service that scores is awaited as a model is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, serving
from tests.optimize.scripted import WordEvaluator

from assay.core.run import Stop
from assay.evaluators import EvaluatorError, http_evaluator
from assay.optimize.journal import candidate_of
from assay.runs.patient_evaluator import PatientEvaluator


def asked(evaluator: Any) -> tuple[Any, PatientEvaluator]:
    async def ask() -> tuple[Any, PatientEvaluator]:
        patient = PatientEvaluator(evaluator, Stop(), lambda sentence: None)
        try:
            return await patient("text", None, None), patient
        finally:
            await evaluator.close()

    return asyncio.run(ask())


def test_not_now_is_retried_when_the_service_says() -> None:
    answers = iter([Answer(status=429, headers={"Retry-After": "0"}), Answer(status=503, headers={"Retry-After": "0"})])
    with serving(lambda payload: next(answers, Answer(b'{"score": 0.5, "why": "fine"}'))) as server:
        evaluation, patient = asked(http_evaluator(server.url))
    assert (evaluation.score, evaluation.side_info) == (0.5, {"why": "fine"})
    assert patient.made == 3


def test_what_cannot_pass_is_not_asked_again_and_keeps_what_was_seen() -> None:
    with serving(Answer(b"no such thing", status=400)) as server, pytest.raises(EvaluatorError) as caught:
        asked(http_evaluator(server.url))
    assert len(server.received) == 1
    assert caught.value.side_info == {"body": "no such thing"}


def test_other_evaluators_are_called_directly() -> None:
    evaluation, patient = asked(WordEvaluator())
    assert (evaluation.score, patient.made) == (0.0, 1)


def test_one_text_is_sent_unchanged_and_several_as_one() -> None:
    assert candidate_of({"text": "Be"}) == "Be"
    assert candidate_of({"a": "Be", "b": "so"}) == "## a\n\nBe\n\n## b\n\nso"
