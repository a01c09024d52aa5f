"""Candidates per second: the sandbox beside a fresh interpreter per candidate and a fork of the harness with a guard.

The guard is the usual one of code benchmarks (fork the harness, set dangerous functions to None, exec, compare in the
same process), rewritten here in its smallest form. It is fast to write and stops nothing; it is here for its speed.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.sandbox import Expressions, IoPairs, Program, Sandbox, Stdout
from assay.sandbox.pool import cores

IMPORTS = "import collections, functools, itertools, math, re, string\n"
CODE = IMPORTS + "def f(x):\n    return [math.isqrt(n) for n in range(x)]\n"
EXPECTED = [0, 1, 1, 1, 2]
PROGRAMS: dict[str, Program] = {
    "sandbox, io_pairs": IoPairs(code=CODE, pairs=((5, EXPECTED),)),
    "sandbox, stdout": Stdout(code=CODE + "print(f(5))", expected=(str(EXPECTED),)),
    "sandbox, assertions (two processes)": Expressions(code=CODE, targets=("len(f(5)) == 5",)),
}

ROUNDS = 5
"""Every row is measured in turns with the others, so that a busy machine is unfair to all of them alike."""


class Measured:
    """What one way of running candidates has cost so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.times: list[float] = []

    def row(self) -> str:
        count = len(self.times)
        ordered = sorted(self.times)
        p50, p99 = ordered[count // 2], ordered[min(count - 1, int(count * 0.99))]
        cpu_ms = self.cpu_seconds / count * 1000
        return f"| {self.name} | {count} | {count / self.seconds:.0f} | {cpu_ms:.1f} | {p50:.1f} | {p99:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="candidates per row")
    count = parser.parse_args().count
    rows = asyncio.run(measure(count))
    print(f"{cores()} cores, {cores()} at a time, Python {sys.version.split()[0]}\n")
    print("| | candidates | /s | CPU ms each | p50 ms | p99 ms |")
    print("|---|--:|--:|--:|--:|--:|")
    print("\n".join(row.row() for row in rows))


async def measure(count: int) -> list[Measured]:
    boxed = {name: Measured(name) for name in PROGRAMS}
    fresh = Measured("fresh `python -I`, no protection")
    forked = Measured("fork of the harness with a guard")
    async with Sandbox() as sandbox:
        await asyncio.gather(*[sandbox.run(PROGRAMS["sandbox, io_pairs"]) for _ in range(4 * cores())])
        for _ in range(ROUNDS):
            for name, measured in boxed.items():
                await sandbox_round(sandbox, PROGRAMS[name], count // ROUNDS, measured)
            plain_round(fresh, count // ROUNDS // 2, fresh_interpreter)
            plain_round(forked, count // ROUNDS // 2, forked_with_guard)
    return [*boxed.values(), fresh, forked]


async def sandbox_round(sandbox: Sandbox, program: Program, count: int, measured: Measured) -> None:
    """CPU is that of harness, zygotes and candidates together."""
    before, started = cpu_seconds() + zygote_seconds(sandbox), time.perf_counter()
    spent_inside = 0.0
    numbers = iter(range(count))

    async def worker() -> None:
        nonlocal spent_inside
        for _ in numbers:
            began = time.perf_counter()
            outcome = await sandbox.run(program)
            measured.times.append((time.perf_counter() - began) * 1000)
            spent_inside += outcome.cpu_ms / 1000
            if outcome.outcome != "pass":
                raise RuntimeError(outcome)

    await asyncio.gather(*[worker() for _ in range(cores())])
    measured.seconds += time.perf_counter() - started
    measured.cpu_seconds += cpu_seconds() + zygote_seconds(sandbox) - before + spent_inside


def zygote_seconds(sandbox: Sandbox) -> float:
    """Processor time of the zygotes themselves, read from their clocks."""
    spent = 0.0
    for worker in sandbox._threads:
        if worker._zygote is not None:
            outer = worker._zygote._process.pid
            inner = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
            spent += sum(time.clock_gettime((~int(pid) << 3) | 2) for pid in [outer, *inner])
    return spent


def plain_round(measured: Measured, count: int, one: Callable[[], bool]) -> None:
    def timed(_: int) -> float:
        started = time.perf_counter()
        if not one():
            raise RuntimeError(f"{measured.name} failed")
        return (time.perf_counter() - started) * 1000

    before, started = cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(cores()) as threads:
        measured.times += threads.map(timed, range(count))
    measured.seconds += time.perf_counter() - started
    measured.cpu_seconds += cpu_seconds() - before


def fresh_interpreter() -> bool:
    source = CODE + f"assert f(5) == {EXPECTED}\n"
    return subprocess.run([sys.executable, "-I", "-c", source]).returncode == 0


def forked_with_guard() -> bool:
    """A manager's list and a forked process each, as the usual guard does it."""
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        results = manager.list()
        process = context.Process(target=guarded, args=(CODE + f"assert f(5) == {EXPECTED}\n", results))
        process.start()
        process.join(10)
        return list(results) == ["passed"]


def guarded(source: str, results: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
    for name in ("kill", "system", "fork", "remove", "rename", "unlink", "chmod", "chdir"):
        setattr(os, name, None)
    try:
        exec(source, {})
        results.append("passed")
    except BaseException as error:
        results.append(f"failed: {error}")


def cpu_seconds() -> float:
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


if __name__ == "__main__":
    main()
