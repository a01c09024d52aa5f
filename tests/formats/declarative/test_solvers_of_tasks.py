"""What a task may say of its solver: an answer split into parts by any of them, and whether the model gave it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.results.yaml_runs import EQUALS, run_task, write_task

SPLIT = {
    "type": "python",
    "postprocess_snippet": "def postprocess(sample, solver_output):\n"
    "    return [({**sample, 'a': part}, part.upper() if part == 'b' else part)\n"
    "            for part in str(solver_output.output).split()]\n",
}
TRACE = {"items": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a b"}]}]}
SOLVERS: dict[str, dict[str, Any]] = {
    "multi_turn_solver": {
        "message_builders": [
            {"type": "chat_message", "role": "user", "content": "{{ sample.q }}"},
            {"type": "generate"},
        ]
    },
    "pass_through_solver": {"trace_column": "trace"},
    "python": {
        "run_solver_snippet": "async def run_solver(sample, model, trace):\n"
        "    trace.append_user_message(sample['q'])\n"
        "    trace.add_model_response(await model.predict(trace.items))\n"
        "    return trace\n"
    },
    "single_turn_solver": {"input_builder": {"input_messages": [{"role": "user", "content": "{{ sample.q }}"}]}},
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", SOLVERS)
def test_the_answer_of_any_solver_may_be_split_into_parts(tmp_path: Path, kind: str) -> None:
    solver = {"type": kind, **SOLVERS[kind], "postprocessor": SPLIT}
    row = {"q": "a b", "a": "", "trace": json.dumps(TRACE)}
    board = run_task(write_task(tmp_path, [row], [EQUALS], solver=solver))
    assert board.tasks[0].score == 0.5


def test_an_input_builder_without_a_type_has_messages(tmp_path: Path) -> None:
    solver = {"type": "single_turn_solver", **SOLVERS["single_turn_solver"]}
    assert run_task(write_task(tmp_path, [{"q": "x", "a": "x"}], [EQUALS], solver=solver)).tasks[0].score == 1.0


@pytest.mark.parametrize(("asks", "notices"), [(True, 0), (False, 1)])
def test_answers_that_no_model_gave_are_named(tmp_path: Path, asks: bool, notices: int) -> None:
    said = (
        SOLVERS["python"] if asks else {"run_solver_snippet": "async def run_solver(sample, model, trace): return 'x'"}
    )
    solver = {"type": "python", **said}
    board = run_task(write_task(tmp_path, [{"q": "x", "a": "x"}, {"q": "y", "a": "y"}], [EQUALS], solver=solver))
    found = [notice for notice in board.notices if "0 model calls" in notice]
    assert len(found) == notices
    assert all(notice.startswith("t: 2 of 2 attempts made 0 model calls") for notice in found)
