"""Small declarative tasks, run for real: rows and scorers in, the leaderboard of a finished run out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.formats.declarative.reading import read_yaml_tasks

from assay.results.board.board_types import Leaderboard, TaskRow
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation

ASKS = {
    "type": "single_turn_solver",
    "input_builder": {"type": "chat_completion", "input_messages": [{"role": "user", "content": "{{ sample.q }}"}]},
}
EQUALS = {"key": "main", "type": "string_equals", "ground_truth": "{{ sample.a }}"}


def write_task(
    folder: Path,
    rows: Sequence[dict[str, Any]],
    scorers: Sequence[dict[str, Any]],
    *,
    rules: dict[str, dict[str, Any]] | None = None,
    solver: dict[str, Any] | None = ASKS,
) -> Path:
    """A task file in YAML (which JSON is), and its dataset next to it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    definition: dict[str, Any] = {
        "evaluated_entity_type": "dataset" if solver is None else "model",
        "dataset": {"key": "rows"},
        "scorers": list(scorers),
        "actions": [
            {"key": key, "action": "exclude_from_metrics", "filter": rule} for key, rule in (rules or {}).items()
        ],
    }
    if solver is not None:
        definition["solver"] = solver
    path = folder / "task.yaml"
    path.write_text(json.dumps({"key": "t", "display_name": "T", "description": "d", "definition": definition}))
    return path


def run_task(path: Path, model: Callable[[str], str] = lambda prompt: prompt, **config: Any) -> Leaderboard:
    """Run the task in `run` next to its file; the folder of the file must be the working directory."""
    return run_evaluation(
        read_yaml_tasks(path), RunConfig(cache=False, **config), model=model, folder=path.parent / "run"
    ).leaderboard


def python_scorer(body: str, **more: Any) -> dict[str, Any]:
    """A scorer whose `compute_scores` is this expression or these lines."""
    source = body if "\n" in body else f"return {body}"
    lines = "\n".join(f"    {line}" for line in source.splitlines())
    return {
        "key": "own",
        "type": "python",
        "compute_scores_snippet": f"def compute_scores(sample, solver_output=None):\n{lines}\n",
        **more,
    }


Runs = Callable[..., Leaderboard]


def only(board: Leaderboard) -> TaskRow:
    [row] = board.tasks
    return row
