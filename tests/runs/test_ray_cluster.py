"""On a Ray cluster a run comes to what it comes to alone, also when nodes and the driver are lost on the way."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, fake_server, leaderboard, start_assay, write_task

from assay.core.journal import read_records

pytest.importorskip("ray", reason="the extra `ray` is not installed")

from tests.end_to_end.ray_nodes import ray_nodes

SAMPLES = 20_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_of_three_nodes_and_the_driver_are_lost_and_nothing_else(tmp_path: Path) -> None:
    prompts = {f"compute: {n} + {n % 7}": str(n + n % 7 if n % 10 else -1) for n in range(SAMPLES)}
    task = write_task(tmp_path / "sums.jsonl", prompts)
    with fake_server() as server, ray_nodes(tmp_path, 3) as nodes:
        flags = ["run", task, "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}", "--no-cache"]
        cluster = ["--executor", "ray", "--ray-address", nodes.address, "--workers", "3", "--shard-size", "1000"]
        command = [*flags, *cluster, "--run-dir", "cluster"]
        process = start_assay(*command, cwd=tmp_path, **nodes.settings)
        wait_for(SAMPLES // 3, tmp_path / "cluster", process)
        nodes.kill(1)
        wait_for(SAMPLES // 2, tmp_path / "cluster", process)
        process.kill()
        process.wait()
        process = start_assay(*command, cwd=tmp_path, **nodes.settings)
        # what the first driver left is in the journal and, until the end, in the shard files as well
        wait_for(SAMPLES * 2 // 3 + SAMPLES // 2, tmp_path / "cluster", process)
        nodes.kill(2)
        assert process.wait(timeout=600) == 0
        alone = assay(*flags, "--quiet", "--run-dir", "alone", cwd=tmp_path)
        assert alone.returncode == 0, alone.stderr

    made = Counter(record.sample_id for record in read_records(tmp_path / "cluster" / "journal.jsonl"))
    assert made == {f"s-{n:05}": 1 for n in range(SAMPLES)}
    assert leaderboard(tmp_path / "cluster")["fingerprint"] == leaderboard(tmp_path / "alone")["fingerprint"]
    assert leaderboard(tmp_path / "cluster")["overall_score"] == 0.9
    assert not (tmp_path / "cluster" / "shards").exists()


def wait_for(attempts: int, folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Until so many attempts are in the journal files."""
    while sum(map(lines, [folder / "journal.jsonl", *(folder / "shards").glob("*.jsonl")])) < attempts:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)


def lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
