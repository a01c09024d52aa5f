"""A service that scores is awaited as a model is."""

from __future__ import annotations

import asyncio
import threading
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


def test_one_record_that_times_out_while_others_are_answered_is_retried_once() -> None:
    never = threading.Event()

    def answers(payload: Any) -> Answer:
        return Answer(hold=never) if payload["example"]["n"] == 3 else Answer()

    async def ask(url: str) -> list[Any]:
        evaluator = http_evaluator(url, timeout_seconds=0.3)
        patient = PatientEvaluator(evaluator, Stop(), lambda sentence: None)
        try:
            return await asyncio.gather(*(patient("t", {"n": n}) for n in range(5)), return_exceptions=True)
        finally:
            await evaluator.close()
            never.set()

    with serving(answers) as server:
        results = asyncio.run(ask(server.url))
    assert [isinstance(result, EvaluatorError) for result in results] == [False, False, False, True, False]
    assert "timed out after 0.3 s" in str(results[3])
    assert [received.payload["example"]["n"] for received in server.received].count(3) == 2


def test_a_service_that_speaks_no_http_is_not_asked_again() -> None:
    async def ask() -> tuple[int, Exception]:
        asked = 0

        async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            writer.write(b"SSH-2.0-hello\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(garbage, "127.0.0.1", 0)
        evaluator = http_evaluator(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        try:
            with pytest.raises(EvaluatorError) as caught:
                await PatientEvaluator(evaluator, Stop(), lambda sentence: None)("text")
            return asked, caught.value
        finally:
            await evaluator.close()
            server.close()

    asked, error = asyncio.run(ask())
    assert (asked, "is not HTTP" in str(error)) == (1, True)
