"""Likelihood tasks in YAML, and a model that knows how likely each text is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from assay.core.describe import ModelOffers
from assay.core.types import Completion, Request
from assay.results.board.board_types import TaskRow
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks

ROWS = [
    {"q": "Is it?", "options": ["no", "certainly", "ja"], "right": "certainly"},
    {"q": "Was it?", "options": ["no", "certainly", "ja"], "right": "A"},
]


LOGPROBS = {" no": -2.0, " certainly": -3.0, " ja": -2.5}


WITHOUT_QUESTION = {" no": -1.0, " certainly": -9.0, " ja": -9.5}


class Reader:
    """Tells likelihoods from a table; a text costs half a nat per character."""

    name = "reader"
    offers = ModelOffers(likelihoods="yes")

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        text = request.continuation
        if text is None:
            return Completion(text="B")
        table = LOGPROBS if request.text() else WITHOUT_QUESTION
        return Completion(text=text, logprob=table.get(text, -0.5 * len(text)), raw={"continuation_tokens": 3})


def choice_task(normalize: str = "raw") -> dict[str, Any]:
    return {
        "key": "choices",
        "display_name": "Choices",
        "description": "",
        "definition": {
            "dataset": {"key": "rows"},
            "solver": {
                "type": "choice_likelihood_solver",
                "prompt": "Question: {{ sample.q }}\nAnswer:",
                "choices": "{{ sample.options | tojson }}",
            },
            "scorers": [
                {"type": "choice_likelihood", "ground_truth_choice": "{{ sample.right }}", "normalize": normalize}
            ],
        },
    }


def text_task(**solver: Any) -> dict[str, Any]:
    return {
        "key": "texts",
        "display_name": "Texts",
        "description": "",
        "definition": {
            "dataset": {"key": "rows"},
            "solver": {"type": "text_likelihood_solver", "text": "{{ sample.q }}", **solver},
            "scorers": [{"type": "text_likelihood"}],
        },
    }


def write(folder: Path, task: dict[str, Any], rows: list[dict[str, Any]] = ROWS) -> Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "task.yaml"
    path.write_text(yaml.safe_dump(task))
    return path


def run(path: Path, model: Any, folder: str = "run") -> TaskRow:
    config = RunConfig(cache=False, retries=0)
    return run_evaluation(load_tasks([str(path)]), config, model=model, folder=path.parent / folder).leaderboard.tasks[
        0
    ]
