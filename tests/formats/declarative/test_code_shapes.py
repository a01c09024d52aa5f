"""What is wrong with a template or an expression has the place of its field."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.faulty_tasks import TASK, faults

from assay.formats.declarative.load import check_yaml_file

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
    (("{{ sample.q }}", "<< conf.q >>"), "11:24", "`<< conf.q >>` is not a placeholder: write `<< config.NAME >>`"),
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


@pytest.mark.parametrize(
    "template",
    ["{{ extra | default('x') }}", "{% if extra is defined %}{{ extra }}{% endif %}", "{% set x = 1 %}{{ x }}"],
)
def test_a_template_may_ask_whether_a_name_is_there(tmp_path: Path, template: str) -> None:
    assert faults(tmp_path, TASK.replace("{{ sample.q }}", template)) == []


def test_a_filter_that_does_not_exist_is_a_warning_because_the_template_may_never_use_it(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(TASK.replace("{{ sample.q }}", "{{ sample.q | to_json }}"))
    [warning] = check_yaml_file(path)[2]
    assert "there is no filter or test `to_json`" in warning
