"""Actions: rules that take samples out of the aggregates."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.formats.declarative.yaml_tasks import TASK, Read, run


def test_a_failing_action_is_a_failure_at_its_stage(read: Read, tmp_path: Path) -> None:
    text = (
        TASK
        + "  actions: [{key: x, action: exclude_from_metrics, filter: {op: is_true, expression: '{{ sample.q }}'}}]\n"
    )
    board = run(read(text), lambda prompt: "1", tmp_path / "run")
    assert board.tasks[0].failures == {"action/filter": 6}
    assert board.tasks[0].score is None or board.tasks[0].scored == 0


@pytest.mark.parametrize(
    ("expression", "excluded"),
    [
        ("{{ sample.n }}", 0),
        ("{{ solver_output.output }}", 6),
        ("{{ scores.string_equals.is_correct }}", 0),
        ("solver_output.messages[0].content | length", 0),
    ],
)
def test_actions_see_sample_answer_and_scores(read: Read, tmp_path: Path, expression: str, excluded: int) -> None:
    rule = f"{{op: equals, expression: '{expression}', value: 77}}"
    text = TASK + f"  actions: [{{key: x, action: exclude_from_metrics, filter: {rule}}}]\n"
    board = run(read(text), lambda prompt: "77", tmp_path / "run")
    assert board.tasks[0].excluded == excluded


def test_a_rule_reads_the_truth_values_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("q,a,skip\n1,1,true\n2,2,false\n3,3,\n")
    text = TASK.replace("key: data}", "key: rows}")
    rule = "{op: equals, expression: '{{ sample.skip }}', value: true}"
    (tmp_path / "task.yaml").write_text(
        text + f"  actions: [{{key: x, action: exclude_from_metrics, filter: {rule}}}]\n"
    )
    board = run(read_yaml_tasks(tmp_path / "task.yaml"), lambda prompt: "1", tmp_path / "run")
    assert board.tasks[0].excluded == 1
