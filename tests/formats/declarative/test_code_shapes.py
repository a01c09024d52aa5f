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
    (("{{ sample.q }}", "<< secrets.KEY >>"), "11:24", "a task holds no secrets"),
    (("{{ sample.q }}", "<< cfg.q >>"), "11:24", "`<< cfg.q >>` is not a placeholder"),
    (("{{ sample.q }}", "<< Config.q >>"), "11:24", "`<< Config.q >>` is not a placeholder"),
    (("{{ sample.q }}", "<< task.q >>"), "11:24", "would stay as it is"),
    (("{{ sample.q }}", "<< config.q"), "11:24", "`<< config.q` is not closed"),
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


def test_a_filter_that_does_not_exist_is_a_fault_unless_the_template_may_never_use_it(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, TASK.replace("{{ sample.q }}", "{{ sample.q | to_json }}"))
    assert "there is no filter or test `to_json`. Did you mean `tojson`?" in fault
    path = tmp_path / "task.yaml"
    (tmp_path / "d.jsonl").write_text('{"q": "a", "a": "b"}\n')
    path.write_text(TASK.replace("{{ sample.q }}", "{% if sample.odd %}{{ sample.q | to_json }}{% endif %}"))
    [warning] = check_yaml_file(path)[2]
    assert "the template fails where it uses `to_json`" in warning
