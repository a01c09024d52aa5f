"""Command evaluators, with real programs."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.evaluators import Evaluation, EvaluatorError, command_evaluator
from assay.evaluators.command import TASK_MODEL_VARIABLE, CommandEvaluator


def script(folder: Path, code: str, name: str = "score.py") -> list[str]:
    (folder / name).write_text(code, encoding="utf-8")
    return [sys.executable, "-S", str(folder / name)]


def evaluate(command: list[str], candidate: str = "text", example: Any = None, **options: Any) -> Evaluation:
    return asyncio.run(command_evaluator(command, **options)(candidate, example))


def failure(command: list[str], candidate: str = "text", **options: Any) -> EvaluatorError:
    with pytest.raises(EvaluatorError) as caught:
        evaluate(command, candidate, **options)
    return caught.value


def saying(folder: Path, answer: str) -> list[str]:
    return script(folder, f"print({answer!r})")


ECHO = "import sys; sys.stdout.write(sys.stdin.read())"


def test_c1_a_score_and_a_key_next_to_it(tmp_path: Path) -> None:
    evaluation = evaluate(saying(tmp_path, '{"score": 0.75, "reasoning": "fine"}'))
    assert evaluation == Evaluation(score=0.75, side_info={"reasoning": "fine"})


def test_c2_output_that_is_not_json(tmp_path: Path) -> None:
    broken = failure(saying(tmp_path, "looks good to me"))
    assert "stdout is not valid JSON" in broken.failure.message
    assert "looks good to me" in broken.failure.message


def test_c3_a_non_zero_exit_even_with_a_valid_answer(tmp_path: Path) -> None:
    code = "import sys; print('{\"score\": 1}'); sys.stderr.write('no licence'); sys.exit(7)"
    broken = failure(script(tmp_path, code))
    assert broken.failure.kind == "exit_code"
    assert "exit code 7" in broken.failure.message
    assert broken.side_info["stderr"] == "no licence"


def test_the_end_of_a_long_traceback_is_shown_and_a_variable_that_was_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_KEY", "secret")
    deep = "def f(n):\n    return f(n - 1) if n else __import__('os').environ['MY_SERVICE_KEY']\nf(30)"
    message = failure(script(tmp_path, deep)).failure.message
    assert "KeyError: 'MY_SERVICE_KEY'" in message
    assert "--evaluator-env MY_SERVICE_KEY passes it" in message
    assert "secret" not in message
    assert len(message) < 700


def test_c4_a_missing_program() -> None:
    broken = failure(["no-such-program-anywhere"])
    assert broken.failure.kind == "not_started"
    assert "program not found: no-such-program-anywhere" in broken.failure.message


def test_c5_a_timeout_is_a_failure_of_its_own_kind(tmp_path: Path) -> None:
    broken = failure(script(tmp_path, "import time; time.sleep(60)"), timeout_seconds=0.1)
    assert broken.failure.kind == "timeout"
    assert "timed out after 0.1 s" in broken.failure.message


def test_c6_an_evaluator_that_echoes_proves_that_the_payload_arrives(tmp_path: Path) -> None:
    broken = failure(script(tmp_path, ECHO), "the candidate, ünïcode 🎈")
    assert "`score` is missing" in broken.failure.message
    assert broken.side_info == {"_protocol_version": 2, "candidate": "the candidate, ünïcode 🎈"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('{"score": "good"}', "not numeric"),  # C7
        ('{"score": 1.2}', "outside 0..1"),  # C8
        ("[0.5]", "must be an object"),  # C9
        ('{"score": true}', "not numeric"),
        ('{"score": NaN}', "not numeric: NaN"),
        ('{"score": 1%s}' % ("0" * 400), "not finite"),
        ('note\n{"score": 1}', "not valid JSON"),
        ("", "nothing at all"),
    ],
)
def test_c7_c8_c9_answers_that_are_no_score(tmp_path: Path, answer: str, reason: str) -> None:
    broken = failure(saying(tmp_path, answer))
    assert reason in broken.failure.message
    assert broken.failure.kind == "bad_output"


def test_output_that_is_not_utf8(tmp_path: Path) -> None:
    code = 'import sys; sys.stdout.buffer.write(b\'{"score": 1, "a": "\\xff"}\')'
    assert "not UTF-8" in failure(script(tmp_path, code)).failure.message


def test_c10_the_task_model_reaches_payload_and_environment(tmp_path: Path) -> None:
    code = f"import os, sys, json; p = json.load(sys.stdin); e = os.environ.get({TASK_MODEL_VARIABLE!r})\n"
    code += "print(json.dumps({'score': 1, 'payload': p.get('task_model'), 'environment': e}))"
    command = script(tmp_path, code)
    given = evaluate(command, task_model="openai/small").side_info
    assert given == {"payload": "openai/small", "environment": "openai/small"}
    per_call = asyncio.run(command_evaluator(command)("text", None, "other/model")).side_info
    assert per_call == {"payload": "other/model", "environment": "other/model"}


def test_without_a_task_model_a_stale_variable_is_not_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TASK_MODEL_VARIABLE, "left/over")
    code = f"import os, json; print(json.dumps({{'score': 1, 'there': {TASK_MODEL_VARIABLE!r} in os.environ}}))"
    assert evaluate(script(tmp_path, code)).side_info == {"there": False}


def test_c11_the_example_reaches_the_payload(tmp_path: Path) -> None:
    example = {"input": "2+2", "expected": "4", "meta": {"tags": ["ü", 1, None]}}
    with pytest.raises(EvaluatorError) as caught:
        evaluate(script(tmp_path, ECHO), "text", example)
    assert caught.value.side_info["example"] == example


def test_c12_a_relative_script_runs_in_the_given_folder(tmp_path: Path) -> None:
    script(tmp_path, "import json, os; print(json.dumps({'score': 1, 'marker': os.path.exists('marker')}))")
    (tmp_path / "marker").touch()
    assert evaluate([sys.executable, "score.py"], cwd=tmp_path).side_info == {"marker": True}


def test_c13_the_range_decides_about_one_and_a_half(tmp_path: Path) -> None:
    command = saying(tmp_path, '{"score": 1.5}')
    assert "outside 0..1" in failure(command).failure.message
    assert "outside 0..1" in failure(command, score_range="unit").failure.message
    assert evaluate(command, score_range="any").score == 1.5


def test_an_evaluator_of_protocol_v1_works_unchanged(tmp_path: Path) -> None:
    code = "import json, sys; print(json.dumps({'score': len(json.load(sys.stdin)['candidate']) / 10}))"
    assert evaluate(script(tmp_path, code), "12345", {"input": "x"}, task_model="m").score == 0.5


def test_a_timeout_ends_grandchildren_too(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    hold = "import sys, time; f = open(sys.argv[1], 'wb', 0); f.write(b'x'); time.sleep(120); f.write(b'left alone')"
    code = "import subprocess, sys, time\n"
    code += f"subprocess.Popen([sys.executable, '-S', '-c', {hold!r}, {str(pipe)!r}])\ntime.sleep(60)"
    # the grandchild holds the pipe open for as long as it lives, and writes into it before it ends by itself
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert failure(script(tmp_path, code), timeout_seconds=2.0).failure.kind == "timeout"
        os.set_blocking(reading, True)
        assert (os.read(reading, 1), os.read(reading, 1)) == (b"x", b"")
    finally:
        os.close(reading)


def test_children_left_behind_do_not_delay_the_answer(tmp_path: Path) -> None:
    code = "import subprocess, sys\nsubprocess.Popen(['sleep', '60'])\nprint('{\"score\": 1}')"
    assert evaluate(script(tmp_path, code), timeout_seconds=30).score == 1.0


def test_a_cancelled_evaluation_ends_the_program(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = f"import time; f = open({str(pipe)!r}, 'wb', 0); f.write(b'x'); time.sleep(120); f.write(b'left alone')"
    command = script(tmp_path, code)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    async def cancel_once_it_runs() -> None:
        running = asyncio.create_task(command_evaluator(command)("text"))
        started = asyncio.Event()
        asyncio.get_running_loop().add_reader(reading, started.set)
        await started.wait()
        asyncio.get_running_loop().remove_reader(reading)
        running.cancel()
        await asyncio.wait([running])

    try:
        asyncio.run(cancel_once_it_runs())
        os.set_blocking(reading, True)
        assert (os.read(reading, 1), os.read(reading, 1)) == (b"x", b"")
    finally:
        os.close(reading)


def test_endless_stdout_is_cut_off(tmp_path: Path) -> None:
    code = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    broken = failure(script(tmp_path, code), max_stdout_bytes=100_000)
    assert "stdout is longer than 100000 bytes" in broken.failure.message


def test_stderr_without_bounds_does_not_block_or_fill_memory(tmp_path: Path) -> None:
    code = "import sys\nfor _ in range(200): sys.stderr.write('x' * 65536)\nprint('{\"score\": 1}')"
    assert evaluate(script(tmp_path, code)).score == 1.0


def test_a_program_that_does_not_read_a_large_payload(tmp_path: Path) -> None:
    assert evaluate(saying(tmp_path, '{"score": 1}'), "x" * 5_000_000).score == 1.0


def test_a_program_that_kills_itself(tmp_path: Path) -> None:
    broken = failure(script(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert "signal 11" in broken.failure.message


def test_words_are_never_read_by_a_shell(tmp_path: Path) -> None:
    command = [
        *script(tmp_path, "import json, sys; print(json.dumps({'score': 1, 'words': sys.argv[1:]}))"),
        "$(id); *",
    ]
    assert evaluate(command).side_info == {"words": ["$(id); *"]}


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "score.sh").write_text("#!/bin/sh\necho '{}'\n", encoding="utf-8")
    os.chmod(tmp_path / "score.sh", stat.S_IRUSR)
    broken = failure([str(tmp_path / "score.sh")])
    assert broken.failure.kind == "not_started"
    assert "Permission denied" in broken.failure.message


def test_a_script_without_its_interpreter_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "score.sh").write_text("#!/usr/bin/no-such-interpreter -x\necho\n", encoding="utf-8")
    os.chmod(tmp_path / "score.sh", 0o755)
    broken = failure([str(tmp_path / "score.sh")])
    assert "the interpreter in the first line of" in broken.failure.message
    assert "#!/usr/bin/no-such-interpreter -x" in broken.failure.message


def test_secrets_stay_here_unless_passed_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "s1")
    monkeypatch.setenv("OTHER_API_KEY", "s2")
    code = "import json, os; print(json.dumps({'score': 1, 'seen': sorted(k for k in os.environ if 'API_KEY' in k)}))"
    assert evaluate(script(tmp_path, code), pass_env=["OTHER_API_KEY"]).side_info == {"seen": ["OTHER_API_KEY"]}


def test_a_passed_name_that_is_not_set_is_reported_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evaluator = command_evaluator(saying(tmp_path, '{"score": 1}'), pass_env=["NOT_SET_ANYWHERE"])
    with pytest.raises(UsageError, match="NOT_SET_ANYWHERE, which is not set"):
        evaluator.check()
    (tmp_path / ".env").write_text("NOT_SET_ANYWHERE=1\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"variables of \.env are not passed to programs"):
        evaluator.check()


@pytest.mark.parametrize("command", ["python3 score.py", [], [""], ["a\0b"], [1]])
def test_what_is_not_a_list_of_words_is_refused(command: Any) -> None:
    with pytest.raises(UsageError, match="command"):
        command_evaluator(command)


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_a_timeout_must_be_positive(seconds: float) -> None:
    with pytest.raises(UsageError, match="timeout"):
        command_evaluator(["true"], timeout_seconds=seconds)


def test_the_identity_follows_the_content_of_the_script(tmp_path: Path) -> None:
    command = saying(tmp_path, '{"score": 1}')
    before = command_evaluator(command).identity
    assert json.loads(json.dumps(before)) == before == command_evaluator(command).identity
    saying(tmp_path, '{"score": 0}')
    assert command_evaluator(command).identity != before


def test_many_at_once_do_not_mix_their_answers(tmp_path: Path) -> None:
    code = "import json, sys; print(json.dumps({'score': 1, 'said': json.load(sys.stdin)['candidate']}))"
    evaluator = command_evaluator(script(tmp_path, code))

    async def all_of_them() -> list[Evaluation]:
        return await asyncio.gather(*(evaluator(str(number)) for number in range(12)))

    assert [evaluation.side_info["said"] for evaluation in asyncio.run(all_of_them())] == [str(n) for n in range(12)]


def test_the_end_of_stderr_is_shown_where_the_reason_stands(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('frame\\n' * 500); raise SystemExit('KeyError: the reason')"
    broken = failure(script(tmp_path, code))
    assert "KeyError: the reason" in broken.failure.message
    assert "KeyError: the reason" in broken.side_info["stderr"]


LOOP = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {"score": len(request["candidate"]) / 10, "pid": os.getpid(), "_id": request["_id"]}
    print(json.dumps(answer), flush=True)
"""


def asked(evaluator: CommandEvaluator, *candidates: str) -> list[Evaluation | BaseException]:
    """Each after the other, with whatever is kept ended afterwards."""

    async def run() -> list[Evaluation | BaseException]:
        found: list[Evaluation | BaseException] = []
        for candidate in candidates:
            found += await asyncio.gather(evaluator(candidate, {"n": 1}), return_exceptions=True)
        await evaluator.close()
        return found

    return asyncio.run(run())


def message(found: Evaluation | BaseException) -> str:
    assert isinstance(found, EvaluatorError)
    return found.failure.message


def test_a_persistent_program_is_started_once_and_its_number_is_no_side_information(tmp_path: Path) -> None:
    first, second = asked(command_evaluator(script(tmp_path, LOOP), persistent=True), "12345", "123")
    assert isinstance(first, Evaluation)
    assert isinstance(second, Evaluation)
    assert (first.score, second.score) == (0.5, 0.3)
    assert first.side_info.keys() == {"pid"}
    assert first.side_info == second.side_info


def test_as_many_persistent_programs_as_are_called_at_once(tmp_path: Path) -> None:
    evaluator = command_evaluator(script(tmp_path, LOOP), persistent=True)

    async def run() -> tuple[list[Evaluation], list[int]]:
        found = await asyncio.gather(*(evaluator("x" * n) for n in range(5)))
        found += await asyncio.gather(*(evaluator("x" * n) for n in range(5)))
        assert evaluator.kept is not None
        alive = evaluator.kept.pids
        await evaluator.close()
        return found, alive

    found, alive = asyncio.run(run())
    assert [evaluation.score for evaluation in found] == [n / 10 for n in range(5)] * 2
    assert {evaluation.side_info["pid"] for evaluation in found} == set(alive)
    assert len(alive) == 5
    for pid in alive:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_persistent_program_that_dies_is_restarted(tmp_path: Path) -> None:
    dies = LOOP.replace("    answer", "    if request['candidate'] == 'die': sys.exit('no licence')\n    answer", 1)
    good, dead, alive = asked(command_evaluator(script(tmp_path, dies), persistent=True), "1", "die", "12")
    assert isinstance(good, Evaluation)
    assert isinstance(alive, Evaluation)
    assert "ended with exit code 1. It wrote to stderr: no licence" in message(dead)
    assert alive.score == 0.2
    assert good.side_info["pid"] != alive.side_info["pid"]


def test_a_persistent_program_that_leaves_after_each_answer_costs_no_evaluation(tmp_path: Path) -> None:
    once = LOOP + "    break\n"
    found = asked(command_evaluator(script(tmp_path, once), persistent=True), *["x"] * 5)
    assert [evaluation.score for evaluation in found if isinstance(evaluation, Evaluation)] == [0.1] * 5


def test_a_persistent_program_that_hangs_is_ended_and_the_next_evaluation_has_another(tmp_path: Path) -> None:
    hangs = LOOP.replace(
        "    answer", "    if request['candidate'] == 'hang': import time; time.sleep(60)\n    answer", 1
    )
    evaluator = command_evaluator(script(tmp_path, hangs), persistent=True, timeout_seconds=3)
    late, good = asked(evaluator, "hang", "12")
    assert "timed out after 3 s" in message(late)
    assert isinstance(good, Evaluation)
    assert good.score == 0.2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("print('loading', flush=True)", "not valid JSON"),
        ("print(json.dumps({'score': 1, '_id': 99}), flush=True)", "answered the request with `_id` 99"),
        ("print('x' * 3000, flush=True)", "longer than 2000 bytes"),
        ("print(json.dumps({'score': 7}), flush=True)", "outside 0..1"),
    ],
)
def test_what_a_persistent_program_says_instead_fails_that_evaluation_alone(
    tmp_path: Path, line: str, reason: str
) -> None:
    code = LOOP.replace("    answer", f"    if request['candidate'] == 'bad': {line}; continue\n    answer", 1)
    bad, good = asked(command_evaluator(script(tmp_path, code), persistent=True, max_stdout_bytes=2000), "bad", "12")
    assert reason in message(bad)
    assert isinstance(good, Evaluation)
    assert good.score == 0.2


def test_an_unrequested_line_is_not_an_answer(tmp_path: Path) -> None:
    code = LOOP + "    print(json.dumps({'score': 1}), flush=True)\n"
    found = asked(
        command_evaluator(script(tmp_path, code.replace(', "_id": request["_id"]', "")), persistent=True), "12"
    )
    assert isinstance(found[0], Evaluation)
    assert found[0].score == 0.2


def test_a_persistent_program_has_the_task_model_in_its_environment(tmp_path: Path) -> None:
    code = LOOP.replace('"pid": os.getpid()', f'"model": os.environ.get({TASK_MODEL_VARIABLE!r})')
    evaluator = command_evaluator(script(tmp_path, code), persistent=True)

    async def run() -> list[Any]:
        found = [await evaluator("x", None, model) for model in ("a/b", "c/d", None, "a/b")]
        await evaluator.close()
        return [evaluation.side_info["model"] for evaluation in found]

    assert asyncio.run(run()) == ["a/b", "c/d", None, "a/b"]


BATCH = """
import json, os, sys
def score(payload):
    assert payload["_protocol_version"] == 2
    if payload["candidate"] == "crash": os._exit(9)
    return {"score": len(payload["candidate"]) / 10, "pid": os.getpid(), "of": len(request["batch"])}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"results": [score(payload) for payload in request["batch"]]}), flush=True)
"""


@pytest.mark.parametrize("persistent", [False, True])
def test_a_batch_is_one_request_and_its_answers_keep_their_order(tmp_path: Path, persistent: bool) -> None:
    evaluator = command_evaluator(script(tmp_path, BATCH), batch=4, persistent=persistent)

    async def run() -> list[Evaluation]:
        found = await asyncio.gather(*(evaluator("x" * n) for n in range(6)))
        await evaluator.close()
        return found

    found = asyncio.run(run())
    assert [evaluation.score for evaluation in found] == [n / 10 for n in range(6)]
    assert [evaluation.side_info["of"] for evaluation in found] == [4, 4, 4, 4, 2, 2]
    assert len({evaluation.side_info["pid"] for evaluation in found}) == 2


@pytest.mark.parametrize("persistent", [False, True])
def test_a_batch_that_breaks_is_taken_apart_and_only_who_broke_it_fails(tmp_path: Path, persistent: bool) -> None:
    evaluator = command_evaluator(script(tmp_path, BATCH), batch=3, persistent=persistent)

    async def run() -> list[Evaluation | BaseException]:
        found = await asyncio.gather(*(evaluator(text) for text in ("1", "crash", "333")), return_exceptions=True)
        await evaluator.close()
        return found

    first, broken, last = asyncio.run(run())
    assert isinstance(first, Evaluation)
    assert isinstance(last, Evaluation)
    assert (first.score, last.score) == (0.1, 0.3)
    assert "exit code 9" in message(broken)


def test_how_it_is_called_is_no_part_of_the_identity(tmp_path: Path) -> None:
    command = script(tmp_path, BATCH)
    assert command_evaluator(command).identity == command_evaluator(command, persistent=True, batch=4).identity


SEES = "import json, os, sys; print(json.dumps({'score': 1, 'seen': {n: os.environ.get(n) for n in sys.argv[1:]}}))"


def test_a_program_gets_the_callers_variables_but_no_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = {
        "OPENAI_API_KEY": "x",
        "PGPASSWORD": "x",
        "SENTRY_DSN": "x",
        "hf_token": "x",
        "SSH_AUTH_SOCK": "x",
        "DATABASE_URL": "postgres://me:hunter2@db/x",
        "STORAGE": "AccountName=me;AccountKey=abc",
        "INNOCENT": "sk-live-0123456789abcdef",
        "ALSO_INNOCENT": "4f9c1b7d2e8a4f9c1b7d2e8a",
        "MODELS_OWN_NAME": "x",
    }
    for name, value in {**credentials, "THRESHOLD": "0.9", "MY_URL": "https://host/x"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("assay.reading.env_file.key_names", {"MODELS_OWN_NAME"})
    monkeypatch.setattr("assay.evaluators.command.key_names", {"MODELS_OWN_NAME"})
    names = [*credentials, "THRESHOLD", "MY_URL", "PWD", "PATH"]
    seen = evaluate([*script(tmp_path, SEES), *names], pass_env=["hf_token"]).side_info["seen"]
    assert {name for name in names if seen[name] is not None} == {"hf_token", "THRESHOLD", "MY_URL", "PWD", "PATH"}
    assert seen["THRESHOLD"] == "0.9"


def test_variables_may_stand_before_the_program(tmp_path: Path) -> None:
    command = ["LIMIT=3", "A_TOKEN=t=1", *script(tmp_path, SEES), "LIMIT", "A_TOKEN"]
    evaluator = command_evaluator(command)
    evaluator.check()
    assert asyncio.run(evaluator("text")).side_info["seen"] == {"LIMIT": "3", "A_TOKEN": "t=1"}
    assert evaluator.name.startswith("evaluator `LIMIT=3 'A_TOKEN=…' ")
    assert "t=1" not in json.dumps(evaluator.identity)
    assert evaluator.identity != command_evaluator(["LIMIT=4", *command[1:]]).identity
    assert "variables" not in command_evaluator(command[2:]).identity
    with pytest.raises(UsageError, match="needs a program"):
        command_evaluator(["LIMIT=3"])


def test_a_credential_that_the_script_names_is_reported_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_KEY", "secret")
    monkeypatch.setenv("THRESHOLD", "0.9")
    code = "import os; os.environ.get('MY_SERVICE_KEY', ''); os.environ.get('THRESHOLD')"
    evaluator = command_evaluator(script(tmp_path, code))
    sentence = evaluator.withheld_in_words() or ""
    assert "MY_SERVICE_KEY is a credential and was not passed to it: --evaluator-env MY_SERVICE_KEY" in sentence
    assert sentence.endswith("score.py")
    assert "THRESHOLD" not in sentence
    assert "secret" not in sentence
    assert command_evaluator(script(tmp_path, code), pass_env=["MY_SERVICE_KEY"]).withheld_in_words() is None


LEAK = """
import json, os, sys
said = f"key {os.environ['MY_SECRET_KEY']}, limit {os.environ['MY_LIMIT']}"
for line in sys.stdin:
    candidate = json.loads(line)["candidate"]
    sys.stderr.write(said)
    sys.stderr.flush()
    print(json.dumps({"score": 1, "said": [said]}) if candidate == "score" else said, flush=True)
    if candidate == "exit":
        sys.exit(3)
"""


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("in_front", [True, False])
def test_a_key_that_a_program_was_given_stands_in_nothing_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, persistent: bool, in_front: bool
) -> None:
    command = ["MY_LIMIT=thirteen", *script(tmp_path, LEAK)]
    monkeypatch.delenv("MY_SECRET_KEY", raising=False)
    if in_front:
        evaluator = command_evaluator(["MY_SECRET_KEY=hunter2", *command], persistent=persistent)
    else:
        monkeypatch.setenv("MY_SECRET_KEY", "hunter2")
        evaluator = command_evaluator(command, persistent=persistent, pass_env=["MY_SECRET_KEY"])
    scored, no_json, ended = asked(evaluator, "score", "text", "exit")
    assert isinstance(scored, Evaluation)
    assert scored.side_info == {"said": ["key [key], limit thirteen"]}
    assert "Seen: key [key], limit thirteen" in message(no_json)
    for broken in (no_json, ended):
        assert isinstance(broken, EvaluatorError)
        assert "hunter2" not in f"{broken.failure} {broken.side_info}"
        assert "key [key], limit thirteen" in broken.side_info["stderr"]


def test_a_password_in_a_variable_that_is_an_address_is_removed_by_itself(tmp_path: Path) -> None:
    code = "import sys; sys.exit('login failed: admin with hunter2')"
    broken = failure(["DATABASE=db://admin:hunter2@localhost/scores", *script(tmp_path, code)])
    assert broken.side_info["stderr"] == "login failed: admin with [key]"
