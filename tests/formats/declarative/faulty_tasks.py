"""A task to put faults into, and what `assay validate` reports of it."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import UsageError
from assay.formats.declarative.load import check_yaml_file

TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: d}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.q }}"}
  scorers:
    - key: main
      type: string_equals
      ground_truth: "{{ sample.a }}"
  actions:
    - key: skip
      action: exclude_from_metrics
      filter: {op: is_true, expression: "{{ scores.main.is_correct }}"}
"""


def faults(folder: Path, text: str) -> list[str]:
    """What `assay validate` says, a line each, without the folder."""
    path = folder / "task.yaml"
    path.write_text(text)
    try:
        check_yaml_file(path)
    except UsageError as error:
        return [line.removeprefix(f"{folder}/") for line in str(error).splitlines()]
    return []
