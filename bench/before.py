"""This checkout beside an earlier one: CPU of a run, of its leaderboard and of the sandbox, as ratios.

`python -m bench.before CHECKOUT [--samples N] [--rounds N] [--leaderboard]`: CHECKOUT is a folder of the earlier commit
(`git worktree add CHECKOUT COMMIT`). Every measurement is a process of its own, with all the processes that it starts,
in turns with the other checkout's; what a size of one takes is start-up, told apart. The least of all rounds is
compared: whatever else the machine does only ever adds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.overhead import write_echoes
from bench.start_up import HERE, cpu_seconds

COMMAND = "import sys; from assay.cli.main import main; sys.exit(main())"
"""By the command line, which stays while modules move."""
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
    parser.add_argument("--leaderboard", action="store_true", help="only that: each side makes its run once, untimed")
    options = parser.parse_args()
    sides = {"before": options.checkout.resolve(), "now": HERE}
    print("| | size | before | now | ratio |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in (1, options.samples):
            write_echoes(folder / f"{size}.jsonl", size)
        board = ("its leaderboard, µs per sample", "leaderboard", options.samples, 1e6)
        work = [
            ("a run, µs per sample", "run", options.samples, 1e6),
            board,
            ("the sandbox, ms per candidate", "sandbox", options.candidates, 1e3),
        ]
        if options.leaderboard:
            work = [board]
            for side, source in sides.items():
                for count in (1, options.samples):
                    cpu_seconds(source, program("run", folder, side, count), folder)
        for what, verb, size, unit in work:
            least = {side: {1: float("inf"), size: float("inf")} for side in sides}
            for number in range(options.rounds):
                for side in sorted(sides, reverse=bool(number % 2)):
                    for count in (1, size):
                        words = program(verb, folder, side, count)
                        least[side][count] = min(least[side][count], cpu_seconds(sides[side], words, folder))
            each = {side: (found[size] - found[1]) / (size - 1) * unit for side, found in least.items()}
            ratio = each["now"] / each["before"]
            print(f"| {what} | {size:,} | {each['before']:.2f} | {each['now']:.2f} | {ratio:.3f} |", flush=True)
            start = {side: found[1] * 1e3 for side, found in least.items()}
            ratio = start["now"] / start["before"]
            print(f"| … its start-up, ms | 1 | {start['before']:.0f} | {start['now']:.0f} | {ratio:.3f} |", flush=True)


def program(verb: str, folder: Path, side: str, count: int) -> list[str]:
    """What Python is given to do it."""
    run = str(folder / f"{side}-{count}")
    if verb == "run":
        return ["-c", COMMAND, "run", str(folder / f"{count}.jsonl"), "--run-dir", run, "--fresh", "--quiet"]
    return ["-c", COMMAND, "leaderboard", run] if verb == "leaderboard" else ["-c", SANDBOX, str(count)]


if __name__ == "__main__":
    main()
