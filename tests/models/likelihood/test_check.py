"""Servers that tell likelihoods, and servers that only seem to: refused before the first real question."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.model import closing
from tests.runs.shard_runs import run_shard
from tests.servers.word_server import likeliest, logprob, word_server

from assay.core.errors import UsageError
from assay.models.likelihood.check import PROBES, likelihood_problem
from assay.models.model_names import make_model
from assay.run_config import RunConfig
from assay.runs.evaluate import RunOptions, RunResult, run_all, run_evaluation, run_planned
from assay.runs.executor import Cluster
from assay.runs.plan import PlannedRun
from assay.runs.progress import run_blocking
from assay.tasks.load import load_tasks

CHOICES = ["red", "green", "blue"]


def found_wrong(behaviour: str) -> str | None:
    async def check(address: str) -> str | None:
        async with closing(make_model(f"openai:m@{address}", {"mode": "completions"})) as model:
            return await likelihood_problem(model)

    with word_server(behaviour) as server:
        return asyncio.run(check(server.address))


def write(tmp_path: Path, **line: Any) -> Path:
    path = tmp_path / "colours.jsonl"
    path.write_text(json.dumps({"id": "c", "prompt": "the sky", **line}) + "\n")
    return path


def choice(tmp_path: Path) -> Path:
    answer = max(CHOICES, key=lambda word: logprob(" sky", f" {word}"))
    return write(tmp_path, targets=[answer], metric="choice_likelihood", extras={"choices": CHOICES})


def config_for(task: Path, address: str, **options: Any) -> RunConfig:
    cache = {"cache_path": str(task.parent / "cache.sqlite")} if "cache" in options else {}
    options = {"mode": "completions", **options}
    return RunConfig(model=f"openai:m@{address}", model_options=options, retries=0, **cache)


def run(task: Path, address: str, folder: str, **options: Any) -> RunResult:
    return run_evaluation(load_tasks([str(task)]), config_for(task, address, **options), folder=task.parent / folder)


@pytest.mark.parametrize("behaviour", ["right", "begins", "no_places"])
def test_a_server_that_agrees_with_itself_is_believed(behaviour: str) -> None:
    assert found_wrong(behaviour) is None


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("off_by_one", "to the wrong tokens"),
        ("no_echo", "did not send the log-probabilities of the prompt"),
        ("refuses_echo", "echo is not supported"),
        ("no_logprobs", "cannot be verified"),
    ],
)
def test_one_that_does_not_is_refused_before_the_first_question(tmp_path: Path, behaviour: str, says: str) -> None:
    assert says in str(found_wrong(behaviour))
    task = choice(tmp_path)
    with word_server(behaviour) as server, pytest.raises(UsageError) as caught:
        run(task, server.address, "run")
    assert says in str(caught.value)
    assert "Add --generative" in str(caught.value)
    assert all(prompt.startswith(PROBES) for prompt in server.prompts)
    assert not (tmp_path / "run").exists()


def test_the_last_of_several_models_is_checked_before_the_first_one_is_asked(tmp_path: Path) -> None:
    task = choice(tmp_path)
    with word_server() as good, word_server("off_by_one") as bad:
        runs = [PlannedRun(load_tasks([str(task)]), config_for(task, server.address)) for server in (good, bad)]
        with pytest.raises(UsageError, match="to the wrong tokens"):
            run_blocking(run_all(runs, RunOptions(runs_folder=tmp_path / "runs")))
    assert all(prompt.startswith(PROBES) for prompt in good.prompts)
    assert not (tmp_path / "runs").exists()


def shard(task: Path, config: RunConfig, folder: Path) -> None:
    run_shard(load_tasks([str(task)]), config, number=1, count=2, folder=folder)


def on_ray(task: Path, config: RunConfig, folder: Path) -> None:
    options = RunOptions(folder=folder, cluster=Cluster(address="127.0.0.1:1"))
    run_blocking(run_planned(PlannedRun(load_tasks([str(task)]), config), options))


@pytest.mark.parametrize("start", [shard, on_ray])
def test_a_refusal_leaves_nothing_behind_past_one_process_either(
    tmp_path: Path, start: Callable[[Path, RunConfig, Path], None]
) -> None:
    task = choice(tmp_path)
    with word_server("off_by_one") as server, pytest.raises(UsageError, match="to the wrong tokens"):
        start(task, config_for(task, server.address), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_server_that_is_not_there_is_said_to_be_unchecked(tmp_path: Path) -> None:
    with word_server() as server:
        address = server.address
    with pytest.raises(UsageError, match="could not be checked"):
        run(choice(tmp_path), address, "run")


def test_perplexity_has_no_generative_variant_to_offer(tmp_path: Path) -> None:
    task = write(tmp_path, targets=[" red"], metric="perplexity")
    with word_server("no_echo") as server, pytest.raises(UsageError, match="no generative variant"):
        run(task, server.address, "run")


def test_likelihoods_of_a_server_are_measured_and_asked_for_once(tmp_path: Path) -> None:
    task = choice(tmp_path)
    with word_server() as server:
        first = run(task, server.address, "first", cache=True)
        asked = list(server.prompts)
        second = run(task, server.address, "second", cache=True)
        assert server.prompts == asked  # neither the questions nor the check are sent again
    assert [each.leaderboard.tasks[0].score for each in (first, second)] == [1.0, 1.0]
    assert set(asked[-3:]) == {f"the sky {word}" for word in CHOICES}


def test_the_check_can_be_left_out(tmp_path: Path) -> None:
    with word_server("off_by_one") as server:
        run(choice(tmp_path), server.address, "run", check_likelihoods=False)
        assert set(server.prompts) == {f"the sky {word}" for word in CHOICES}


def test_the_probes_are_answered_with_words_of_their_own() -> None:
    """Else the check above would prove nothing."""
    assert {likeliest(" is"), likeliest(" Wednesday,")} <= {" red", " green", " blue", " one", " two", " Paris"}
    assert abs(logprob(" is", likeliest(" is")) - logprob(likeliest(" is"), likeliest(" is"))) > 0.25
