"""`python` solver: the author's code asks the model and leaves a trace."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.scripted import Scripted

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Failure, Sample, Trace
from assay.solvers.python_snippet import PythonSolver

TWO_TURNS = """
async def run_solver(sample, model, trace):
    trace.append_user_message(sample["q"])
    first = await model.predict(trace.items)
    trace.add_model_response(first)
    trace.append_user_message("You said " + first.text + ". Sure?")
    second = await model.predict(trace.items, sample=sample)
    trace.add_model_response(second)
    assert first.raw_output.choices[0].message.content == first.raw_output["choices"][0]["message"]["content"]
    return trace
"""


def solve(source: str, answers: list[Any], **options: Any) -> tuple[Trace, Scripted]:
    async def run() -> tuple[Trace, Scripted]:
        model = Scripted(answers)
        solver = PythonSolver(run_solver_snippet=source, context=BuildContext(own_code=True), **options)
        try:
            return await solver(Sample(id="1", row={"q": "2+2?"}), model), model
        finally:
            await solver.aclose()

    return asyncio.run(run())


def test_the_snippet_talks_to_the_model_and_returns_its_trace() -> None:
    trace, model = solve(TWO_TURNS, ["4", "yes"])
    assert trace.prediction == "yes"
    assert [m.content for m in model.requests[1].messages or ()] == ["2+2?", "4", "You said 4. Sure?"]
    assert len(trace.completions) == 2
    assert [m.role for m in trace.messages or ()] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize(
    ("body", "prediction"),
    [
        ("return 'plain text'", "plain text"),
        ("r = await model.predict('prompt'); trace.add_model_response(r)", "out"),
        (
            "r = await model.predict({'messages': [{'role': 'user', 'content': 'x'}], 'seed': 1}); return r.text",
            "out",
        ),
        ("trace.append_custom_task_input_message({'a': 1}); r = await model.predict(trace); return r.text", "out"),
    ],
)
def test_snippets_may_answer_in_several_ways(body: str, prediction: str) -> None:
    trace, _ = solve(f"async def run_solver(sample, model, trace):\n  {body}\n", ["out"])
    assert trace.prediction == prediction


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return trace", "without an answer"),
        ("return 3", "must return the trace"),
        ("return sample['missing']", "KeyError"),
        ("import time; time.sleep(100)", "took longer than 0.4 s"),
    ],
)
def test_what_goes_wrong_is_a_failure_of_the_solver(body: str, says: str) -> None:
    with pytest.raises(FailureError) as caught:
        solve(f"async def run_solver(sample, model, trace):\n  {body}\n", [], time_limit_seconds=0.4)
    assert caught.value.failure.stage == "solver"
    assert says in caught.value.failure.message


def test_an_answer_is_data_and_never_code() -> None:
    hostile = "__import__('os').system('touch /tmp/should-not-exist')"
    trace, _ = solve(
        "async def run_solver(sample, model, trace):\n  r = await model.predict('x')\n  return r.text\n", [hostile]
    )
    assert trace.prediction == hostile


def test_a_snippet_cannot_call_another_model_under_the_name_of_this_one() -> None:
    asked = "{'messages': [{'role': 'user', 'content': 'q'}], 'model': 'say:PARIS'}"
    with pytest.raises(FailureError, match="the input names `say:PARIS`"):
        solve(f"async def run_solver(sample, model, trace):\n  return (await model.predict({asked})).text\n", ["x"])


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    return (await model.predict('x')).text\n  except Exception:\n    return 'a guess'",
        "try:\n    return (await model.predict('x')).text\n  except:\n    return 'a guess'",
        "import asyncio\n  await asyncio.gather(model.predict('x'), return_exceptions=True)\n  return 'a guess'",
        "try:\n    return (await model.predict('x')).text\n  except BaseException:\n    raise ValueError('mine')",
    ],
)
def test_whatever_a_snippet_catches_it_makes_no_score_of_the_models_failure(body: str) -> None:
    away = FailureError(Failure(stage="model", part="m", kind="server_error", message="500"))
    with pytest.raises(FailureError) as caught:
        solve(f"async def run_solver(sample, model, trace):\n  {body}\n", [away])
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("model", "server_error")
