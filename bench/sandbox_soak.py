"""Thousands of candidates in a row, honest and hostile: nothing may grow, and nothing may be left behind."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from assay.sandbox import Expressions, IoPairs, Limits, Program, Sandbox, Stdout

HONEST = IoPairs(code="def f(x): return x + 1", pairs=((1, 2),))
MIXED: list[Program] = [
    HONEST,
    Stdout(code="print(input())", stdin="a", expected=("a",)),
    Expressions(code="def f(x): return [x]", targets=("len(f(1)) == 1",)),
    IoPairs(code="import os\ndef f(x): os._exit(0)", pairs=((1, 2),)),
    IoPairs(
        code="import threading, time\ndef f(x): threading.Thread(target=time.sleep, args=(9,)).start()", pairs=((1, 2),)
    ),
    IoPairs(code="def f(x): print('x' * 2_000_000)", pairs=((1, 2),)),
    IoPairs(code="def f(x): return bytearray(1 << 33)", pairs=((1, 2),)),
    IoPairs(code="import ctypes\ndef f(x): ctypes.string_at(0)", pairs=((1, 2),)),
]
PLACES = ("/tmp", "/dev/shm", "/var/tmp")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5_000)
    count = parser.parse_args().count
    grown = asyncio.run(soak(count))
    sys.exit(1 if grown else 0)


async def soak(count: int) -> bool:
    """True when something grew. Every thousand children a zygote is renewed, so that is part of it."""
    async with Sandbox() as sandbox:
        await run_many(sandbox, 100)
        first = state(sandbox)
        print("| candidates | harness MB | zygotes MB | descriptors | processes | files |")
        print("|--:|--:|--:|--:|--:|--:|")
        print(row(0, first), flush=True)
        last = first
        for done in range(0, count, max(1, count // 5)):
            await run_many(sandbox, count // 5)
            last = state(sandbox)
            print(row(done + count // 5, last), flush=True)
    harness, zygotes, descriptors, processes, files = last
    return (
        harness > first[0] + 8
        or zygotes > first[1] * 1.5
        or descriptors > first[2]
        or processes > first[3]
        or files > first[4]
    )


async def run_many(sandbox: Sandbox, count: int) -> None:
    """So many at a time that workers never wait, and no more."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            outcome = await sandbox.run(MIXED[number % len(MIXED)], Limits(cpu_seconds=5))
            if number % len(MIXED) < 3 and outcome.outcome != "pass":
                raise RuntimeError(f"an honest program failed: {outcome}")

    await asyncio.gather(*[worker() for _ in range(2 * sandbox.workers)])


State = tuple[float, float, int, int, int]


def state(sandbox: Sandbox) -> State:
    family = descendants(os.getpid())
    files = sum(litter(entry) for place in PLACES if os.path.isdir(place) for entry in os.scandir(place))
    return resident_mb(os.getpid()), sum(map(resident_mb, family)), len(os.listdir("/proc/self/fd")), len(family), files


def litter(entry: os.DirEntry[str]) -> bool:
    """Ours, or made by a user that does not exist; other programs use these folders, too."""
    return "assay" in entry.name or entry.stat(follow_symlinks=False).st_uid >= 1_900_000_000


def row(done: int, found: State) -> str:
    return f"| {done} | {found[0]:.1f} | {found[1]:.1f} | {found[2]} | {found[3]} | {found[4]} |"


def resident_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4 / 1024
    except FileNotFoundError:
        return 0.0


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found


if __name__ == "__main__":
    main()
