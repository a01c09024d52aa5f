"""This checkout beside an earlier one: CPU of a run, of its leaderboard and of the sandbox, as ratios.

`python -m bench.before CHECKOUT [--samples N] [--rounds N]`, where CHECKOUT is a folder of the earlier commit
(`git worktree add CHECKOUT COMMIT`). Every measurement is a process of its own, with all the processes that it starts,
in turns with the other checkout's; what a size of one takes is start-up and is taken off. The least of all rounds is
compared: whatever else the machine does only ever adds.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.overhead import write_echoes

HERE = Path(__file__).parents[1]

RUN = """
import sys
from pathlib import Path
from assay.core.config import RunConfig
from assay.evaluation import run_evaluation
from assay.tasks.load import load_tasks
run_evaluation(load_tasks([sys.argv[1]]), RunConfig(), folder=Path(sys.argv[2]), fresh=True)
"""
LEADERBOARD = """
import sys
from pathlib import Path
from assay.reports.leaderboard import build_leaderboard
build_leaderboard(Path(sys.argv[2]))
"""
SANDBOX = """
import asyncio, sys
from assay.sandbox import IoPairs, Sandbox
CODE = "import math\\ndef f(x):\\n    return [math.isqrt(n) for n in range(x)]\\n"
async def main(count):
    async with Sandbox() as sandbox:
        for start in range(0, count, 50):
            many = range(start, min(start + 50, count))
            done = await asyncio.gather(*(sandbox.run(IoPairs(code=CODE, pairs=((5, [0, 1, 1, 1, 2]),))) for _ in many))
            assert all(each.outcome == "pass" for each in done)
asyncio.run(main(int(sys.argv[1])))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a folder of the earlier commit")
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--candidates", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sides = {"before": options.checkout.resolve() / "src", "now": HERE / "src"}
    print("| | size | before | now | ratio |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in (1, options.samples):
            write_echoes(folder / f"{size}.jsonl", size)
        for what, script, size, unit in (
            ("a run, µs per sample", RUN, options.samples, 1e6),
            ("its leaderboard, µs per sample", LEADERBOARD, options.samples, 1e6),
            ("the sandbox, ms per candidate", SANDBOX, options.candidates, 1e3),
        ):
            least = {side: {1: float("inf"), size: float("inf")} for side in sides}
            for number in range(options.rounds):
                for side in sorted(sides, reverse=bool(number % 2)):
                    for count in (1, size):
                        words = [str(count)] if script is SANDBOX else task_and_run(folder, side, count)
                        least[side][count] = min(least[side][count], cpu_seconds(sides[side], script, words, folder))
            each = {side: (found[size] - found[1]) / (size - 1) * unit for side, found in least.items()}
            ratio = each["now"] / each["before"]
            print(f"| {what} | {size:,} | {each['before']:.2f} | {each['now']:.2f} | {ratio:.3f} |", flush=True)


def task_and_run(folder: Path, side: str, count: int) -> list[str]:
    return [str(folder / f"{count}.jsonl"), str(folder / f"{side}-{count}")]


def cpu_seconds(source: Path, script: str, words: list[str], folder: Path) -> float:
    """User and system time of the process and of those that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(source), "ASSAY_HOME": str(folder / "home")}
    subprocess.run([sys.executable, "-c", script, *words], env=environment, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
