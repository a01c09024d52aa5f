"""Calls of scorers know whose code runs, and make an outcome of whatever happens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.types import Failure, Sample, Score, Trace
from assay.scorers.calls import NotHereError, score_in_steps, score_now

SAMPLE, TRACE = Sample(id="1"), Trace(prediction="x")


def scorer(body: Any) -> Any:
    class Own:
        name = "own"

        async def __call__(self, sample: Sample, trace: Trace) -> Any:
            return await body()

    return Own()


async def scores() -> Score:
    return Score(name="own", values={"score": 1.0})


async def waits_twice() -> Score:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return await scores()


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit("no"), KeyboardInterrupt("no"), GeneratorExit("no")])
def test_whatever_a_scorer_raises_is_a_failure(error: BaseException) -> None:
    async def breaks() -> Score:
        raise error

    now = score_now(scorer(breaks), SAMPLE, TRACE)
    later = asyncio.run(score_in_steps(scorer(breaks), SAMPLE, TRACE, 1, lambda number, step: None))
    for outcome in (now, later):
        assert isinstance(outcome, Failure)
        assert outcome.message.startswith(f"{type(error).__name__}: no")


def test_a_failure_that_it_names_is_that_one() -> None:
    failure = Failure(stage="model", kind="refused", message="not today")

    async def breaks() -> Score:
        raise FailureError(failure)

    assert score_now(scorer(breaks), SAMPLE, TRACE) == failure


def test_one_that_waits_is_not_scored_at_once_but_in_steps_of_which_each_is_marked() -> None:
    assert score_now(scorer(waits_twice), SAMPLE, TRACE) is None
    marks: list[tuple[int, int]] = []
    outcome = asyncio.run(score_in_steps(scorer(waits_twice), SAMPLE, TRACE, 7, lambda *mark: marks.append(mark)))
    assert outcome == Score(name="own", values={"score": 1.0})
    assert marks == [(7, 1), (0, 0), (7, 2), (0, 0), (7, 3), (0, 0)]


def test_what_is_raised_where_it_waits_reaches_the_scorer() -> None:
    async def gives_up() -> Score:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return Score(name="own", values={"score": 0.5})
        raise AssertionError

    outcome = asyncio.run(score_in_steps(scorer(gives_up), SAMPLE, TRACE, 1, lambda number, step: None))
    assert isinstance(outcome, Score)
    assert outcome.values == {"score": 0.5}


def test_what_is_not_here_is_no_failure() -> None:
    async def needs_samples() -> Score:
        raise NotHereError

    with pytest.raises(NotHereError):
        score_now(scorer(needs_samples), SAMPLE, TRACE)
