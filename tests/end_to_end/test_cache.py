"""Answers come from the model that is named, or, if the user asks for it, from an earlier run of the same model."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_openai import FakeServer, fake_openai

import assay
from assay.core.errors import UsageError
from assay.core.seams import offers_of
from assay.results.diff.comparison import diff
from assay.runs.evaluate import EvaluationResult

LOCAL = ["openai", "ollama", "vllm", "llamacpp", "sglang", "lmstudio", "litellm-proxy"]
DIGEST = {"models": [{"name": "my-model", "model": "my-model", "digest": "sha256:1"}]}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("ASSAY_CACHE_ANSWERS", raising=False)
    line = {"id": "a", "prompt": "The capital of France?", "targets": ["Paris"], "metric": "exact_match"}
    Path("cap.jsonl").write_text(json.dumps(line) + "\n")
    return tmp_path


async def evaluate(server: FakeServer, folder: str, model: str = "openai", **settings: Any) -> EvaluationResult:
    return await assay.aevaluate(
        "cap.jsonl", f"{model}:my-model@{server.base_url}", folder=folder, retries=0, **settings
    )


def answers(folder: str) -> list[str]:
    lines = Path(folder, "journal.jsonl").read_text().splitlines()
    return [json.loads(line)["trace"]["prediction"] for line in lines]


def requests(server: FakeServer) -> int:
    return len(server.bodies)


@pytest.mark.parametrize("model", ["openai", "vllm"])
def test_a_server_that_was_restarted_with_another_checkpoint_is_asked(model: str) -> None:
    async def go() -> list[float | None]:
        scores = []
        port = 0
        for folder, checkpoint in (("yesterday", "London"), ("tonight", "Paris")):
            async with fake_openai(lambda prompt, says=checkpoint: says, port) as server:  # type: ignore[misc]
                port = server.port
                scores.append((await evaluate(server, folder, model)).leaderboard.overall_score)
                assert requests(server) == 1
        return scores

    assert asyncio.run(go()) == [0.0, 1.0]
    assert not Path(".assay").exists()


@pytest.mark.parametrize("temperature", [None, 0.7, 0.0])
def test_a_second_run_is_a_second_run(temperature: float | None) -> None:
    count = itertools.count(1)

    async def go() -> None:
        async with fake_openai(lambda prompt: str(next(count))) as server:
            for folder in ("one", "two"):
                await evaluate(server, folder, temperature=temperature, repeat=2)

    asyncio.run(go())
    assert [sorted(answers(folder)) for folder in ("one", "two")] == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize("model", LOCAL)
def test_the_cache_is_refused_for_a_server_that_people_run_and_that_does_not_say_what_it_serves(model: str) -> None:
    async def go() -> int:
        async with fake_openai() as server:
            says = rf"--cache: {model}:my-model at http://127\.0\.0\.1:\d+/v1 may change .*--model-arg cache=true"
            with pytest.raises(UsageError, match=says):
                await evaluate(server, "run", model, cache=True)
            return requests(server)

    assert asyncio.run(go()) == 0
    assert not Path("run").exists()
    assert not Path(".assay").exists()


def test_a_judge_is_refused_by_its_name() -> None:
    scorer = {"type": "model_as_a_judge_scorer", "model_key": "j", "system_prompt": "Grade.", "user_prompt": "It."}
    solver = {"type": "single_turn_solver", "input_builder": {"type": "generic", "template": '{"prompt": "q"}'}}
    definition = {"dataset": {"key": "d"}, "solver": solver, "scorers": [scorer]}
    task = {"key": "t", "display_name": "t", "description": "", "definition": definition}
    Path("t.yaml").write_text(json.dumps(task))
    source = {"type": "inline", "samples": [{"q": "q"}]}
    Path("d.yaml").write_text(json.dumps({"key": "d", "display_name": "d", "source": source}))
    with pytest.raises(UsageError, match="--cache: vllm:judge at http://localhost:8000/v1 may change"):
        assay.evaluate("t.yaml", "stub:a", models={"j": "vllm:judge"}, cache=True)


def test_what_the_project_says_is_noted_where_it_is_not_applied(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from assay.cli.main import main

    monkeypatch.setenv("ASSAY_CACHE_ANSWERS", "1")
    Path("says_paris.py").write_text("def answer(prompt):\n    return 'Paris'\n")
    assert main(["run", "cap.jsonl", "--model", "says_paris:answer", "--run-dir", "run"]) == 0
    assert "answers are not cached: says_paris:answer may change under the same name" in capfd.readouterr().err
    assert not Path(".assay").exists()
    again = ["run", "cap.jsonl", "--model", "says_paris:answer", "--run-dir", "quiet", "--quiet"]
    assert main(again) == 0
    for file in ("leaderboard.json", "report.md"):
        assert "answers are not cached: says_paris:answer may change" in Path("quiet", file).read_text(), file
    monkeypatch.setenv("ASSAY_CACHE_ANSWERS", "yes")
    assert main(["run", "cap.jsonl", "--model", "says_paris:answer", "--run-dir", "run"]) == 2
    assert "ASSAY_CACHE_ANSWERS must be 1" in capfd.readouterr().err


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["run", "estimate"])
def test_an_estimate_refuses_the_cache_as_the_run_does(capfd: pytest.CaptureFixture[str], more: list[str]) -> None:
    from assay.cli.main import main

    Path("says_paris.py").write_text("def answer(prompt):\n    return 'Paris'\n")
    assert main(["run", "cap.jsonl", "--model", "says_paris:answer", "--cache", *more]) == 2
    assert "--cache: says_paris:answer may change under the same name" in capfd.readouterr().err
    assert not Path(".assay").exists()


def test_an_estimate_does_not_need_the_server_that_the_cache_depends_on(capfd: pytest.CaptureFixture[str]) -> None:
    from assay.cli.main import main

    assert main(["run", "cap.jsonl", "--model", "ollama:m@127.0.0.1:9", "--cache", "--dry-run"]) == 0
    assert "does not answer now, so whether its answers can be cached is not known" in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"model_options": {"cache": True}}, 1),
        ({"model_options": {"cache": True}, "cache": True}, 1),
        ({"model_options": {"cache": True}, "cache": False}, 2),
        ({"cache_by_default": True}, 2),
    ],
)
def test_a_model_s_own_word_decides_unless_the_run_has_no_cache(settings: dict[str, Any], sent: int) -> None:
    async def go() -> int:
        async with fake_openai(lambda prompt: "Paris") as server:
            for folder in ("one", "two"):
                await evaluate(server, folder, **settings)
            return requests(server)

    assert asyncio.run(go()) == sent


def test_fresh_reads_nothing_from_the_cache_and_replaces_what_it_has() -> None:
    count = itertools.count(1)

    async def go() -> None:
        async with fake_openai(lambda prompt: str(next(count))) as server:
            options = {"model_options": {"cache": True}}
            await evaluate(server, "run", **options)
            await evaluate(server, "run", fresh=True, **options)
            assert requests(server) == 2
            await evaluate(server, "other", **options)
            assert requests(server) == 2

    asyncio.run(go())
    assert (answers("run"), answers("other")) == (["2"], ["2"])


def test_a_server_that_says_which_weights_it_serves_is_cached_as_long_as_they_are_the_same() -> None:
    async def go() -> list[int]:
        sent = []
        async with fake_openai(lambda prompt: "Paris") as server:
            server.pages["/api/tags"] = DIGEST
            for folder in ("one", "two"):
                await evaluate(server, folder, "ollama", cache=True)
                sent.append(requests(server))
            server.pages["/api/tags"] = json.loads(json.dumps(DIGEST).replace("sha256:1", "sha256:2"))
            await evaluate(server, "three", "ollama", cache=True)
            return [*sent, requests(server)]

    assert asyncio.run(go()) == [1, 1, 2]


def test_the_cache_is_not_for_git() -> None:
    async def go() -> None:
        async with fake_openai(lambda prompt: "Paris") as server:
            await evaluate(server, "run", model_options={"cache": True})

    asyncio.run(go())
    assert Path(".assay/cache.sqlite").exists()
    subprocess.run(["git", "init", "-q", "."], check=True)
    status = subprocess.run(["git", "status", "--short"], capture_output=True, text=True, check=True).stdout
    assert ".assay" not in status


def test_a_hosted_service_is_cached_when_asked() -> None:
    from assay.models.model_names import make_model

    hosted = [
        "openai:gpt-4o",
        "openai:m@https://api.groq.com/openai/v1",
        "openai:m@https://models.example.com/v1",
        "groq:m",
        "stub",
        "toy",
    ]
    local = [
        *(
            f"openai:m@http://{host}/v1"
            for host in ("localhost", "10.0.0.5", "192.168.1.2:8000", "[::1]:8000", "gpu-7")
        ),
        *(
            "openai:m@https://gpu.internal/v1",
            "vllm:m@https://vllm.example.com/v1",
            "anthropic:m@http://127.0.0.1:9/v1",
        ),
        *("openai:m@http://100.64.0.3:8000/v1", "lmstudio:m", "command:cat"),
    ]
    assert {spec: offers_of(make_model(spec)).cacheable for spec in hosted} == dict.fromkeys(hosted, True)
    assert {spec: offers_of(make_model(spec)).cacheable for spec in local} == dict.fromkeys(local, False)


def test_a_difference_between_runs_that_share_their_answers_says_so_first() -> None:
    count = itertools.count(1)

    async def go() -> None:
        async with fake_openai(lambda prompt: str(next(count))) as server:
            options: dict[str, Any] = {"model_options": {"cache": True}, "temperature": 1.0}
            for folder in ("a", "b"):
                await evaluate(server, folder, **options)
            await evaluate(server, "c", temperature=1.0)

    asyncio.run(go())
    shared = "from the cache: one measurement, not two"
    assert diff("a", "b").verdict == f"B's answers are A's, {shared}"
    assert diff("b", "a").verdict == f"A's answers are B's, {shared}"
    assert diff("b", "b").verdict == f"A and B have the same answers, {shared}"
    assert "cache" not in diff("a", "c").verdict
    board = json.loads(Path("b/leaderboard.json").read_text())
    assert board["notices"] == ["1 of 1 answers came from an earlier run, through the cache"]
    assert (board["tasks"][0]["cached"], board["tasks"][0]["tokens_in"], board["tasks"][0]["tokens_out"]) == (1, 0, 0)


def test_a_difference_says_how_many_answers_are_shared() -> None:
    count = itertools.count(1)
    line = json.loads(Path("cap.jsonl").read_text())

    async def go() -> None:
        async with fake_openai(lambda prompt: str(next(count))) as server:
            Path("cap.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(line | {"id": "b"}) + "\n")
            await evaluate(server, "a", model_options={"cache": True}, limit=1)
            await evaluate(server, "b", model_options={"cache": True})
            await evaluate(server, "c", model_options={"cache": True}, fresh=True)

    asyncio.run(go())
    assert diff("b", "c").verdict == "no difference: every sample that both have was scored the same"
    found = diff("a", "b", allow_unequal=True)
    assert (found.cached_a, found.cached_b, found.shared_answers) == (0, 1, 1)


def test_equal_requests_of_one_run_are_not_answers_of_an_earlier_one() -> None:
    line = json.loads(Path("cap.jsonl").read_text())
    Path("cap.jsonl").write_text("".join(json.dumps(line | {"id": name}) + "\n" for name in "abc"))
    settings: dict[str, Any] = {"model_options": {"cache": True}, "temperature": 0.0, "concurrency": 1}

    async def go() -> int:
        async with fake_openai(lambda prompt: "Paris") as server:
            await evaluate(server, "a", **settings)
            await evaluate(server, "b", **settings)
            return requests(server)

    assert asyncio.run(go()) == 1
    boards = [json.loads(Path(folder, "leaderboard.json").read_text()) for folder in "ab"]
    rows = [board["tasks"][0] for board in boards]
    assert [(row["cached"], row.get("from_earlier_runs", 0)) for row in rows] == [(2, 0), (3, 3)]
    assert "notices" not in boards[0] or not boards[0]["notices"]
    assert boards[1]["notices"] == ["3 of 3 answers came from an earlier run, through the cache"]
    assert rows[1]["tokens_in"] == 0 < rows[0]["tokens_in"]
    assert diff("a", "a").shared_answers == 0
    assert diff("a", "b").shared_answers == 3


def test_answers_of_a_run_s_earlier_session_are_its_own() -> None:
    line = json.loads(Path("cap.jsonl").read_text())
    Path("cap.jsonl").write_text("".join(json.dumps(line | {"id": name}) + "\n" for name in "ab"))
    settings: dict[str, Any] = {"model_options": {"cache": True}, "temperature": 0.0, "concurrency": 1}

    async def go() -> int:
        async with fake_openai(lambda prompt: "Paris") as server:
            await evaluate(server, "a", **settings)
            journal = Path("a/journal.jsonl")
            journal.write_text(journal.read_text().splitlines(keepends=True)[0])
            await evaluate(server, "a", **settings)
            return requests(server)

    assert asyncio.run(go()) == 1
    board = json.loads(Path("a/leaderboard.json").read_text())
    assert (board["tasks"][0]["cached"], board["tasks"][0]["from_earlier_runs"]) == (1, 0)
