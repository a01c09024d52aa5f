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
from tests.optimize.scripted import WordEvaluator

from assay.core.errors import AssayError, UsageError
from assay.evaluators import Evaluation, Evaluator, command_evaluator, http_evaluator, llm_judge_evaluator, preflight
from assay.evaluators.payload import failed
from assay.evaluators.preflight import SENTINEL, in_words
from assay.models.adapters.stub import ConstantModel
from assay.processes.capped import run_capped


def probe(evaluator: Evaluator, example: Any = None, task_model: str | None = None) -> Evaluation:
    return asyncio.run(preflight(evaluator, example, task_model))


def refusal(evaluator: Evaluator) -> str:
    with pytest.raises(AssayError) as caught:
        probe(evaluator)
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
        late = refusal(http_evaluator(server.url, timeout_seconds=0.1))
        hold.set()
    with serving(Answer(b"hm")) as server:
        unread = refusal(http_evaluator(server.url))
    with serving(Answer(b"{}")) as server:
        scoreless = refusal(http_evaluator(server.url))
    url = f"http://127.0.0.1:{unused_port()}/score"
    refused = refusal(http_evaluator(url))
    assert "timed out" in late
    assert "--no-preflight" in late
    assert SENTINEL in late
    assert "not valid JSON" in unread
    assert "missing" in scoreless
    assert "Is the server running? This was" in refused
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
def test_what_is_not_there_is_reported_without_running_anything(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(UsageError, match="not found"):
        probe(command_evaluator(command, cwd=tmp_path))


def test_flags_of_an_interpreter_are_not_taken_for_scripts() -> None:
    assert probe(command_evaluator([sys.executable, "-c", "print('{\"score\": 1}')"])).score == 1.0


def test_a_dead_judge_is_found_before_the_work_begins() -> None:
    assert probe(llm_judge_evaluator("be good", ConstantModel('{"score": 0.5}'))).score == 0.5
    assert "not valid JSON" in refusal(llm_judge_evaluator("be good", ConstantModel("well…")))


def test_the_probe_has_the_time_limit_of_every_evaluation_and_says_what_it_was(tmp_path: Path) -> None:
    slow = command_evaluator(program(tmp_path, "import time; time.sleep(60)"), cwd=tmp_path, timeout_seconds=0.2)
    said = refusal(slow)
    assert "timed out after 0.2 s" in said
    assert "This was the preflight" in said
    assert SENTINEL in said
    assert "--evaluator-timeout" in said
    assert "--no-preflight" in said


def test_an_evaluator_slower_than_ten_seconds_is_as_good_as_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float | None] = []

    async def patient(*args: Any, timeout_seconds: float | None, **options: Any) -> Any:
        limits.append(timeout_seconds)
        return await run_capped(*args, timeout_seconds=timeout_seconds, **options)

    monkeypatch.setattr("assay.evaluators.command.run_capped", patient)
    evaluator = command_evaluator(program(tmp_path, "print('{\"score\": 1}')"), cwd=tmp_path, timeout_seconds=60)
    assert probe(evaluator).score == 1.0
    assert limits == [60]


def test_an_evaluator_that_takes_half_a_minute_is_not_cut_short() -> None:
    """The clock of the loop jumps while the evaluator works, so a limit of the preflight's own would end it."""

    class Slow(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
            loop = asyncio.get_running_loop()
            now = loop.time
            loop.time = lambda: now() + 30.0  # type: ignore[method-assign]
            for _ in range(5):  # turns in which a timer that is due would ring
                await asyncio.sleep(0)
            return await super().__call__(candidate, example, task_model)

    assert probe(Slow()).score == 0.0


def failing(failures: int, kind: str, *, retryable: bool) -> WordEvaluator:
    """So many failures, and then scores."""

    def score(candidate: str, example: Any) -> float:
        if len(evaluator.asked) <= failures:
            raise failed("words", kind, "not this time", retryable=retryable)
        return 1.0

    evaluator = WordEvaluator(score)
    return evaluator


@pytest.mark.parametrize(("kind", "retryable"), [("exit_code", False), ("bad_output", False), ("busy", True)])
def test_a_flaky_evaluator_is_tried_as_often_as_in_a_search(kind: str, retryable: bool) -> None:
    flaky, dead = failing(2, kind, retryable=retryable), failing(99, kind, retryable=retryable)
    assert probe(flaky).score == 1.0
    assert "not this time. This was the preflight" in refusal(dead)
    assert (len(flaky.asked), len(dead.asked)) == (3, 3)


@pytest.mark.parametrize("kind", ["timeout", "bad_candidate", "interrupted"])
def test_what_another_try_would_only_delay_is_refused_at_once(kind: str) -> None:
    evaluator = failing(1, kind, retryable=False)
    assert "not this time" in refusal(evaluator)
    assert len(evaluator.asked) == 1


def test_one_that_knows_no_batches_is_reported_with_its_request(tmp_path: Path) -> None:
    code = "import json, sys; print(json.dumps({'score': len(json.load(sys.stdin)['candidate']) * 0}))"
    evaluator = command_evaluator(program(tmp_path, code), cwd=tmp_path, batch=8)
    said = refusal(evaluator)
    assert "KeyError: 'candidate'" in said
    assert "sent up to 8 evaluations at once, as requested" in said


def test_one_that_answers_only_the_first_of_a_batch_is_found_out(tmp_path: Path) -> None:
    evaluator = command_evaluator(program(tmp_path, 'print(\'{"results": [{"score": 1}]}\')'), cwd=tmp_path, batch=8)
    assert "a list of 2 answers in the order of the batch. Seen: 1 results" in refusal(evaluator)
    assert in_words(evaluator) == f"{evaluator.name}: sent up to 8 evaluations at once"


def test_a_persistent_program_that_passed_is_the_one_that_is_called(tmp_path: Path) -> None:
    code = (
        "import json, os, sys\nfor line in sys.stdin: print(json.dumps({'score': 1, 'pid': os.getpid()}), flush=True)"
    )
    evaluator = command_evaluator(program(tmp_path, code), cwd=tmp_path, persistent=True)

    async def run() -> tuple[Evaluation, Evaluation]:
        found = await preflight(evaluator), await evaluator("text")
        await evaluator.close()
        return found

    probed, scored = asyncio.run(run())
    assert probed == scored
    assert in_words(evaluator) == f"{evaluator.name}: kept running"


def test_the_plain_way_needs_no_words() -> None:
    assert in_words(command_evaluator(["true"])) is None
    assert in_words(llm_judge_evaluator("be good", ConstantModel("x"))) is None
