"""A lm-eval task to import, and a scripted model to run what was imported with."""

from __future__ import annotations

import json
from pathlib import Path

from assay.core.describe import ModelOffers
from assay.core.types import Completion, Request
from assay.results.board.board_types import TaskRow
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks


class Script:
    """Says what the table says for a prompt's last line, and finds a continuation as likely as the table says."""

    name = "script"
    offers = ModelOffers(likelihoods="yes")

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers = answers
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        last = request.text().strip().rpartition("\n")[2]
        if request.continuation is not None:
            return Completion(text="", logprob=-0.1 if request.continuation.strip() == self._answers[last] else -9.0)
        return Completion(text=self._answers.get(last, ""))


def run(folder: Path, model: Script) -> dict[str, TaskRow]:
    config = RunConfig(include_per_example=True)
    board = run_evaluation(load_tasks([str(folder)]), config, model=model, folder=folder / "run").leaderboard
    return {row.task: row for row in board.tasks}


SUMS = """
task: my_sums
dataset_path: json
dataset_kwargs:
  data_files: {test: sums.jsonl, train: train.jsonl}
output_type: generate_until
test_split: test
fewshot_split: train
num_fewshot: 1
description: "Work it out.\\n\\n"
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer.split('####')[-1].strip()}}"
generation_kwargs: {until: ["Question:", "</s>"], do_sample: false, max_gen_toks: 32}
filter_list:
  - name: strict-match
    filter:
      - {function: regex, regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"}
      - {function: take_first}
  - name: flexible
    filter: [{function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true, regexes_to_ignore: [","]}
  - {metric: bleu}
"""


def write_sums(folder: Path) -> Path:
    """The task above with its documents, in `task.yaml`."""
    rows = [{"question": f"{n} + {n}?", "answer": f"It is {2 * n}.\n#### {2 * n}"} for n in (1, 2, 500)]
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "train.jsonl").write_text(json.dumps({"question": "0 + 0?", "answer": "Nothing.\n#### 0"}))
    (folder / "task.yaml").write_text(SUMS)
    return folder
