"""Scorers that exist in this process only score in a thread, where they wait and ask models as elsewhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from tests.scorers.moving import Placed, values

from assay.core.seams import BuildContext, Model, Scorer
from assay.core.types import Completion, PartSpec, Request, Sample, Score, Trace
from assay.core.usage import Account, note


class Echo:
    """A model of the run's loop."""

    name = "echo"

    def __init__(self) -> None:
        self.loops: set[int] = set()

    async def generate(self, request: Request) -> Completion:
        self.loops.add(id(asyncio.get_running_loop()))
        completion = Completion(text=request.prompt or "")
        note(self.name, request, completion, judge=True)
        return completion


class Asks:
    """Asks its model, in whatever loop it runs; something is started here, so no process can have it."""

    name = "own"

    def __init__(self, model: Model) -> None:
        self._model = model
        self.loops: list[int] = []
        self.closed: list[int] = []

    def start_here(self) -> str:
        return "started"

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        self.loops.append(id(asyncio.get_running_loop()))
        if trace.prediction == "hang":
            threading.Event().wait(2.0)
        answer = await self._model.generate(Request(prompt=trace.prediction))
        return Score(name=self.name, values={"score": float(answer.text == "yes")})

    async def aclose(self) -> None:
        self.closed.append(id(asyncio.get_running_loop()))


@pytest.fixture
def asks() -> tuple[Placed, list[Asks], Echo]:
    model, made = Echo(), list[Asks]()

    def model_for(spec: str, options: Mapping[str, Any], **limits: Any) -> Model:
        return model

    def build(context: BuildContext) -> Scorer:
        found = context.model_behind("judge")
        assert found is not None
        made.append(Asks(found))
        return made[-1]

    part = PartSpec(key="own", use="mine:Asks")
    return Placed(build, part, limit_seconds=0.4, context=BuildContext(model_for=model_for)), made, model


def test_its_requests_are_made_in_the_loop_of_the_run_and_the_attempt_pays(
    asks: tuple[Placed, list[Asks], Echo],
) -> None:
    placed, [scorer], model = asks
    with Account() as account:
        assert values(placed.score(["yes", "no"])) == [1.0, 0.0]
    assert [entry.completion.text for entry in account] == ["yes", "no"]
    assert len(model.loops) == 1
    assert not model.loops & {*scorer.loops}


def test_it_is_closed_once_in_the_loop_it_ran_in(asks: tuple[Placed, list[Asks], Echo]) -> None:
    placed, [scorer], _ = asks
    placed.score(["yes"])
    assert scorer.closed == scorer.loops


def test_one_that_blocks_fails_and_the_calls_beside_it_are_made_in_another_thread(
    asks: tuple[Placed, list[Asks], Echo],
) -> None:
    placed, [scorer], _ = asks
    assert values(placed.score(["yes", "hang", "no"])) == [1.0, "timeout", 0.0]
    assert len({*scorer.loops}) == 2


def test_what_is_started_here_is_started_through_where_it_is_placed(asks: tuple[Placed, list[Asks], Echo]) -> None:
    started: Any = asks[0].scorer
    assert started.start_here() == "started"
