"""When processes for scorers pay: a run and a rescoring of the same answers, with none and with one per CPU.

`python -m bench scorers [--samples N]`. Wall time, for that is what processes are for; CPU hardly moves.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.overhead import measure

METRIC = """
import time

def busy(prediction, targets, extras):
    until = time.thread_time() + extras["microseconds"] / 1e6
    while time.thread_time() < until:
        pass
    return float(prediction in targets)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4_000)
    options = parser.parse_args()
    print("| CPU of one score | what | none, s | auto, s | ratio |\n|---:|---|---:|---:|---:|")
    for microseconds in (20, 500, 2_000, 10_000):
        with tempfile.TemporaryDirectory() as name:
            compare(Path(name), microseconds, max(options.samples // (1 + microseconds // 2_000), 500))


def compare(folder: Path, microseconds: int, count: int) -> None:
    (folder / "busy_metric.py").write_text(METRIC)
    task = folder / "t.jsonl"
    line = {"targets": ["1"], "metric": "busy_metric:busy", "extras": {"microseconds": microseconds}}
    task.write_text("".join(json.dumps({"id": f"s-{n}", "prompt": f"write: {n}", **line}) + "\n" for n in range(count)))
    seconds: dict[tuple[str, str], float] = {}
    for workers in ("0", "auto"):
        for what, words in (
            ("run", ["run", str(task), "--quiet", "--run-dir", f"run-{workers}"]),
            ("rescore", ["rescore", f"run-{workers}", "--run-dir", f"again-{workers}"]),
        ):
            command = [sys.executable, "-m", "assay", *words, "--score-workers", workers]
            seconds[what, workers] = measure(command, folder)[0]
    for what in ("run", "rescore"):
        none, auto = seconds[what, "0"], seconds[what, "auto"]
        print(
            f"| {microseconds / 1000:g} ms | {what}, {count:,} | {none:.1f} | {auto:.1f} | {none / auto:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
