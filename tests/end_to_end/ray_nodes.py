"""A Ray cluster on the loopback interface, each node a process group of its own that a test may kill."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.end_to_end.commands import environment

HEAD = "127.0.0.2"
"""Not 127.0.0.1, which Ray replaces by the machine's own interface address."""


class Nodes:
    """One head that runs no work, and nodes with one CPU each."""

    def __init__(self, folder: Path) -> None:
        self.address = f"{HEAD}:{_free_port()}"
        self.settings = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_raylet_start_wait_time_s": "120",
        }
        """What every process of the cluster, and every driver, must have in its environment."""
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start("--head", f"--port={self.address.rpartition(':')[2]}", "--num-cpus=0", place=HEAD)

    def add(self, count: int, *has: str) -> None:
        """Nodes that have one CPU, and whatever else `has` says in Ray's words, be it there or not."""
        for _ in range(count):
            place = f"127.0.0.{2 + len(self._processes)}"
            self._start(f"--address={self.address}", "--num-cpus=1", *has, place=place)

    def kill(self, number: int) -> None:
        """Node `number` (from 1) is gone at once, with everything that ran on it."""
        process = self._processes[number]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def kill_all(self) -> None:
        for process in reversed(self._processes):
            if process.returncode is None:  # the number of one that was waited for may be another's by now
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _start(self, *arguments: str, place: str) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *arguments, f"--node-ip-address={place}"]
        command += ["--include-dashboard=false"] if "--head" in arguments else []
        command += ["--object-store-memory=80000000", "--disable-usage-stats", "--block"]
        log = self._folder / f"node-{len(self._processes)}.log"
        with log.open("wb") as said:
            process = subprocess.Popen(
                command, env=environment(**self.settings), stdout=said, stderr=said, start_new_session=True
            )
        self._processes.append(process)
        while b"Ray runtime started" not in log.read_bytes():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
                raise AssertionError(log.read_text())


@contextlib.contextmanager
def ray_nodes(folder: Path, count: int, *has: str) -> Iterator[Nodes]:
    nodes = Nodes(folder)
    try:
        nodes.add(count, *has)
        yield nodes
    finally:
        nodes.kill_all()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HEAD, 0))
        port: int = probe.getsockname()[1]
        return port
