"""What can be known of a task file without rows is checked at its place, all of it at once: `assay validate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.tasks.declarative.load import check_yaml_file

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


CASES = [
    (("{{ sample.q }}", "{{ sample.q "), "11:24", "line 1 of the template: unexpected end of template"),
    (("{{ sample.q }}", "{% if %}"), "11:24", "line 1 of the template: Expected an expression"),
    (("{{ sample.q }}", "{{ smaple.q }}"), "11:24", "reads `smaple`, which it is not given. Did you mean `sample`?"),
    (("{{ sample.q }}", "{{ messages[0] }}"), "11:24", "reads `messages`, which it is not given"),
    (("{{ sample.a }}", "{{ solver_output.text }}"), "15:7", "reads `solver_output`"),
    (("scores.main.is_correct", "scores.mian.is_correct"), "19:29", "no scorer `mian`. Did you mean `main`?"),
    (
        ("scores.main.is_correct", "scores.main.correct"),
        "19:29",
        "gives no value `correct`. Did you mean `is_correct`?",
    ),
    (("scores.main.is_correct", "scores['main']['right']"), "19:29", "gives no value `right`"),
    (("scores.main.is_correct", "score.main"), "19:29", "reads `score`, which it is not given. Did you mean"),
    (("{{ scores.main.is_correct }}", "{{ scores. }}"), "19:29", "line 1 of the template"),
    (("{{ sample.q }}", "<< conf.q >>"), "11:24", "`<< conf.q >>` is no placeholder: write `<< config.NAME >>`"),
]


@pytest.mark.parametrize(("change", "place", "says"), CASES, ids=[each[0][1] for each in CASES])
def test_a_fault_of_a_template_or_rule_has_its_place(
    tmp_path: Path, change: tuple[str, str], place: str, says: str
) -> None:
    assert faults(tmp_path, TASK) == []
    found = faults(tmp_path, TASK.replace(*change))
    assert len(found) == 1, found
    assert found[0].startswith(f"task.yaml:{place}: definition.")
    assert says in found[0]


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    text = (
        TASK.replace("{{ sample.q }}", "{{ smaple.q }}")
        .replace("{{ sample.a }}", "{{ sample.a ")
        .replace("scores.main", "scores.other")
        .replace("      type: string_equals", "      metrics: [{type: mean, field: right}]\n      type: string_equals")
    )
    said = "\n".join(faults(tmp_path, text))
    for fault in ("reads `smaple`", "unexpected end of template", "no scorer `other`", "gives no value `right`"):
        assert fault in said


@pytest.mark.parametrize(
    "template",
    ["{{ extra | default('x') }}", "{% if extra is defined %}{{ extra }}{% endif %}", "{% set x = 1 %}{{ x }}"],
)
def test_a_template_may_ask_whether_a_name_is_there(tmp_path: Path, template: str) -> None:
    assert faults(tmp_path, TASK.replace("{{ sample.q }}", template)) == []


def test_a_filter_that_does_not_exist_is_a_warning_because_the_template_may_never_use_it(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(TASK.replace("{{ sample.q }}", "{{ sample.q | to_json }}"))
    assert "there is no filter or test `to_json`" in check_yaml_file(path)[2][0]


PARAMETERS = [
    ("type: int, default_value: 7, max: 5", "default_value: must be at most 5, got 7"),
    ("type: int, default_value: seven", "default_value: must be a number, got 'seven'"),
    ("type: float, min: 3, max: 2", "max: must be at least `min` (3), got 2"),
    ("type: boolean, default_value: 1", "default_value: must be true or false, got 1"),
    ("type: categorical, allowed_values: [a, b], default_value: c", "default_value: must be among the allowed values"),
    ("type: list, dtype: integer, default_value: [1, x]", "default_value: must hold integer values only, got 'x'"),
]


@pytest.mark.parametrize(("parameter", "says"), PARAMETERS, ids=[each[0] for each in PARAMETERS])
def test_a_default_outside_its_parameter_has_its_place(tmp_path: Path, parameter: str, says: str) -> None:
    spec = f"config_spec: [{{key: n, display_name: N, {parameter}}}]\ndefinition:"
    found = faults(tmp_path, TASK.replace("definition:", spec))
    assert len(found) == 1
    assert found[0].startswith("task.yaml:4:")
    assert f"config_spec[0].{says}" in found[0]


def test_with_defaults_a_configured_task_is_checked_as_it_would_run(tmp_path: Path) -> None:
    """Only what a parameter without a default is part of has to wait for its value."""
    spec = (
        "config_spec: [{type: string, key: a, display_name: A, default_value: 'x }'},"
        " {type: string, key: b, display_name: B}]\ndefinition:"
    )
    text = TASK.replace("definition:", spec)
    assert faults(tmp_path, text.replace("{{ sample.q }}", "{{ << config.b >> }")) == []
    found = faults(tmp_path, text.replace("{{ sample.q }}", "{{ << config.a >> }"))
    assert "line 1 of the template" in found[0]


def test_a_scorer_of_a_dataset_has_no_answer_to_read(tmp_path: Path) -> None:
    text = """\
key: t
display_name: T
description: ""
definition:
  evaluated_entity_type: dataset
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.a }}"}
    - {type: labeler_via_model, model_key: j, user_prompt: "{{ model_output }}"}
"""
    found = faults(tmp_path, text)
    assert [line.partition(": ")[0] for line in found] == ["task.yaml:7:7", "task.yaml:8:47"]
    assert "has no answer to score; give `value`" in found[0]
    assert "reads `model_output`" in found[1]


def test_metrics_of_one_scorer_have_different_keys(tmp_path: Path) -> None:
    twice = "metrics: [{type: mean, key: m, field: is_correct}, {type: max, key: m, field: is_correct}]"
    found = faults(tmp_path, TASK.replace("      type: string", f"      {twice}\n      type: string"))
    assert len(found) == 1
    assert "scorers[0].metrics[1].key: `m` is given twice" in found[0]
