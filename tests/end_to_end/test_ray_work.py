"""On a cluster of three nodes: code in each node's own sandbox, GPUs by Ray's count, one budget and rate for all."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, fake_server, leaderboard, write_task

from assay.core.journal import read_records

pytest.importorskip("ray", reason="the extra `ray` is not installed")

from tests.end_to_end.ray_nodes import Nodes, ray_nodes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MODEL = """
import os

class OnGpu:
    name = "on-gpu"
    made = 0

    def __init__(self):
        OnGpu.made += 1

    def generate(self, prompts):
        where = os.environ.get("CUDA_VISIBLE_DEVICES", "none")
        return [f"{where} {os.getpid()} {OnGpu.made}" for _ in prompts]
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    # the GPUs are not there; Ray believes it, and shows workers which they have
    with ray_nodes(tmp_path_factory.mktemp("nodes"), 3, "--num-gpus=1", '--resources={"shelf": 1}') as started:
        yield started


def cluster(nodes: Nodes, *more: str) -> list[str]:
    return ["--executor", "ray", "--ray-address", nodes.address, *more]


def test_code_runs_in_the_sandbox_of_each_node(tmp_path: Path, nodes: Nodes) -> None:
    lines = [
        {
            "id": f"c-{n}",
            "prompt": f"write: ```python\ndef f(x):\n    return x + {n % 3}\n```",
            "targets": [],
            "metric": "code_exec",
            "extras": {"io_pairs": [[[1], 1], [[2], 2]]},
        }
        for n in range(60)
    ]
    task = tmp_path / "code.jsonl"
    task.write_text("".join(json.dumps(line) + "\n" for line in lines))
    alone = assay("run", task, "--quiet", "--run-dir", "alone", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    shared = assay(
        "run", task, *cluster(nodes, "--shard-size", "10"), "--run-dir", "shared", cwd=tmp_path, **nodes.settings
    )
    assert shared.returncode == 0, shared.stderr
    ours, theirs = leaderboard(tmp_path / "shared"), leaderboard(tmp_path / "alone")
    assert ours["fingerprint"] == theirs["fingerprint"]
    assert ours["sandbox"]["tier"] == theirs["sandbox"]["tier"]
    assert (tmp_path / "shared" / "sandboxes" / f"{os.uname().nodename}.json").exists()
    warned = f"{os.uname().nodename}: warning: sandbox tier" in shared.stderr
    assert warned is (theirs["sandbox"]["tier"] != "A")


def test_a_tier_that_a_node_cannot_give_is_refused_before_the_first_sample(tmp_path: Path, nodes: Nodes) -> None:
    line = {"id": "c", "prompt": "write: 1", "targets": [], "metric": "code_exec", "extras": {"io_pairs": [[[1], 1]]}}
    task = tmp_path / "code.jsonl"
    task.write_text(json.dumps(line) + "\n")
    flags = ["run", task, "--min-sandbox", "U", "--run-dir", "r", *cluster(nodes)]
    done = assay(*flags, cwd=tmp_path, **nodes.settings)
    (record,) = read_records(tmp_path / "r" / "journal.jsonl")
    assert record.failures[0].kind == "refused_here"
    assert record.trace is None
    assert "task `code` is refused" in done.stderr


def test_each_worker_has_a_gpu_and_loads_its_model_once(tmp_path: Path, nodes: Nodes) -> None:
    (tmp_path / "on_gpu.py").write_text(MODEL)
    task = write_task(tmp_path / "t.jsonl", {f"p {n}": "t" for n in range(90)})
    flags = ["run", task, "--model", "on_gpu:OnGpu", "--run-dir", "r", "--shard-size", "10"]
    needs = ["--worker-gpus", "1", "--worker-resource", "shelf=1"]
    done = assay(*flags, *cluster(nodes, *needs), cwd=tmp_path, **nodes.settings)
    assert done.returncode == 0, done.stderr
    said = {
        record.trace.prediction for record in read_records(tmp_path / "r" / "journal.jsonl") if record.trace is not None
    }
    assert 1 <= len(said) <= 3
    assert {line.split()[0] for line in said} == {"0"}
    assert {line.split()[2] for line in said} == {"1"}


def test_more_than_the_cluster_has_is_refused_and_not_awaited(tmp_path: Path, nodes: Nodes) -> None:
    done = assay("run", "starter", *cluster(nodes, "--worker-resource", "drawer=1"), cwd=tmp_path, **nodes.settings)
    assert done.returncode == 2
    assert "a worker needs 1 drawer, and the cluster has 0" in done.stderr


def test_a_budget_holds_over_all_workers_and_a_larger_one_goes_on(tmp_path: Path, nodes: Nodes) -> None:
    task = write_task(tmp_path / "sums.jsonl", {f"compute: {n} + 1": str(n + 1) for n in range(3000)})
    with fake_server() as server:
        flags = ["run", task, "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}", "--no-cache"]
        place = ["--run-dir", "r", "--concurrency", "4", *cluster(nodes, "--workers", "3", "--shard-size", "500")]
        one = assay(*flags, "--limit", "1", "--run-dir", "one", "--quiet", cwd=tmp_path)
        assert one.returncode == 0, one.stderr
        each = tokens_in(tmp_path / "one")
        short = assay(*flags, *place, "--budget-tokens", str(1000 * each), cwd=tmp_path, **nodes.settings)
        assert short.returncode == 3, short.stderr
        assert "--budget-tokens) is used up" in short.stderr
        used = tokens_in(tmp_path / "r") / each
        assert 900 <= used <= 1000 + 3 * 4 + 5
        rest = assay(*flags, *place, "--budget-tokens", str(9000 * each), cwd=tmp_path, **nodes.settings)
        assert rest.returncode == 0, rest.stderr
        alone = assay(*flags, "--run-dir", "alone", "--quiet", cwd=tmp_path)
        assert alone.returncode == 0, alone.stderr
    assert leaderboard(tmp_path / "r")["fingerprint"] == leaderboard(tmp_path / "alone")["fingerprint"]


def tokens_in(folder: Path) -> int:
    completions = [
        completion
        for record in read_records(folder / "journal.jsonl")
        if record.trace is not None
        for completion in record.trace.completions
    ]
    return sum((each.tokens_in or 0) + (each.tokens_out or 0) for each in completions)


def test_the_last_worker_has_the_whole_rate(tmp_path: Path, nodes: Nodes) -> None:
    task = write_task(tmp_path / "sums.jsonl", {f"compute: {n} + 1": str(n + 1) for n in range(300)})
    with fake_server() as server:
        flags = ["run", task, "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}", "--no-cache"]
        # three workers, and a single shard that one of them gets
        place = ["--run-dir", "r", "--rpm", "1200", *cluster(nodes, "--workers", "3", "--shard-size", "300")]
        began = time.monotonic()
        done = assay(*flags, *place, cwd=tmp_path, **nodes.settings)
        seconds = time.monotonic() - began
        assert done.returncode == 0, done.stderr
        records = list(read_records(tmp_path / "r" / "journal.jsonl"))
    # a tenth of a minute's worth is free, the other 180 take nine seconds; a static third would take 30 and more
    assert len(records) == 300
    assert seconds >= 9
    assert sum(record.seconds for record in records) / len(records) < 20
