"""This checkout beside an earlier one: CPU of a run, of its reports and of the sandbox, as ratios.

`python -m bench.before CHECKOUT [--samples N] [--rounds N] [--reports]`: CHECKOUT is a folder of the earlier commit
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


MODELS = """
def every(nth):
    return lambda prompt: "wrong" if int(prompt.split()[-1]) % nth == 0 else prompt.removeprefix("write: ")
m1, m2, m3, m4 = map(every, (6, 7, 8, 9))
"""
"""Four that answer differently, for reports of several runs; the first run has the toy model."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a folder of the earlier commit")
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--candidates", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reports", action="store_true", help="only those: each side makes its runs once, untimed")
    options = parser.parse_args()
    sides = {"before": options.checkout.resolve(), "now": HERE}
    print("| | size | before | now | ratio |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "models.py").write_text(MODELS)
        for size in (1, options.samples):
            write_echoes(folder / f"{size}.jsonl", size)
        work = [
            ("a run, µs per sample", "run", options.samples, 1e6),
            ("its leaderboard, µs per sample", "leaderboard", options.samples, 1e6),
            ("the sandbox, ms per candidate", "sandbox", options.candidates, 1e3),
        ]
        if options.reports:
            work = [
                ("the leaderboard of a run, µs per sample", "leaderboard", options.samples, 1e6),
                ("a diff of two runs, µs per sample of each", "diff", options.samples, 1e6),
                ("the leaderboard of five runs, µs per sample of each", "five", options.samples, 1e6),
            ]
            for side, source in sides.items():
                for count in (1, options.samples):
                    for number in range(RUNS_OF["five"]):
                        cpu_seconds(source, program("run", folder, side, count, number), folder)
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


RUNS_OF = {"leaderboard": 1, "diff": 2, "five": 5}


def program(verb: str, folder: Path, side: str, count: int, number: int = 0) -> list[str]:
    """What Python is given to do it."""
    runs = [str(folder / f"{side}-{count}-{k}") for k in range(max(RUNS_OF.values()))]
    if verb == "run":
        model = ["--model", f"models:m{number}"] if number else []
        task = str(folder / f"{count}.jsonl")
        return ["-c", COMMAND, "run", task, "--run-dir", runs[number], "--fresh", "--quiet", *model]
    if verb == "sandbox":
        return ["-c", SANDBOX, str(count)]
    return ["-c", COMMAND, "diff" if verb == "diff" else "leaderboard", *runs[: RUNS_OF[verb]]]


if __name__ == "__main__":
    main()
