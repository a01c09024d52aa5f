"""Whatever a server does, it ends as the right failure or as an answer after a retry; never as a score of 0."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, environment, fake_server, leaderboard, write_task

RECOVERS = ["behave: status 429 2 Retry-After=0", "behave: status 500 2"]
FAILS = {
    "behave: invalid_json": "bad_output",
    'behave: body {"choices": []}': "bad_output",
    'behave: message stop {"content": null}': "bad_output",
    "behave: wrong_type": "bad_output",
    "behave: cut": "connection",
    "behave: slow 30": "timeout",
    "break": "server_error",
}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("bad-servers")
    prompts = {f"{script}\ncompute: 2 + 3": "5" for script in [*RECOVERS, *FAILS]}
    task = write_task(folder / "weather.jsonl", prompts)
    with fake_server() as server:
        done = assay(
            *("run", task, "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}"),
            *("--timeout", "5", "--retries", "3", "--run-dir", "run", "--include-per-example"),
            cwd=folder,
        )
    assert done.returncode == 3, done.stderr
    return leaderboard(folder / "run")


def test_what_recovers_is_scored(board: dict[str, object]) -> None:
    scored = [e for e in board["tasks"][0]["per_example"] if e["score"] is not None]  # type: ignore[index]
    assert [example["prediction"] for example in scored] == ["5"] * len(RECOVERS)
    assert board["overall_score"] == 1.0


def test_what_breaks_is_a_failure_of_its_own_kind(board: dict[str, object]) -> None:
    failures = [e["failure"].split(":")[0] for e in board["tasks"][0]["per_example"] if e["failure"]]  # type: ignore[index]
    assert failures == list(FAILS.values())


def test_failures_have_their_own_columns_and_bounds(board: dict[str, object]) -> None:
    row = board["tasks"][0]  # type: ignore[index]
    assert (row["failed"], row["timeouts"], row["scored"]) == (len(FAILS) - 1, 1, len(RECOVERS))
    assert row["complete"] is False
    assert (row["bounds"]["low"], row["bounds"]["high"]) == (pytest.approx(2 / 9), 1.0)
    assert json.dumps(board).find("NaN") == -1


def test_a_run_over_http_loads_no_other_client(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t.jsonl", {"compute: 1 + 1": "2"})
    with fake_server() as server:
        words = ["run", str(task), "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}"]
        command = [sys.executable, "-X", "importtime", "-m", "assay", *words, "--run-dir", "r"]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "assay.transport.client" in loaded
    assert not {"aiohttp", "urllib.request", "http.client"} & loaded
    assert leaderboard(tmp_path / "r")["overall_score"] == 1.0
