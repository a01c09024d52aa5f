"""One evaluation before the work begins, by the same rules as all others."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, serving
from tests.evaluators.test_http_service import unused_port

from assay.core.errors import AssayError, UsageError
from assay.evaluators import Evaluation, Evaluator, command_evaluator, http_evaluator, llm_judge_evaluator, preflight
from assay.evaluators.preflight import SENTINEL
from assay.models.stub import ConstantModel


def probe(evaluator: Evaluator, example: Any = None, task_model: str | None = None, **options: Any) -> Evaluation:
    return asyncio.run(preflight(evaluator, example, task_model, **options))


def refusal(evaluator: Evaluator, **options: Any) -> str:
    with pytest.raises(AssayError) as caught:
        probe(evaluator, **options)
    return str(caught.value)


def program(folder: Path, code: str) -> list[str]:
    (folder / "score.py").write_text(code, encoding="utf-8")
    return ["python3", "score.py"]


def test_p1_a_missing_script_is_named(tmp_path: Path) -> None:
    assert f"script not found: {tmp_path / 'none.py'}" in refusal(
        command_evaluator(["python3", "none.py"], cwd=tmp_path)
    )


def test_p2_a_missing_folder_is_named(tmp_path: Path) -> None:
    evaluator = command_evaluator(["python3", "score.py"], cwd=tmp_path / "none")
    assert f"{tmp_path / 'none'} does not exist" in refusal(evaluator)


def test_p3_output_that_is_not_json(tmp_path: Path) -> None:
    evaluator = command_evaluator(program(tmp_path, "print('hello')"), cwd=tmp_path)
    assert "stdout is not valid JSON" in refusal(evaluator)


def test_p4_a_good_script_passes(tmp_path: Path) -> None:
    evaluator = command_evaluator(program(tmp_path, "print('{\"score\": 0.5}')"), cwd=tmp_path)
    assert probe(evaluator).score == 0.5


def test_p5_the_range_holds_at_preflight_for_commands(tmp_path: Path) -> None:
    command = program(tmp_path, "print('{\"score\": 1.5}')")
    assert "outside 0..1" in refusal(command_evaluator(command, cwd=tmp_path))
    assert probe(command_evaluator(command, cwd=tmp_path, score_range="any")).score == 1.5


def test_p6_the_range_holds_at_preflight_for_services() -> None:
    with serving(Answer(b'{"score": 1.5}')) as server:
        assert "outside 0..1" in refusal(http_evaluator(server.url))
        assert probe(http_evaluator(server.url, score_range="any")).score == 1.5


def test_p7_a_good_service_passes_and_is_asked_for_the_sentinel() -> None:
    with serving(Answer()) as server:
        assert probe(http_evaluator(server.url)).score == 0.5
    assert server.received[0].payload == {"_protocol_version": 2, "candidate": SENTINEL}


def test_p8_each_trouble_of_a_service_has_its_own_message() -> None:
    hold = threading.Event()
    with serving(Answer(hold=hold)) as server:
        late = refusal(http_evaluator(server.url), timeout_seconds=0.1)
        hold.set()
    with serving(Answer(b"hm")) as server:
        unread = refusal(http_evaluator(server.url))
    with serving(Answer(b"{}")) as server:
        scoreless = refusal(http_evaluator(server.url))
    url = f"http://127.0.0.1:{unused_port()}/score"
    refused = refusal(http_evaluator(url))
    assert "timed out" in late
    assert "not valid JSON" in unread
    assert "missing" in scoreless
    assert "Is the server running?" in refused
    assert url in refused


def test_p10_a_slow_evaluator_may_know_the_sentinel(tmp_path: Path) -> None:
    code = f"import json, sys, time\nif json.load(sys.stdin)['candidate'] != {SENTINEL!r}: time.sleep(60)\n"
    evaluator = command_evaluator(program(tmp_path, code + "print('{\"score\": 0}')"), cwd=tmp_path)
    assert probe(evaluator).score == 0.0


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
def test_p10_the_example_in_bash_answers_the_sentinel_at_once() -> None:
    examples = Path(__file__).parents[2] / "examples" / "evaluators"
    assert probe(command_evaluator(["bash", "score.sh"], cwd=examples)) == Evaluation(score=0.0, side_info={})


def test_the_probe_carries_example_and_task_model() -> None:
    with serving(Answer()) as server:
        probe(http_evaluator(server.url), {"input": "first"}, "openai/small")
    assert server.received[0].payload["example"] == {"input": "first"}
    assert server.received[0].payload["task_model"] == "openai/small"


def test_a_program_without_permission_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "score.sh"
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    os.chmod(path, stat.S_IRUSR)
    assert "is not executable" in refusal(command_evaluator([str(path)]))


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], ["./none.sh"], ["bash", "none.sh"]])
def test_what_is_not_there_is_told_without_running_anything(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(UsageError, match="not found"):
        probe(command_evaluator(command, cwd=tmp_path))


def test_flags_of_an_interpreter_are_not_taken_for_scripts() -> None:
    assert probe(command_evaluator([sys.executable, "-c", "print('{\"score\": 1}')"])).score == 1.0


def test_a_dead_judge_is_found_with_one_call() -> None:
    assert probe(llm_judge_evaluator("be good", ConstantModel('{"score": 0.5}'))).score == 0.5
    assert "not valid JSON" in refusal(llm_judge_evaluator("be good", ConstantModel("well…")))
