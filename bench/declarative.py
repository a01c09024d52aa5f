"""What the declarative format costs: a chat task with `string_equals` and two aggregates, beside a plain task folder.

Both ask the toy model the same questions in the same process layout; CPU is user + system time of the whole command,
less that of the same command over one sample. The target is at most twice the CPU per sample of the task folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.overhead import measure

TASK = """\
key: sums
display_name: Sums
description: ""
definition:
  dataset: {key: sums-data}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "compute: {{ sample.a }} + {{ sample.b }}"}
  scorers:
    - type: string_equals
      ground_truth: "{{ sample.total }}"
      metrics:
        - {type: mean, field: is_correct, name: accuracy}
        - {type: std_dev, field: is_correct}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("plain", "declarative"):
            _cpu_seconds(_written(Path(folder) / f"{kind}-1", kind, 1))  # compiles
        plain = min(_cpu_per_sample(Path(folder), "plain", options.samples) for _ in range(options.rounds))
        declarative = min(_cpu_per_sample(Path(folder), "declarative", options.samples) for _ in range(options.rounds))
    print(f"task folder    {plain * 1e6:7.1f} µs CPU per sample")
    print(f"declarative    {declarative * 1e6:7.1f} µs CPU per sample")
    print(f"ratio          {declarative / plain:7.2f}   (target: at most 2)")


def _cpu_per_sample(folder: Path, kind: str, samples: int) -> float:
    few, many = (_cpu_seconds(_written(folder / f"{kind}-{count}", kind, count)) for count in (1, samples))
    return (many - few) / (samples - 1)


def _written(folder: Path, kind: str, samples: int) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [(n, n % 97) for n in range(samples)]
    if kind == "plain":
        lines = (
            {"id": str(a), "prompt": f"compute: {a} + {b}", "targets": [str(a + b)], "metric": "exact_match"}
            for a, b in rows
        )
        path = folder / "sums.jsonl"
    else:
        lines = ({"a": a, "b": b, "total": a + b} for a, b in rows)
        path = folder / "sums.yaml"
        path.write_text(TASK)
    data = path if kind == "plain" else folder / "sums-data.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _cpu_seconds(path: Path) -> float:
    command = [sys.executable, "-m", "assay", "run", str(path), "--quiet", "--fresh", "--run-dir", "run"]
    return measure(command, path.parent)[1]


if __name__ == "__main__":
    main()
