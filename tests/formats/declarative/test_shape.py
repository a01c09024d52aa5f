"""What can be known of a task file without rows is checked at its place, all of it at once: `assay validate`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.faulty_tasks import TASK, faults


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


LABELLED = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: multi_turn_solver
    message_builders:
      - {type: chat_message, role: user, content: hello}
      - {type: loop, message_builders: [{type: generate}]}
  scorers:
    - {type: labeler_via_model, key: kind, model_key: j, user_prompt: u, valid_labels: [answer, refusal]}
  actions:
    - key: a
      action: exclude_from_metrics
      filter: {op: equals, expression: "{{ scores.kind.label }}", value: refusal}
    - {key: b, action: exclude_from_metrics, filter: {op: not_in, expression: scores.kind.label, values: [answer]}}
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("value: refusal", "value: refussal"), "filter.value: `refussal` is not among `valid_labels`. Did you mean"),
        (("values: [answer]", "values: [answer, no]"), "filter.values[1]: `no` is not among `valid_labels`"),
        (
            ("{type: generate}", "{type: load_trace, trace_column: t}"),
            "solver.message_builders: no builder is `generate`",
        ),
    ],
)
def test_labels_are_compared_with_valid_ones_and_conversations_call_the_model(
    tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    assert faults(tmp_path, LABELLED) == []
    [found] = faults(tmp_path, LABELLED.replace(*change))
    assert says in found
