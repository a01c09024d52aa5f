"""Full disks, folders that cannot be written, signals, servers that come and go, clocks that jump: a run that meets any
of these ends with a sentence, and the same command afterwards comes to what the quiet run came to."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.commands import Server, assay, environment, fake_server, leaderboard, start_assay, write_task

from assay.core.journal import read_records

SAMPLES = 400
PROMPTS = {f"compute: {n} + {n % 7}": str(n + n % 7 if n % 10 else -1) for n in range(SAMPLES)}
JUMPING_CLOCK = """
import random, time
_time, _time_ns, _rng = time.time, time.time_ns, random.Random(7)
time.time = lambda: _time() + _rng.choice((-86400.0, 0.0, 3600.0))
time.time_ns = lambda: _time_ns() + _rng.choice((-86400, 0, 3600)) * 10**9
"""


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, object]]]:
    """A server, and what a run against it comes to when nothing happens."""
    folder = tmp_path_factory.mktemp("quiet")
    with fake_server() as server:
        done = assay(*command(folder, server), cwd=folder)
        assert done.returncode == 0, done.stderr
        yield server, leaderboard(folder / "run")


def command(folder: Path, server: Server, *flags: str) -> list[str | Path]:
    task = write_task(folder / "sums.jsonl", PROMPTS)
    address = f"base_url={server.base_url}"
    return ["run", task, "--model", "openai:fake", "--model-arg", address, "--quiet", "--run-dir", "run", *flags]


def ends_like(quiet: dict[str, object], folder: Path) -> None:
    """Every attempt succeeded exactly once, and the numbers are those of the quiet run."""
    records = list(read_records(folder / "run" / "journal.jsonl"))
    made = Counter(record.sample_id for record in records if not record.failed)
    assert made == {f"s-{n:05}": 1 for n in range(SAMPLES)}
    assert leaderboard(folder / "run")["fingerprint"] == quiet["fingerprint"]
    assert not list(folder.rglob("*.partial"))


@pytest.mark.parametrize(("kilobytes", "cache"), [(0, False), (1, True), (40, True), (100, False)])
def test_a_full_disk_ends_in_a_sentence_and_loses_nothing(
    tmp_path: Path, quiet: tuple[Server, dict[str, object]], kilobytes: int, cache: bool
) -> None:
    server, expected = quiet
    asked = command(tmp_path, server, "--model-arg", f"cache={str(cache).lower()}")
    full = subprocess.run(
        [sys.executable, "-m", "assay", *map(str, asked)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024)),
    )
    assert full.returncode == 2, full.stderr
    said = [line for line in full.stderr.splitlines() if "completion cache is no longer used" not in line]
    assert [line.startswith("assay run: ") for line in said] == [True]
    assert "Traceback" not in full.stderr
    journal = tmp_path / "run" / "journal.jsonl"
    kept = list(read_records(journal)) if journal.exists() else []
    assert not any(record.failed for record in kept)
    done = assay(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ends_like(expected, tmp_path)


@pytest.mark.parametrize("place", ["sums.jsonl/run", "/proc/self/run", "/proc/run"])
def test_a_folder_that_cannot_be_written_ends_in_a_sentence(tmp_path: Path, place: str) -> None:
    task = write_task(tmp_path / "sums.jsonl", {"compute: 1 + 1": "2"})
    done = assay("run", task, "--run-dir", place, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "could not write" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_at_random_moments_lose_nothing(
    tmp_path: Path, quiet: tuple[Server, dict[str, object]], number: signal.Signals
) -> None:
    server, expected = quiet
    asked = command(tmp_path, server, "--concurrency", "4")
    rng = random.Random(number)
    journal = tmp_path / "run" / "journal.jsonl"
    for part in range(1, 4):
        goal = SAMPLES * part // 5 + rng.randrange(SAMPLES // 6)
        goal = max(goal, lines(journal) + 1)  # a process that has just begun takes no signal as its own yet
        process = start_assay(*asked, cwd=tmp_path)
        while lines(journal) < goal and running(process):
            pass
        process.send_signal(number)
        assert process.wait() in (0, 130)
        assert journal.read_bytes().endswith(b"\n")
    assert assay(*asked, cwd=tmp_path).returncode == 0
    ends_like(expected, tmp_path)


def test_an_outage_of_the_server_costs_only_time(tmp_path: Path) -> None:
    journal = tmp_path / "run" / "journal.jsonl"
    with fake_server() as first:
        asked = command(tmp_path, first, "--no-cache", "--concurrency", "8")
        process = start_assay(*asked, cwd=tmp_path)
        while lines(journal) < SAMPLES // 3 and running(process):
            pass
    # gone for as long as a server takes to start; the attempts in flight wait and try again
    with fake_server(first.port) as second:
        assert process.wait() == 0
        whole = assay(*asked, "--run-dir", "quiet", cwd=tmp_path)
        assert whole.returncode == 0, whole.stderr
        assert second.port == first.port
    ends_like(leaderboard(tmp_path / "quiet"), tmp_path)


def test_a_third_of_all_requests_failing_changes_no_number(
    tmp_path: Path, quiet: tuple[Server, dict[str, object]]
) -> None:
    with fake_server(trouble=0.3) as server:
        asked = command(tmp_path, server, "--concurrency", "128", "--timeout")
        codes = [assay(*asked, "3", cwd=tmp_path).returncode]
        while codes[-1] == 3 and len(codes) < 10:
            # on a crowded machine three seconds are short also for a request that is answered
            codes.append(assay(*asked, str(3 * 2 ** len(codes)), cwd=tmp_path).returncode)
    assert codes[-1] == 0
    records = list(read_records(tmp_path / "run" / "journal.jsonl"))
    assert Counter(each.sample_id for each in records if not each.failed) == {f"s-{n:05}": 1 for n in range(SAMPLES)}
    assert leaderboard(tmp_path / "run")["overall_score"] == quiet[1]["overall_score"]
    assert sum(completion.retries for each in records if each.trace for completion in each.trace.completions) > 50


def test_a_wall_clock_that_jumps_changes_nothing(tmp_path: Path, quiet: tuple[Server, dict[str, object]]) -> None:
    server, expected = quiet
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(JUMPING_CLOCK)
    path = f"{tmp_path / 'clock'}:{environment()['PYTHONPATH']}"
    asked = command(tmp_path, server, "--model-arg", "cache=true", "--rpm", "600000")
    for shard in ("1/2", "2/2", "1/1"):
        done = assay(*asked, "--shard", shard, cwd=tmp_path, PYTHONPATH=path)
        assert done.returncode == 0, done.stderr
    assert assay("merge", "run", cwd=tmp_path, PYTHONPATH=path).returncode == 0
    ends_like(expected, tmp_path)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=0.01)
    except subprocess.TimeoutExpired:
        return True
    return False


def test_a_server_that_asks_for_an_hour_is_awaited_as_long_as_patience_says(tmp_path: Path) -> None:
    answered = {f"compute: {n} + 1": str(n + 1) for n in range(20)}
    refused = {f"behave: status 429 999999 Retry-After=3600\ncompute: {n} + 2": str(n + 2) for n in range(40)}
    task = write_task(tmp_path / "sums.jsonl", answered | refused)
    with fake_server() as server:
        address = f"base_url={server.base_url}"
        asked = ["run", task, "--model", "openai:fake", "--model-arg", address, "--run-dir", "run"]
        done = assay(*asked, "--patience", "0.05", cwd=tmp_path)
    assert done.returncode == 3
    assert "has not answered for 3 s (--patience)" in done.stderr
    records = list(read_records(tmp_path / "run" / "journal.jsonl"))
    refusals = [record for record in records if record.failed]
    assert len(records) > len(refusals), "what was answered is kept"
    assert all(record.failures[0].kind == "rate_limit" for record in refusals)
    assert len(refusals) < len(refused) / 2  # those that were refused before it was known; the others remain


HANGING = """
from pathlib import Path

def score(prediction, targets, extras):
    if prediction == "7" and Path("hang").exists():
        Path("hangs").touch()
        while True:
            pass
    return 1.0
"""


@pytest.mark.parametrize("asked", [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_a_run_ends_when_asked_also_while_a_metric_computes_forever(
    tmp_path: Path, asked: list[signal.Signals]
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    (tmp_path / "hang").touch()
    task = write_task(tmp_path / "t.jsonl", {f"write: {n}": str(n) for n in range(20)}, metric="hanging:score")
    command = ["run", task, "--model", "toy", "--quiet", "--run-dir", "run"]
    running = start_assay(*command, cwd=tmp_path)
    while not (tmp_path / "hangs").exists():
        assert running.poll() is None
        time.sleep(0.01)
    for number in asked:
        running.send_signal(number)
        time.sleep(0.05)
    assert running.wait() == 130
    (tmp_path / "hang").unlink()
    assert assay(*command, cwd=tmp_path).returncode == 0
    records = list(read_records(tmp_path / "run" / "journal.jsonl"))
    assert {record.sample_id for record in records if not record.failed} == {f"s-{n:05}" for n in range(20)}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_metric_that_computes_forever_costs_its_own_attempt(tmp_path: Path, workers: str) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    (tmp_path / "hang").touch()
    task = write_task(tmp_path / "t.jsonl", {f"write: {n}": str(n) for n in range(20)}, metric="hanging:score")
    command = ["run", task, "--model", "toy", "--quiet", "--run-dir", "run", "--timeout", "1"]
    assert assay(*command, "--score-workers", workers, cwd=tmp_path).returncode == 3
    records = list(read_records(tmp_path / "run" / "journal.jsonl"))
    failed = [(record.sample_id, failure.kind) for record in records for failure in record.failures]
    assert (len(records), failed) == (20, [("s-00007", "timeout")])
