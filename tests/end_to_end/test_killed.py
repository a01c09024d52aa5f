"""A run that is killed again and again ends as the run that was left in peace."""

from __future__ import annotations

import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, fake_server, leaderboard, start_assay, write_task

from assay.core.journal import read_records
from assay.results.board.stretches import read_stretches

SAMPLES = 2000
CONCURRENCY = 16


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.prove)])
def test_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, kills: int) -> None:
    prompts = {f"compute: {n} + {n % 7}": str(n + n % 7 if n % 10 else -1) for n in range(SAMPLES)}
    task = write_task(tmp_path / "sums.jsonl", prompts)
    flags = ["--model", "openai:fake", "--concurrency", str(CONCURRENCY), "--quiet"]
    rng = random.Random(20)
    with fake_server() as server:
        server_flags = ["--model-arg", f"base_url={server.base_url}"]
        command = ["run", task, *flags, *server_flags, "--run-dir", tmp_path / "killed"]
        for kill in range(kills):
            before = finished(tmp_path / "killed")
            goal = min(SAMPLES - 1, max(before, (SAMPLES * kill) // kills) + rng.randrange(0, SAMPLES // kills))
            process = start_assay(*command, cwd=tmp_path)
            while finished(tmp_path / "killed") < goal and still_running(process):
                pass
            process.send_signal(signal.SIGKILL)
            process.wait()
        last = assay(*command, cwd=tmp_path)
        assert last.returncode == 0, last.stderr
        served = server.seen()
    stretches, damaged = read_stretches(tmp_path / "killed")
    assert 1 <= len(stretches) <= kills + 1
    assert not damaged

    records = list(read_records(tmp_path / "killed" / "journal.jsonl"))
    assert Counter(record.sample_id for record in records) == {f"s-{n:05}": 1 for n in range(SAMPLES)}
    repeated = sum(count - 1 for count in served.values())
    assert repeated <= kills * CONCURRENCY

    with fake_server() as server:
        quiet = assay(
            "run", task, *flags, "--model-arg", f"base_url={server.base_url}", "--run-dir", "quiet", cwd=tmp_path
        )
        assert quiet.returncode == 0, quiet.stderr
    killed, peaceful = leaderboard(tmp_path / "killed"), leaderboard(tmp_path / "quiet")
    assert comparable(killed) == comparable(peaceful)
    assert killed["overall_score"] == 0.9


def finished(folder: Path) -> int:
    path = folder / "journal.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def still_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=0.01)
    except subprocess.TimeoutExpired:
        return True
    return False


def comparable(board: dict[str, object]) -> dict[str, object]:
    """The leaderboard without time, and without the port that the two servers do not share."""
    rows = [
        {k: v for k, v in row.items() if k not in ("latency_ms", "latency")}  # type: ignore[attr-defined]
        for row in board["tasks"]  # type: ignore[attr-defined]
    ]
    return {"overall": board["overall_score"], "tasks": rows, "complete": board["complete"]}
