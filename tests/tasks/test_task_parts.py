"""A change shows in exactly the part of a task that it makes necessary to do again."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.tasks.load import load_tasks
from assay.tasks.task_parts import TaskParts, score_part, task_parts

TASK = """
key: parts
display_name: Parts
description: A judge and a metric.
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - type: model_as_a_judge_classifier
      key: verdict
      model_key: judge
      system_prompt: Judge.
      user_prompt: "{{ sample.q }}"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
    - {type: string_equals, key: same, ground_truth: "{{ sample.q }}"}
"""
ROWS = '{"q": "a"}\n{"q": "b"}\n'
JUDGE = "key: judge\ndisplay_name: J\nconfig: {connection_type: assay, model: stub:correct}\n"


def parts_in(folder: Path, task: str = TASK, rows: str = ROWS, judge: str = JUDGE) -> TaskParts:
    (folder / "models").mkdir(exist_ok=True)
    (folder / "models" / "judge.yaml").write_text(judge)
    (folder / "rows.jsonl").write_text(rows)
    (folder / "t.yaml").write_text(task)
    return task_parts(load_tasks([str(folder / "t.yaml")])[0])


@pytest.mark.parametrize(
    ("changed", "file", "was", "now"),
    [
        ("content", "rows", '"b"', '"c"'),
        ("asking", "task", 'content: "{{ sample.q }}"', 'content: "Say {{ sample.q }}"'),
        ("judging", "task", "system_prompt: Judge.", "system_prompt: Judge harder."),
        ("judging", "task", "[incorrect]", "[wrong]"),
        ("judging", "judge", "stub:correct", "stub:incorrect"),
        ("scoring", "task", 'ground_truth: "{{ sample.q }}"', 'ground_truth: "{{ sample.q | upper }}"'),
    ],
)
def test_a_change_shows_in_its_part_alone(tmp_path: Path, changed: str, file: str, was: str, now: str) -> None:
    before = parts_in(tmp_path)._asdict()
    texts = {"task": TASK, "rows": ROWS, "judge": JUDGE}
    assert was in texts[file]
    after = parts_in(tmp_path, **{**texts, file: texts[file].replace(was, now)})._asdict()
    assert [name for name in before if before[name] != after[name]] == [changed]


def test_what_is_only_shown_changes_no_part(tmp_path: Path) -> None:
    other = TASK.replace("display_name: Parts", "display_name: Others").replace("A judge and", "# x\n  Another")
    assert parts_in(tmp_path) == parts_in(tmp_path, task=other)


def test_only_scorers_that_call_a_model_judge(tmp_path: Path) -> None:
    assert list(parts_in(tmp_path).judging) == ["verdict"]


SCORED = TASK.replace(
    "    - type: model_as_a_judge",
    "    - {type: string_equals, key: first, ground_truth: x, metrics: [METRIC]}\n    - type: model_as_a_judge",
)
METRIC = "{type: mean, field: is_correct}"


def score_in(folder: Path, was: str = "", now: str = "") -> str:
    text = SCORED.replace("METRIC", METRIC)
    assert was in text
    (folder / "models").mkdir(exist_ok=True)
    (folder / "models" / "judge.yaml").write_text(JUDGE)
    (folder / "rows.jsonl").write_text(ROWS)
    (folder / "t.yaml").write_text(text.replace(was, now) if was else text)
    return score_part(load_tasks([str(folder / "t.yaml")])[0])


@pytest.mark.parametrize(
    ("was", "now", "changes"),
    [
        ("ground_truth: x", "ground_truth: y", True),
        ("ground_truth: x", "ground_truth: x, empty_gold: allowed", True),
        ("{type: mean, field: is_correct}", "{type: max, field: is_correct}", True),
        ("{type: mean, field: is_correct}", "{type: mean, field: is_correct, name: right}", False),
        (
            "{type: mean, field: is_correct}",
            "{type: mean, field: is_correct}, {type: std_dev, field: is_correct}",
            False,
        ),
        ('key: same, ground_truth: "{{ sample.q }}"', "key: same, ground_truth: z", False),
        ("system_prompt: Judge.", "system_prompt: Judge harder.", False),
    ],
)
def test_the_part_of_the_score_is_what_the_score_depends_on(
    tmp_path: Path, was: str, now: str, *, changes: bool
) -> None:
    assert (score_in(tmp_path) != score_in(tmp_path, was, now)) is changes
