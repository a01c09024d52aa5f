"""Declarative files as text, and what the checker makes of them."""

from __future__ import annotations

from pathlib import Path

from assay.formats.declarative.checked import (
    checked_definition,
    checked_task,
)
from assay.formats.declarative.records import (
    BenchmarkTask,
    TaskEntry,
)
from assay.formats.declarative.yaml_reader import Document, read_yaml

MODEL_TASK = """\
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
    - type: string_equals
      ground_truth: "{{ sample.a }}"
"""


DATASET_TASK = """\
key: t
display_name: T
description: ""
definition:
  evaluated_entity_type: dataset
"""


def read(folder: Path, text: str) -> Document:
    path = folder / "task.yaml"
    path.write_text(text)
    return read_yaml(path)


def task(folder: Path, text: str) -> TaskEntry:
    document = read(folder, text)
    return checked_task(document, document.value)


def definition(folder: Path, text: str) -> BenchmarkTask:
    """The definition of a task that needs no configuration."""
    document = read(folder, text)
    checked = checked_definition(document, checked_task(document, document.value).definition, ("definition",))
    assert isinstance(checked, BenchmarkTask)
    return checked


def scorer(text: str) -> str:
    return MODEL_TASK.split("    - type: string_equals", maxsplit=1)[0] + text


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "declarative").rglob("*.yaml"))
