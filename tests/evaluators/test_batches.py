"""Evaluations that travel together, with a sender that writes down what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.evaluators.batches import Batches, Results, check_batch
from assay.evaluators.payload import Evaluation, EvaluatorError, failed

Sent = list[list[str]]


def payload(text: str, task_model: str | None = None) -> dict[str, Any]:
    return {"candidate": text, "task_model": task_model}


def sender(sent: Sent) -> Any:
    async def send(payloads: Sequence[dict[str, Any]]) -> Results:
        sent.append([each["candidate"] for each in payloads])
        return [Evaluation(score=float(each["candidate"]), side_info={}) for each in payloads]

    return send


def test_a_full_batch_leaves_at_once_and_the_rest_after_a_moment() -> None:
    sent: Sent = []

    async def run() -> list[float]:
        batches = Batches(2, sender(sent))
        return [each.score for each in await asyncio.gather(*(batches.evaluate(payload(str(n))) for n in range(5)))]

    assert asyncio.run(run()) == [0, 1, 2, 3, 4]
    assert sent == [["0", "1"], ["2", "3"], ["4"]]


def test_task_models_do_not_share_a_batch() -> None:
    sent: Sent = []

    async def run() -> None:
        batches = Batches(4, sender(sent))
        await asyncio.gather(*(batches.evaluate(payload(str(n), f"model {n % 2}")) for n in range(4)))

    asyncio.run(run())
    assert sent == [["0", "2"], ["1", "3"]]


def test_a_batch_whose_callers_are_gone_is_given_up() -> None:
    async def run() -> str:
        begun, given_up = asyncio.Event(), asyncio.Event()

        async def hang(payloads: Sequence[dict[str, Any]]) -> Results:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                given_up.set()
            return []

        batches = Batches(2, hang)
        first, second = (asyncio.ensure_future(batches.evaluate(payload("1"))) for _ in range(2))
        await begun.wait()
        first.cancel()
        await asyncio.wait([first])
        one_left = given_up.is_set()
        second.cancel()
        await given_up.wait()
        return f"with one left: {one_left}"

    assert asyncio.run(run()) == "with one left: False"


def test_closing_gives_up_what_is_under_way() -> None:
    async def run() -> bool:
        begun = asyncio.Event()

        async def hang(payloads: Sequence[dict[str, Any]]) -> Results:
            begun.set()
            await asyncio.Event().wait()
            return []

        batches = Batches(1, hang)
        waiting = asyncio.ensure_future(batches.evaluate(payload("1")))
        await begun.wait()
        await batches.close()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    assert asyncio.run(run())


def test_a_failure_for_now_is_that_of_all_and_one_for_good_of_each() -> None:
    async def run(*, retryable: bool) -> tuple[list[Any], int]:
        calls = 0

        async def send(payloads: Sequence[dict[str, Any]]) -> Results:
            nonlocal calls
            calls += 1
            if any(each["candidate"] == "bad" for each in payloads):
                raise failed("e", "server_error", "no", retryable=retryable)
            return [Evaluation(score=1.0, side_info={}) for _ in payloads]

        batches = Batches(2, send)
        work = (batches.evaluate(payload(text)) for text in ("good", "bad"))
        return await asyncio.gather(*work, return_exceptions=True), calls

    found, calls = asyncio.run(run(retryable=True))
    assert ([type(each) for each in found], calls) == ([EvaluatorError, EvaluatorError], 1)
    found, calls = asyncio.run(run(retryable=False))
    assert ([type(each) for each in found], calls) == ([Evaluation, EvaluatorError], 3)


def test_whatever_else_the_sender_raises_reaches_who_asked() -> None:
    async def send(payloads: Sequence[dict[str, Any]]) -> Results:
        raise RuntimeError("a bug")

    async def run() -> None:
        await Batches(1, send).evaluate(payload("1"))

    with pytest.raises(RuntimeError, match="a bug"):
        asyncio.run(run())


def test_a_batch_has_a_size() -> None:
    assert (check_batch(None), check_batch(1)) == (None, 1)
    with pytest.raises(UsageError, match="at least 1"):
        check_batch(0)
