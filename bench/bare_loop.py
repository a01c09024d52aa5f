"""Samples in process beside the loop that people write by hand: decode a line, compare, write a line of JSON.

The loop keeps no failures, no usage, no checksum, survives no kill and makes no leaderboard. CPU of whole processes;
what one sample takes is start-up and is taken off. The least of all rounds is compared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.overhead import measure, write_echoes

LOOP = """
import json, sys
def evened(text):
    return " ".join(text.lower().split())
right = count = 0
with open(sys.argv[1]) as lines, open(sys.argv[2], "w") as out:
    for line in lines:
        sample = json.loads(line)
        said = sample["prompt"].removeprefix("write: ")
        score = float(evened(said) in map(evened, sample["targets"]))
        out.write(json.dumps({**sample, "prediction": said, "score": score}) + "\\n")
        right, count = right + score, count + 1
print(right / count)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = (1, options.samples)
        files = {size: write_echoes(folder / f"{size}.jsonl", size) for size in sizes}
        commands = {
            "a bare loop": [sys.executable, "-c", LOOP],
            "assay run": [sys.executable, "-m", "assay", "run", "--quiet", "--fresh", "--run-dir"],
        }
        least = {what: dict.fromkeys(sizes, float("inf")) for what in commands}
        peak = dict.fromkeys(commands, 0.0)
        for _ in range(options.rounds):
            for what, command in commands.items():
                for size in sizes:
                    out = str(folder / f"{what.split()[0]}-{size}")
                    words = [str(files[size]), out] if what == "a bare loop" else [out, str(files[size])]
                    _, cpu, megabytes = measure([*command, *words], folder)
                    least[what][size] = min(least[what][size], cpu)
                    peak[what] = max(peak[what], megabytes)
        each = {
            what: (found[options.samples] - found[1]) / (options.samples - 1) * 1e6 for what, found in least.items()
        }
        print("| | samples | CPU µs/sample | × the loop | peak MB |\n|---|--:|--:|--:|--:|")
        for what, cost in each.items():
            ratio = cost / each["a bare loop"]
            print(f"| {what} | {options.samples:,} | {cost:.1f} | {ratio:.1f} | {peak[what]:.0f} |")


if __name__ == "__main__":
    main()
