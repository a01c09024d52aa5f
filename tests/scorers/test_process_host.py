"""Scorers in a worker process: they wait side by side, ask the run's models, and are closed at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.scorers.moving import Placed, values

from assay import catalog
from assay.core.errors import FailureError
from assay.core.seams import BuildContext, Model, Scorer
from assay.core.types import Completion, Failure, PartSpec, Request, Sample, Score, Trace
from assay.core.usage import Account, note

SCORERS = """
import asyncio, os
from assay import Completion, FailureError, Request, Score

class Judge:
    '''Asks a model whether the answer is right.'''

    def __init__(self, key, *, context):
        self.name, self._model = key, context.model_behind("judge")

    async def __call__(self, sample, trace):
        answer = await self._model.generate(Request(prompt=trace.prediction))
        return Score(name=self.name, values={"score": float(answer.text == "right"), "process": os.getpid()})

class Meets:
    '''Scores only once two of its calls wait for each other.'''

    def __init__(self, key):
        self.name, self._met, self._both = key, 0, asyncio.Event()

    async def __call__(self, sample, trace):
        self._met += 1
        if self._met == 2:
            self._both.set()
        await self._both.wait()
        return Score(name=self.name, values={"score": 1.0})

class Blocks:
    '''An `async` scorer that computes for ever, but for one answer.'''

    def __init__(self, key):
        self.name = key

    async def __call__(self, sample, trace):
        await asyncio.sleep(0)
        while trace.prediction == "hang":
            try:
                pass
            except:
                pass
        return Score(name=self.name, values={"score": 1.0})

class Closes:
    '''Writes down that it was closed, and where.'''

    def __init__(self, key, *, file):
        self.name, self._file = key, file

    async def __call__(self, sample, trace):
        return Score(name=self.name, values={"score": 1.0})

    async def aclose(self):
        with open(self._file, "a") as file:
            print(os.getpid(), file=file)

class Counts:
    '''Needs all samples of the task.'''

    def __init__(self, key, *, context):
        self.name, self._context = key, context

    async def __call__(self, sample, trace):
        return Score(name=self.name, values={"score": float(len(self._context.dataset)), "process": os.getpid()})

class Odd:
    def __init__(self, key):
        self.name = key

    async def __call__(self, sample, trace):
        return {"score": 1.0}

class Needs:
    '''Reads a variable that no child process gets.'''

    def __init__(self, key):
        self.name = key

    async def __call__(self, sample, trace):
        return Score(name=self.name, values={"score": float(os.environ["MY_SERVICE_TOKEN"])})
"""


@pytest.fixture(autouse=True)
def scorers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_scorers.py").write_text(SCORERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_scorers", raising=False)
    return tmp_path


class Asked:
    """A judge that finds every answer right that begins with a capital, and breaks at `broken`."""

    name = "asked"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.requests.append(request)
        if request.prompt == "broken":
            raise FailureError(Failure(stage="model", part=self.name, kind="server_error", message="no luck"))
        completion = Completion(text="right" if (request.prompt or "").istitle() else "wrong")
        note(self.name, request, completion, judge=True)
        return completion


def own_scorer(name: str, *, limit_seconds: float = 60.0, model: Model | None = None, **options: Any) -> Placed:
    part = PartSpec(key="own", use=f"own_scorers:{name}", options=options)

    def model_for(spec: str, options: Mapping[str, Any], **limits: Any) -> Model:
        assert model is not None
        return model

    samples: Any = [Sample(id="1"), Sample(id="2")]
    context = BuildContext(own_code=True, model_for=model_for, dataset=samples)

    def build(context: BuildContext) -> Scorer:
        made: Scorer = catalog.make("scorer", part.use, options, own_code=True, key="own", context=context)
        return made

    return Placed(build, part, limit_seconds=limit_seconds, context=context)


def test_a_scorer_there_asks_the_models_of_the_run_and_the_attempt_pays() -> None:
    asked = Asked()
    with Account() as account:
        outcomes = own_scorer("Judge", model=asked).score(["Yes", "no"])
    assert values(outcomes) == [1.0, 0.0]
    assert [request.prompt for request in asked.requests] == ["Yes", "no"]
    assert [entry.completion.text for entry in account] == ["right", "wrong"]
    assert all(isinstance(each, Score) and each.values["process"] != os.getpid() for each in outcomes)


def test_what_breaks_in_a_model_is_the_models_failure_there_too() -> None:
    [failure] = own_scorer("Judge", model=Asked()).score(["broken"])
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.part, failure.kind, failure.message) == ("model", "asked", "server_error", "no luck")


def test_calls_wait_side_by_side() -> None:
    assert values(own_scorer("Meets").score(["a", "b"])) == [1.0, 1.0]


def test_an_async_scorer_that_blocks_is_ended_and_the_calls_beside_it_are_made_again() -> None:
    scorer = own_scorer("Blocks", limit_seconds=0.5)
    assert values(scorer.score(["a", "hang", "b", "c"])) == [1.0, "timeout", 1.0, 1.0]


def test_a_scorer_is_closed_where_it_was_built(tmp_path: Path) -> None:
    assert values(own_scorer("Closes", file=str(tmp_path / "closed")).score(["a"])) == [1.0]
    there, here = map(int, (tmp_path / "closed").read_text().split())
    assert sorted((there != here, here == there)) == [False, True]


def test_a_scorer_that_needs_all_samples_scores_where_they_are() -> None:
    scorer = own_scorer("Counts")
    outcomes = scorer.score(["a", "b"])
    assert values(outcomes) == [2.0, 2.0]
    assert {each.values["process"] for each in outcomes if isinstance(each, Score)} == {os.getpid()}
    assert scorer.said == [
        "`own` scores in a thread, which cannot be ended if it never returns: "
        "it asks for what is only in the process of the run"
    ]


def test_what_is_no_score_is_a_failure() -> None:
    [failure] = own_scorer("Odd").score(["a"])
    assert isinstance(failure, Failure)
    assert failure.kind == "bad_output"
    assert failure.message.startswith("returned no Score that can be written to the journal: ")


def test_a_variable_that_a_process_does_not_get_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "1")
    [failure] = own_scorer("Needs").score(["a"])
    assert isinstance(failure, Failure)
    assert "ASSAY_PASS_ENV=MY_SERVICE_TOKEN" in failure.message
    monkeypatch.setenv("ASSAY_PASS_ENV", "MY_SERVICE_TOKEN")
    assert values(own_scorer("Needs").score(["a"])) == [1.0]


def test_rows_that_json_would_change_are_scored_here() -> None:
    scorer = own_scorer("Judge", model=Asked())
    [outcome] = scorer.outcomes([(Sample(id="1", row={"when": (1, 2)}), Trace(prediction="Yes"))])
    assert isinstance(outcome, Score)
    assert outcome.values == {"score": 1.0, "process": os.getpid()}
