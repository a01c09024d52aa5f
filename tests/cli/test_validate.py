"""`assay validate`: every bad line is listed, and what comes along is valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay

from assay.cli.main import main


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


NEEDING = """\
key: {key}
display_name: T
description: d
definition:
  dataset: {{key: {dataset}}}
  solver:
    type: single_turn_solver
    input_builder: {{type: chat_completion, input_messages: [{{role: user, content: "{{{{ sample.q }}}}"}}]}}
  scorers: [{{type: contains, value: x}}]
"""


def test_a_task_is_as_good_as_the_files_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "datasets").mkdir()
    dataset = tmp_path / "datasets/rows.yaml"
    dataset.write_text("key: rows\ndisplay_name: R\nsource: {type: inlin, samples: [{q: x}]}\n")
    tasks = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for task in tasks:
        task.write_text(NEEDING.format(key=task.stem, dataset="rows"))
    assert main(["validate", *map(str, tasks)]) == 2
    shown = capsys.readouterr()
    assert shown.out.count("unknown dataset source `inlin`. Did you mean `inline`?") == 1
    assert f"{dataset}:3:" in shown.out
    assert "one.yaml: declarative, 0 good, 1 bad" in shown.err
    dataset.write_text(dataset.read_text().replace("inlin,", "inline,"))
    assert main(["validate", *map(str, tasks)]) == 0


def test_a_dataset_that_a_task_names_need_not_be_here_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.yaml").write_text(NEEDING.format(key="one", dataset="elsewhere"))
    assert main(["validate", str(tmp_path / "one.yaml")]) == 0
    assert "definition.dataset.key: there is no dataset `elsewhere`" in capsys.readouterr().err
