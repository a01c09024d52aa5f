"""`assay score` as a user calls it."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from tests.evaluators.loopback import Answer, serving
from tests.servers.fake_openai import fake_openai
from tests.tasks.model_files import write_model_file

from assay.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "evaluators"


@pytest.fixture
def artifact(tmp_path: Path) -> str:
    path = tmp_path / "artifact.txt"
    path.write_text("Please answer with a label.", encoding="utf-8")
    return str(path)


def dataset(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"there is no {program} here")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("bash score.sh", marks=needs("jq")),
        "python3 score.py",
        pytest.param("node score.js", marks=needs("node")),
        "python3 score_v1.py",
    ],
)
@pytest.mark.parametrize("with_dataset", [False, True])
def test_the_example_evaluators_score(command: str, with_dataset: bool, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--dataset", str(EXAMPLES / "dataset.jsonl")] if with_dataset else []
    arguments = ["score", str(EXAMPLES / "artifact.txt"), "--evaluator-command", command]
    assert main([*arguments, "--evaluator-cwd", str(EXAMPLES), *more, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["evaluators"]
    assert found["scored"] == (2 if with_dataset else 1)
    assert 0.0 < found["mean"] <= 1.0


def test_mean_spread_and_each_example_are_printed(
    artifact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda payload: Answer(json.dumps(payload["example"]).encode())) as server:
        records = dataset(tmp_path, '{"score": 0.5, "note": "fine"}', '{"score": 1}', '{"score": "none"}')
        assert main(["score", artifact, "--evaluator-url", server.url, "--dataset", records]) == 3
    printed = capsys.readouterr().out
    assert "mean 0.7500 ± 0.3536, from 0.5000 to 1.0000, 2 scored, 1 failed" in printed
    assert "note: fine" in printed
    assert "not numeric" in printed


def test_nothing_an_evaluator_says_reaches_the_terminal_as_a_command(
    artifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Answer(b'{"score": 1, "note": "\\u001b]0;owned\\u0007", "more": ["\\u001b[2J"]}')) as server:
        assert main(["score", artifact, "--evaluator-url", server.url]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_judges_are_compared_and_the_dead_are_named_not_averaged(
    artifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    judges = ['stub:{"score": 0.5}', 'stub:{"score": 0.9}', "stub:nonsense"]
    flags = [word for judge in judges for word in ("--judge-model", judge)]
    assert main(["score", artifact, *flags, "--objective", "clear"]) == 3
    said = capsys.readouterr()
    assert "2 judges: mean 0.7000, from 0.5000 to 0.9000" in said.out
    assert "excluded from the mean: judge `stub:nonsense`" in said.err


def test_with_all_judges_dead_there_is_no_mean(artifact: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--judge-model", "stub:no", "--judge-model", "stub:not me", "--objective", "clear", "--json"]
    assert main(["score", artifact, *flags]) == 3
    result = json.loads(capsys.readouterr().out)
    assert result["evaluators"] == []
    assert len(result["excluded"]) == 2


def test_p9_a_failed_preflight_ends_it_with_the_reason(artifact: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Answer(b"{}")) as server:
        assert main(["score", artifact, "--evaluator-url", server.url]) == 2
    assert {each.payload["candidate"] for each in server.received} == {"__optimize_anything_preflight__"}
    assert server.url in capsys.readouterr().err


def test_a_bad_dataset_ends_it_before_anything_is_called(
    artifact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Answer()) as server:
        records = dataset(tmp_path, "{}", "[]", "nonsense")
        assert main(["score", artifact, "--evaluator-url", server.url, "--dataset", records]) == 2
        assert main(["score", artifact, "--evaluator-url", server.url, "--dataset", dataset(tmp_path, "")]) == 2
    assert server.received == []
    errors = capsys.readouterr().err
    assert f"{records}:2: " in errors
    assert f"{records}:3: " in errors
    assert "has no records" in errors


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ([], "--evaluator-command, --evaluator-url, --judge-model"),
        (["--evaluator-url", "http://h/", "--judge-model", "toy"], "--evaluator-url and --judge-model"),
        (["--judge-model", "toy"], "--objective"),
        (["--evaluator-command", "python3 'x"], "No closing quotation"),
        (["--evaluator-url", "h:80"], "http://"),
        (["--evaluator-url", "http://h/", "--evaluator-header", "x"], "NAME:VALUE"),
        (["--judge-model", "toy", "--objective", "x", "--dimension", "a=b"], "number"),
        (["--evaluator-url", "http://h/", "--concurrency", "0"], "--concurrency"),
        (["--evaluator-command", "python3 none.py"], "script not found"),
    ],
)
def test_bad_flags_get_a_sentence(
    artifact: str, flags: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", artifact, *flags]) == 2
    assert reason in capsys.readouterr().err


def test_an_artifact_must_be_a_readable_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert main(["score", str(tmp_path / "bytes"), "--evaluator-command", "true"]) == 2
    assert main(["score", str(tmp_path / "none"), "--evaluator-command", "true"]) == 2
    errors = capsys.readouterr().err
    assert "not UTF-8" in errors
    assert "No such file" in errors


def test_headers_and_task_model_reach_the_service(artifact: str) -> None:
    with serving(Answer()) as server:
        flags = ["--evaluator-header", "X-Team: evals", "--task-model", "openai/small", "--no-preflight"]
        assert main(["score", artifact, "--evaluator-url", server.url, *flags]) == 0
    (received,) = server.received
    assert received.headers["X-Team"] == "evals"
    assert received.payload["task_model"] == "openai/small"


def test_what_judges_used_is_reported_at_the_end_and_in_the_json(
    artifact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choices = [{"message": {"content": '{"score": 0.5}'}}]
    answer = {"choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    prices = tmp_path / "mine.yaml"
    prices.write_text("date: 2026-01-01\nmodels: {jury: {input: 1000, output: 1000}}\n", encoding="utf-8")
    with serving(lambda payload: Answer(json.dumps(answer).encode())) as server:
        judge = ["--judge-model", "openai:jury", "--judge-arg", f"base_url={server.url}", "--objective", "clear"]
        flags = ["score", artifact, *judge, "--no-preflight", "--prices", str(prices)]
        assert main(flags) == 0
        assert "judge openai:jury: 1 answer, 7 tokens in, 3 out, cost $0.01" in capsys.readouterr().out
        assert main([*flags, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cost"]["amount"] == pytest.approx(0.01)
    assert [(row["role"], row["tokens_in"], row["tokens_out"]) for row in found["spent"]] == [("judge", 7, 3)]


def test_a_service_that_says_not_now_is_awaited_as_in_a_run(
    artifact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The preflight included; `Retry-After` is kept to."""
    refusals = iter([Answer(status=429, headers={"Retry-After": "0"})] * 3)
    records = dataset(tmp_path, '{"n": 1}', '{"n": 2}')
    with serving(lambda payload: next(refusals, Answer())) as server:
        assert main(["score", artifact, "--evaluator-url", server.url, "--dataset", records]) == 0
    assert "mean 0.5000" in capsys.readouterr().out
    assert len(server.received) == 3 + 1 + 2


def test_a_service_that_stays_away_beyond_the_patience_fails_what_is_left(
    artifact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter([Answer(), Answer(), Answer()])  # the preflight and two records
    records = dataset(tmp_path, *(f'{{"n": {n}}}' for n in range(6)))
    with serving(lambda payload: next(answers, Answer(status=503, headers={"Retry-After": "0"}))) as server:
        arguments = ["score", artifact, "--evaluator-url", server.url, "--dataset", records]
        assert main([*arguments, "--patience", "0.01"]) == 3
    assert "2 scored, 4 failed" in capsys.readouterr().out


def test_a_patience_that_is_not_a_number_of_minutes_is_refused(
    artifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", artifact, "--evaluator-url", "http://127.0.0.1:1/", "--patience", "-1"]) == 2
    assert "--patience must be 0 or more, got -1.0" in capsys.readouterr().err


def test_a_judge_on_another_scale_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("text")
    judge = ["--judge-model", 'stub:{"score": 60}', "--objective", "short"]
    assert main(["score", str(tmp_path / "text.txt"), *judge]) == 0
    assert "1 of 1 answers were outside 0..1 and count as 0 or 1" in capsys.readouterr().err


def test_a_judge_may_be_the_key_of_a_model_file(
    artifact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model_file("strict", 'stub:{"score": 0.25}')
    assert main(["score", artifact, "--judge-model", "strict", "--objective", "short", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert "0.25" in json.dumps(result)
    assert "The strict" in json.dumps(result)


@pytest.mark.parametrize(("retries", "requests"), [("0", 1), ("1", 2)])
def test_a_judge_is_called_again_as_often_as_asked(artifact: str, retries: str, requests: int) -> None:
    async def score() -> int:
        async with fake_openai(lambda prompt: "no verdict") as server:
            judge = ["--judge-model", f"openai:m@{server.base_url}"]
            typed = ["score", artifact, *judge, "--objective", "short", "--no-preflight", "--judge-retries", retries]
            assert await asyncio.to_thread(main, typed) == 3
            return sum(server.seen.values())

    assert asyncio.run(score()) == requests


def test_retries_of_a_judge_are_refused_where_none_is_asked(artifact: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", artifact, "--evaluator-command", "true", "--judge-retries", "0"]) == 2
    assert "--judge-retries has no effect without --judge-model; add that" in capsys.readouterr().err
