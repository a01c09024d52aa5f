"""A run cut into shards by hand comes to what it comes to whole, whatever happens to the shards on the way."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from tests.end_to_end.commands import assay, fake_server, leaderboard, start_assay, write_task
from tests.end_to_end.test_secrets import KEY, search, told
from tests.runs.shard_runs import run_shard

from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.seams import identity_of
from assay.models.model_names import make_model
from assay.run_config import RunConfig
from assay.runs.assemble import describe
from assay.runs.worker import WorkerPayload
from assay.tasks.descriptions import with_descriptions
from assay.tasks.load import load_tasks

FIRST, SECOND = 900, 350


@pytest.fixture
def tasks(tmp_path: Path) -> list[Path]:
    """Two tasks of different sizes, so that a shard reaches from one into the other."""
    sums = {f"compute: {n} + {n % 7}": str(n + n % 7 if n % 10 else -1) for n in range(FIRST)}
    products = {f"compute: {n} * 3": str(n * 3) for n in range(SECOND)}
    return [write_task(tmp_path / "products.jsonl", products), write_task(tmp_path / "sums.jsonl", sums)]


def same_numbers(tmp_path: Path) -> None:
    cut, whole = leaderboard(tmp_path / "cut"), leaderboard(tmp_path / "whole")
    assert cut["fingerprint"] == whole["fingerprint"]
    assert cut["complete"] is True
    records = list(read_records(tmp_path / "cut" / "journal.jsonl"))
    assert max(Counter(record.key for record in records).values()) == 1
    positions = {record.sample_id: record.index for record in records if record.task == "sums"}
    assert positions == {f"s-{n:05}": n for n in range(FIRST)}


def test_shards_that_overlap_and_one_that_was_killed_add_up_to_the_whole_run(tmp_path: Path, tasks: list[Path]) -> None:
    with fake_server() as server:
        flags = ["--model", "openai:fake", "--model-arg", f"base_url={server.base_url}", "--no-cache", "--quiet"]
        cut = ["run", *tasks, *flags, "--run-dir", "cut"]
        assert assay("run", *tasks, *flags, "--run-dir", "whole", cwd=tmp_path).returncode == 0
        process = start_assay(*cut, "--shard", "2/3", "--rpm", "60000", cwd=tmp_path)
        kill_once_it_has_written(process, tmp_path / "cut" / "shards", at_least=40)
        early = assay("merge", "cut", cwd=tmp_path)
        assert early.returncode == 3
        assert "remaining: " in early.stderr
        for shard in ("1/3", "2/3", "3/3", "1/2"):
            done = assay(*cut, "--shard", shard, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        merged = assay("merge", "cut", cwd=tmp_path)
        assert merged.returncode == 0, merged.stderr
        again = assay(*cut, "--shard", "1/1", cwd=tmp_path)
        assert "1,250 of 1,250 attempts finished" in again.stdout
    same_numbers(tmp_path)
    assert not list((tmp_path / "cut").glob("shards/*"))


def test_shards_begun_at_the_same_moment_do_not_meet(tmp_path: Path, tasks: list[Path]) -> None:
    flags = ["run", *tasks, "--quiet", "--run-dir"]
    assert assay(*flags, "whole", cwd=tmp_path).returncode == 0
    crowd = [start_assay(*flags, "cut", "--shard", f"{number}/4", cwd=tmp_path) for number in (1, 2, 3, 4)]
    assert [process.wait() for process in crowd] == [0, 0, 0, 0]
    assert assay("merge", "cut", cwd=tmp_path).returncode == 0
    same_numbers(tmp_path)
    assert not list((tmp_path / "cut").glob("*.partial"))


def test_a_run_that_is_not_cut_resumes_with_what_its_shards_have_finished(tmp_path: Path, tasks: list[Path]) -> None:
    with fake_server() as server:
        flags = ["--model", "openai:fake", "--model-arg", f"base_url={server.base_url}", "--no-cache", "--quiet"]
        assert assay("run", *tasks, *flags, "--run-dir", "cut", "--shard", "1/2", cwd=tmp_path).returncode == 0
        assert assay("run", *tasks, *flags, "--run-dir", "cut", cwd=tmp_path).returncode == 0
        assert set(server.seen().values()) == {1}
        assert assay("run", *tasks, *flags, "--run-dir", "whole", cwd=tmp_path).returncode == 0
    same_numbers(tmp_path)


def test_a_shard_of_another_run_is_refused(tmp_path: Path, tasks: list[Path]) -> None:
    definitions = load_tasks([str(path) for path in tasks])
    run_shard(definitions, RunConfig(), number=1, count=20, folder=tmp_path / "cut")
    with pytest.raises(UsageError, match="holds another run: limit was not set, now 5"):
        run_shard(definitions, RunConfig(limit=5), number=2, count=20, folder=tmp_path / "cut")


def test_a_shard_writes_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = {"compute: 2 + 3": "5", "behave: echo_key 401\ncompute: 1 + 1": "2"}
    task = write_task(tmp_path / "t.jsonl", prompts)
    with fake_server() as server:
        address = f"base_url={server.base_url}"
        flags = ["run", task, "--model", "openai:m", "--model-arg", address, "--run-dir", "cut", "--shard", "1/1"]
        done = assay(*flags, cwd=tmp_path, OPENAI_API_KEY=KEY)
        assert "1 of 2 attempts finished, 1 failed" in done.stdout
        assert list((tmp_path / "cut" / "shards").iterdir())
        assert search(told(done, tmp_path)) == []
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        config = RunConfig(model="openai:m", model_options={"base_url": server.base_url})
        tasks = [with_descriptions(each) for each in load_tasks([str(task)])]
        run_file = describe(tasks, identity_of(make_model(config.model, config.model_options)), config)
        payload = WorkerPayload(run_file=run_file, folder="cut", project=str(tmp_path))
        assert search({"payload": msgspec.json.encode(payload)}) == []


def kill_once_it_has_written(process: subprocess.Popen[bytes], folder: Path, at_least: int) -> None:
    while sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl")) < at_least:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
