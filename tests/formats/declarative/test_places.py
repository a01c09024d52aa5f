"""Where the fields of a task stand, by the names that its parts have for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.formats.declarative.load import read_located_tasks
from assay.formats.declarative.reading_options import ReadingOptions

TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.q }}"}
  scorers:
    - type: string_equals
      ground_truth: "{{ sample.a }}"
    - key: two
      type: string_equals
      ground_truth: "{{ sample.a }}"
      metrics:
        - {type: mean, field: is_correct}
        - {type: mean, field: is_correct}
  actions:
    - key: skip
      action: exclude_from_metrics
      filter: {op: exists, expression: "{{ sample.x }}"}
"""

PLACES = [
    ("definition.solver.input_builder.input_messages[0].content", 11, "input_messages[0].content"),
    ("scorers.string_equals.ground_truth", 14, "definition.scorers[0].ground_truth"),
    ("scorers.two.ground_truth", 17, "definition.scorers[1].ground_truth"),
    ("scorers.two.metrics.mean_2.field", 20, "definition.scorers[1].metrics[1].field"),
    ("scorers.string_equals.metrics.mean.field", 13, "definition.scorers[0]"),
    ("actions.skip.filter", 24, "definition.actions[0].filter"),
    ("scorers.two.nothing_here", 15, "definition.scorers[1].nothing_here"),
]


@pytest.mark.parametrize(("field", "line", "name"), PLACES, ids=[each[0] for each in PLACES])
def test_a_field_is_found_by_the_name_that_its_part_has_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, line: int, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"q": "q", "a": "a"}\n')
    Path("task.yaml").write_text(TASK)
    [task] = read_located_tasks(Path("task.yaml"), ReadingOptions())
    position, found = task.places.of(task.definition, field)
    assert (position.file, position.line) == ("task.yaml", line)
    assert found.endswith(name)
