"""What it costs to start: CPU of `assay --help` and of a run of ten samples, beside Python itself and numpy's import.

Whole processes, in turns; the least of all rounds is compared. `--checkout FOLDER` measures an earlier commit too.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.overhead import with_bytecode, write_echoes

HERE = Path(__file__).parents[1]
SAMPLES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--checkout", type=Path, help="a folder of an earlier commit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = write_echoes(folder / "ten.jsonl", SAMPLES)
        run = ["-m", "assay", "run", str(task), "--quiet", "--fresh", "--run-dir"]
        commands = {
            "python -c pass": (HERE, ["-c", "pass"]),
            "python -c 'import numpy'": (HERE, ["-c", "import numpy"]),
            "assay --help": (HERE, ["-m", "assay", "--help"]),
            "assay run, ten samples": (HERE, [*run, "now"]),
        }
        if options.checkout is not None:
            commands["… of the earlier checkout"] = (options.checkout.resolve(), [*run, "before"])
        least = dict.fromkeys(commands, float("inf"))
        for _ in range(options.rounds + 1):  # the first one compiles
            for what, (checkout, words) in commands.items():
                least[what] = min(least[what], cpu_seconds(checkout, words, folder))
    print("| | CPU ms | × numpy's import |\n|---|--:|--:|")
    numpy = least["python -c 'import numpy'"]
    for what, seconds in least.items():
        print(f"| {what} | {seconds * 1e3:.0f} | {seconds / numpy:.2f} |")


def cpu_seconds(checkout: Path, words: list[str], folder: Path) -> float:
    """User and system time of Python with these words, and of the processes that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {**with_bytecode(os.environ), "PYTHONPATH": str(checkout / "src"), "ASSAY_HOME": str(folder / "home")}
    subprocess.run([sys.executable, *words], env=variables, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
