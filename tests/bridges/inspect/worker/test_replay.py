"""A request in our words, and solvers that go on from an answer that is given."""

from __future__ import annotations

import asyncio

import pytest

from assay.bridges.inspect.worker.replay import UnansweredError, request_of, run_here, solved
from assay.bridges.process.problem import BridgeError

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed (extra `inspect-ai`)")


def test_settings_of_the_call_go_before_those_of_the_task() -> None:
    from inspect_ai.model import ChatMessageUser, GenerateConfig

    config = GenerateConfig(temperature=1.0, top_k=5, system_message="S", timeout=3, stop_seqs=["x"])
    made = request_of([ChatMessageUser(content="q")], config, {"temperature": 0.0, "max_tokens": None})
    assert made == {
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "q"}],
        "generation": {"temperature": 0.0, "stop": ["x"], "extra": {"top_k": 5}},
    }
    with pytest.raises(BridgeError, match="`best_of` is not supported"):
        request_of([], GenerateConfig(best_of=2), {})


def test_solvers_stop_at_what_they_ask_and_go_on_from_its_answer() -> None:
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    sample = Sample(input="q", choices=["a", "b"], target="B")
    task = inspect_ai.Task(dataset=[sample], solver=multiple_choice(), scorer=choice())
    with pytest.raises(UnansweredError) as caught:
        run_here(solved(task, sample, None))
    state, asked = run_here(solved(task, sample, {"text": "ANSWER: B", "finish_reason": "length"}))
    assert asked == caught.value.request
    assert [each.correct for each in state.choices] == [False, True]
    assert state.output.stop_reason == "max_tokens"


def test_a_loop_of_its_own_runs_within_another() -> None:
    async def inner() -> int:
        await asyncio.sleep(0)
        return 7

    async def outer() -> int:
        found = run_here(inner())
        await asyncio.sleep(0)
        return found

    assert asyncio.run(outer()) == 7
