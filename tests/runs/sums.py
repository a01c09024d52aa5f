"""A task of sums with wrong targets, run by the toy model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks


def write_sums(path: Path, count: int = 40, wrong: int = 4) -> Path:
    with path.open("w") as file:
        for n in range(count):
            target = "no" if n < wrong else str(n + 1)
            line = {"id": f"s{n}", "prompt": f"compute: {n} + 1", "targets": [target], "metric": "exact_match"}
            file.write(json.dumps(line) + "\n")
    return path


def config(**changes: Any) -> RunConfig:
    return RunConfig(**{"model": "toy", **changes})


def run(path: Path, folder: Path, model: object = None, **changes: Any) -> Any:
    return run_evaluation(load_tasks([str(path)]), config(**changes), model=model, folder=folder).leaderboard
