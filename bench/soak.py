"""One long bad day: 100,000 samples while everything goes wrong at once, then the same numbers as on a quiet day.

All the time three requests in ten fail, each in another way. Round after round the run is killed, interrupted or
terminated at a random moment, meets a disk that is full, or loses its server for a while, once for minutes; its wall
clock jumps. In the end every sample must have succeeded exactly once and the leaderboard must agree with that of a run
left in peace.

`python -m bench.soak [--samples N] [--rounds N] [--seed N]`; bounded: about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.overhead import write_sums
from tests.end_to_end.commands import environment, fake_server, leaderboard
from tests.end_to_end.test_bad_days import JUMPING_CLOCK

from assay.core.journal import read_records

TROUBLE = 0.3
IN_FLIGHT = 128
LINE_BYTES = 300
"""Of a journal line, about."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=25, help="bad moments before the run is left to finish")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--outage-seconds", type=float, default=150, help="how long the server is away once")
    parser.add_argument("--minutes", type=float, default=30, help="give up after so long")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-soak-") as name:
        soak(Path(name), options)


def soak(folder: Path, options: argparse.Namespace) -> None:
    started = time.monotonic()
    task = write_sums(folder / "sums.jsonl", options.samples)
    day = BadDay(folder, task, random.Random(options.seed))
    for number in range(options.rounds):
        if number == options.rounds // 2:
            day.outage(options.samples * number // (options.rounds + 1), options.outage_seconds)
        day.round(options.samples * (number + 1) // (options.rounds + 1))
    while (code := day.finish()) == 3:
        if time.monotonic() - started > options.minutes * 60:
            sys.exit(f"not finished after {options.minutes:g} minutes; happened so far: {dict(day.happened)}")
    if code:
        sys.exit(f"the last run ended with exit code {code}")
    quiet = day.quiet()
    bad = leaderboard(folder / "bad")
    made: Counter[str] = Counter()
    failed = retries = 0
    for record in read_records(folder / "bad" / "journal.jsonl"):
        failed += record.failed
        if not record.failed:
            made[record.sample_id] += 1
            retries += sum(completion.retries for completion in record.trace.completions) if record.trace else 0
    lost, twice = options.samples - len(made), sum(count - 1 for count in made.values())
    rows = [
        ("samples", f"{options.samples:,}"),
        *((f"times: {what}", str(count)) for what, count in sorted(day.happened.items())),
        ("requests tried again", f"{retries:,}"),
        ("attempts that failed and were made again", f"{failed:,}"),
        ("lost", str(lost)),
        ("twice", str(twice)),
        ("score, bad day / quiet day", f"{bad['overall_score']} / {quiet['overall_score']}"),
        ("fingerprints agree", str(bad["fingerprint"] == quiet["fingerprint"])),
        ("minutes", f"{(time.monotonic() - started) / 60:.1f}"),
    ]
    print("| what | |\n|---|---|")
    for row in rows:
        print(f"| {row[0]} | {row[1]} |")
    if lost or twice or bad["fingerprint"] != quiet["fingerprint"]:
        sys.exit("the bad day left its mark")


class BadDay:
    """One run folder, and the things that happen to it."""

    def __init__(self, folder: Path, task: Path, rng: random.Random) -> None:
        self.folder = folder
        self.happened: Counter[str] = Counter()
        self._task = task
        self._rng = rng
        self._journal = folder / "bad" / "journal.jsonl"
        (folder / "clock").mkdir()
        (folder / "clock" / "sitecustomize.py").write_text(JUMPING_CLOCK)
        with fake_server() as server:
            self._port = server.port  # the run's identity holds the address, so every server is on this port

    def round(self, goal: int) -> None:
        """Let the run go on until about `goal` attempts are done, with something in its way."""
        what = self._rng.choice(("killed", "interrupted", "terminated", "disk full", "server gone"))
        self.happened[what] += 1
        limit = self._size() + self._rng.randrange(1000, 2_000_000) if what == "disk full" else None
        with fake_server(self._port, TROUBLE) as server:
            process = self._start("bad", server.base_url, limit)
            self._wait(goal, process)
            if what != "server gone":
                self._stop(process, what)
        if what == "server gone":
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self._rng.random() * 10)
            with fake_server(self._port, TROUBLE):
                self._wait(goal + 200, process)
                self._stop(process, "killed")

    def outage(self, goal: int, seconds: float) -> None:
        """The server is away for minutes while the run goes on; no attempt may be used up by that."""
        self.happened["server gone for minutes"] += 1
        with fake_server(self._port, TROUBLE) as server:
            process = self._start("bad", server.base_url, None)
            self._wait(goal + 500, process)
        before = self._failed()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            sys.exit("the run ended while its server was away")
        if self._failed() - before > 2 * IN_FLIGHT:
            sys.exit(f"{self._failed() - before} attempts were used up by an outage")
        with fake_server(self._port, TROUBLE):
            self._wait(self._size() // LINE_BYTES + 500, process)
            self._stop(process, "killed")

    def _failed(self) -> int:
        return sum(record.failed for record in read_records(self._journal))

    def finish(self) -> int:
        with fake_server(self._port, TROUBLE) as server:
            return self._start("bad", server.base_url, None).wait()

    def quiet(self) -> dict[str, object]:
        with fake_server(self._port) as server:
            if self._start("quiet", server.base_url, None).wait():
                sys.exit("the quiet run failed")
        return leaderboard(self.folder / "quiet")

    def _start(self, run: str, base_url: str, file_bytes: int | None) -> subprocess.Popen[bytes]:
        def limit() -> None:
            if file_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

        flags = ["--concurrency", str(IN_FLIGHT), "--timeout", "5", "--no-cache", "--quiet", "--run-dir", run]
        command = ["run", str(self._task), "--model", "openai:fake", "--model-arg", f"base_url={base_url}", *flags]
        path = f"{self.folder / 'clock'}:{environment()['PYTHONPATH']}"
        return subprocess.Popen(
            [sys.executable, "-m", "assay", *command],
            cwd=self.folder,
            env=environment(PYTHONPATH=path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=limit,  # noqa: PLW1509 - there are no threads here
        )

    def _stop(self, process: subprocess.Popen[bytes], what: str) -> None:
        number = {"interrupted": signal.SIGINT, "terminated": signal.SIGTERM}.get(what, signal.SIGKILL)
        process.send_signal(number)
        process.wait()

    def _wait(self, goal: int, process: subprocess.Popen[bytes]) -> None:
        bytes_wanted = goal * LINE_BYTES
        while process.poll() is None and self._size() < bytes_wanted:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)

    def _size(self) -> int:
        return self._journal.stat().st_size if self._journal.exists() else 0


if __name__ == "__main__":
    main()
