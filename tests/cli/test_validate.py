"""`assay validate`: every bad line is listed, and what comes along is valid."""

from __future__ import annotations

import json
from pathlib import Path

from tests.end_to_end.commands import assay


def test_validate_lists_every_bad_line_and_exits_with_2(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"id": "a", "prompt": "x", "targets": ["y"], "metric": "exact_mach"}\nnot json\n')
    done = assay("validate", path, cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean `exact_match`?" in done.stdout
    assert f"{path}:2" in done.stdout
    as_json = json.loads(assay("validate", path, "--json", cwd=tmp_path).stdout)
    assert [error["line"] for error in as_json["files"][0]["errors"]] == [1, 2]


def test_the_bundled_fixtures_are_valid(tmp_path: Path) -> None:
    assert assay("validate", "fixtures", "starter", cwd=tmp_path).returncode == 0


def test_validate_reports_place_and_remedy_of_every_yaml_file_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yaml").write_text("key: m\ndisplay_name: M\nconfig: {url: x, modle_key: y}\n")
    done = assay("validate", "models", cwd=tmp_path)
    assert done.returncode == 2
    assert "models/m.yaml:3:18" in done.stdout
    assert "Did you mean `model_key`?" in done.stdout


def test_without_a_path_the_bundled_fixture_is_validated_and_summed_up(tmp_path: Path) -> None:
    done = assay("validate", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == "bundled tasks: frozen task spec, 10 good, 0 bad\n"
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert sum(int(row[-1].strip(" |")) for row in rows) == 10
    assert {row[0].strip("| ") for row in rows} == {"arithmetic", "mcq", "code_exec", "classification", "summary"}


def test_two_files_with_one_task_and_a_file_with_nothing_to_check_are_not_valid(tmp_path: Path) -> None:
    task = "key: a\ndisplay_name: A\ndescription: d\n"
    task += "definition: {type: system_task, compute_evidence_snippet: !include s.py}\n"
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "s.py").write_text("def compute_evidence(): ...\n")
    for name in ("x", "y"):
        (tmp_path / "two" / f"{name}.yaml").write_text(task)
    done = assay("validate", "two", cwd=tmp_path)
    assert done.returncode == 2
    assert "the task `a` is also in two/x.yaml" in done.stdout
    (tmp_path / "rule.yaml").write_text("key: r\naction: exclude_from_metrics\nfilter: {op: exists, expression: x}\n")
    done = assay("validate", "rule.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is nothing to check: declarative file with an action rule" in done.stdout
