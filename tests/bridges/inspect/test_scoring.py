"""A grader is called from here, as often as the scorer wants, and what was left unscored is no score."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from assay.bridges.inspect.inspect_process import LIBRARY
from assay.bridges.inspect.scoring import InspectScorer, inspect_scorer
from assay.bridges.process.library_process import LibraryProcess
from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Completion, Request, Sample, Score, Trace
from assay.testing import ScriptedModel

WORKER = """\
def scored(each):
    said = each["answer"]["text"]
    if said == "right":
        values = {"score": 1.0, "value": "C"}
        return {"values": values, "answer": said, "reason": None, "unscored": False, "metadata": {}}
    if len(each["verdicts"]) < (999 if said == "endless" else 2):
        asked = [{"role": "user", "content": f"grade {said} {len(each['verdicts'])}"}]
        return {"asks": {"messages": asked, "generation": {"temperature": 0.0, "stop": ["X"]}}}
    joined = " ".join(each["verdicts"])
    return {"values": {"score": None}, "answer": said, "reason": joined, "unscored": True, "metadata": {}}

def answer(order):
    assert order["name"] == "p/t" and order["scorer"] == 1
    return {"scores": [scored(each) for each in order["samples"]]}
"""


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made = LibraryProcess("inspect_ai", WORKER, "")
    monkeypatch.setattr(LIBRARY, "process", lambda: made)
    yield
    made.close()


def scorer(asked: list[Request], *, own_code: bool = True) -> InspectScorer:
    def reply(request: Request) -> str:
        asked.append(request)
        return f"verdict {len(asked)}"

    context = BuildContext(own_code=own_code, model_for=lambda *_, **__: ScriptedModel(reply))
    return inspect_scorer("graded", library={"name": "p/t"}, scorer=1, model_key="grader", context=context)


def scored(by: InspectScorer, answer: str) -> Score:
    sample = Sample(id="1", row={"input": "Q"}, extras={"messages": [{"role": "user", "content": "Q"}]})
    return asyncio.run(by(sample, Trace(prediction=answer, completions=(Completion(text=answer),))))


def test_a_score_is_what_the_process_says(process: None) -> None:
    made = scored(scorer([]), "right")
    assert (made.values, made.answer, made.metadata) == ({"score": 1.0, "value": "C"}, "right", None)


def test_a_grader_is_called_until_the_scorer_has_enough(process: None) -> None:
    asked: list[Request] = []
    with pytest.raises(FailureError, match="verdict 1 verdict 2") as caught:
        scored(scorer(asked), "wrong")
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("scorer", "bad_output")
    assert [each.text() for each in asked] == ["grade wrong 0", "grade wrong 1"]
    assert (asked[0].temperature, asked[0].stop) == (0.0, ("X",))


def test_a_scorer_that_never_has_enough_fails(process: None) -> None:
    asked: list[Request] = []
    with pytest.raises(FailureError, match="asked a grader 21 times"):
        scored(scorer(asked), "endless")
    assert len(asked) == 20


def test_nothing_runs_that_is_not_trusted(process: None) -> None:
    with pytest.raises(FailureError, match="run with --trust"):
        scored(scorer([], own_code=False), "right")
