"""A declarative task to read, change and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks

from assay.core.types import TaskDefinition
from assay.results.board.leaderboard import Leaderboard
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation

Read = Callable[..., list[TaskDefinition]]


ROWS = "".join(f'{{"q": "q{n}", "a": "{n % 3}", "n": {n}}}\n' for n in range(6))


TASK = """\
key: t
display_name: T
description: d
config_spec:
  - {type: string, key: word, display_name: W, default_value: hello}
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "<< config.word >> {{ sample.q }}"}]
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.a }}"}
"""


RUN = """\
datasets:
  - {key: data, display_name: D, source: {type: local, file_path: data.jsonl}}
  - {key: other, display_name: O, source: {type: inline, samples: [{q: x, a: y}]}}
models:
  - {key: m, display_name: M, config: {connection_type: assay, model: toy}, rate_limit: 90, max_concurrent_requests: 2}
  - $provider: openai/gpt-4.1-nano
tasks:
  - $ref: task.yaml
  - key: rows
    display_name: R
    description: ""
    definition:
      evaluated_entity_type: dataset
      scorers:
        - type: python
          compute_scores_snippet: "def compute_scores(sample): return {'ok': True}"
          metrics: [{type: mean, field: ok}]
evaluation:
  key: e
  display_name: E
  num_samples: 4
  task_specifications:
    - {task_key: t, model_key: m}
"""


def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads a task file that lies next to its data in the current folder: the fixture `read`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.jsonl").write_text(ROWS)
    (tmp_path / "task.yaml").write_text(TASK)

    def read(text: str = TASK, **options: Any) -> list[TaskDefinition]:
        path = tmp_path / "file.yaml"
        path.write_text(text)
        return read_yaml_tasks(path, **options)

    return read


def run(definitions: list[TaskDefinition], model: Any, folder: Path, **config: Any) -> Leaderboard:
    config = {"include_per_example": True, **config}
    return run_evaluation(definitions, RunConfig(**config), model=model, folder=folder).leaderboard


PYTHON = """\
key: t
display_name: T
description: d
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.n }}"}]}
  scorers:
    - type: python
      key: p
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            n = sample["n"]
            if n == 5:
                raise ValueError("five")
            return {"scores": {"value": n, "gt": n % 2 == 0, "pred": str(n < 3), "label": "low" if n < 2 else "high",
                               "tp": n, "fp": 1, "fn": 2}, "metadata": {"said": str(solver_output.output)}}
      metrics:
        - {type: mean, field: value}
        - {type: max, field: value}
        - {type: min, field: value, name: least}
        - {type: std_dev, field: value}
        - {type: frequency, field: label}
        - {type: binary-classification, field_gt: gt, field_pred: pred, positive_answer: true, negative_answer: false}
        - {type: multiclass-classification, key: multi, field_gt: gt, field_pred: pred}
        - {type: recall, num_true_positives_field: tp, num_false_negatives_field: fn}
        - {type: precision, num_true_positives_field: tp, num_false_positives_field: fp, name: p1}
        - type: f1_score
          num_true_positives_field: tp
          num_false_positives_field: fp
          num_false_negatives_field: fn
        - {type: weighted_average, field: label, weights: {low: 1, high: 3}}
        - type: python
          compute_metrics_snippet: |
            def compute_metrics(scores):
                assert scores[0].metadata["said"] == "answer 0"
                return {"total": sum(score.values["value"] for score in scores), "n": len(scores)}
  actions:
    - key: not-four
      action: exclude_from_metrics
      filter: {op: greater_or_equal, expression: "{{ scores.p.value }}", value: 4}
"""
