"""Whether a sample costs more in a large run: the same work in one process, ten thousand samples and a million.

`python -m bench.growth [--large N]`. Each run reads, asks the toy model, scores, journals and makes a leaderboard; the
small one is made five times and its middle taken. CPU of the process, start-up left out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.overhead import write_echoes

from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks

SMALL = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost(folder, SMALL, "warm-up")
        before = [cost(folder, SMALL, f"before-{number}") for number in range(3)]
        large = cost(folder, options.large, "large")
        resumed = cost(folder, options.large, "large")
        after = [cost(folder, SMALL, f"after-{number}") for number in range(2)]
    small = median([*before, *after])
    print("| samples | CPU µs/sample |\n|---:|---:|")
    print(f"| {SMALL:,} | {small:.1f} |\n| {options.large:,} | {large:.1f} |")
    print(f"\nratio {large / small:.2f}; the large run gone on with when all is done: {resumed:.1f} µs/sample")


def cost(folder: Path, count: int, name: str) -> float:
    """CPU microseconds per sample of one whole run."""
    task = folder / f"task-{count}.jsonl"
    if not task.exists():
        write_echoes(task, count)
    began = time.process_time()
    run_evaluation(load_tasks([str(task)]), RunConfig(), folder=folder / name)
    return (time.process_time() - began) / count * 1e6


if __name__ == "__main__":
    main()
