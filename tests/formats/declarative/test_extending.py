"""`extends`: the truth table of merging, chains, circles, places of errors, and abstract files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.formats.declarative.reading import read_yaml_tasks

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint
from assay.formats.declarative.load import check_yaml_file, only_tasks
from assay.formats.declarative.yaml_reader import Document, read_yaml
from assay.tasks.load import load_tasks

BASE = """\
abstract: true
tags: [pii, slow]
config_spec:
  - {type: string, key: tone, display_name: Tone, default_value: formal}
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "<< config.tone >> {{ sample.q }}"}]
  scorers:
    - {key: right, type: string_equals, ground_truth: "{{ sample.a }}"}
    - {key: polite, type: contains, value: please}
"""
TASK = """\
extends: _base.yaml
key: t
display_name: T
"""


def extended(folder: Path, parent: str, own: str, **options: Any) -> Document:
    (folder / "parent.yaml").write_text(parent)
    (folder / "own.yaml").write_text("extends: parent.yaml\n" + own)
    return read_yaml(folder / "own.yaml", **options)


def value(folder: Path, parent: str, own: str) -> Any:
    """The merged fields, without the description that a task may leave out."""
    merged = extended(folder, parent, own).value
    assert isinstance(merged, dict)
    return {name: each for name, each in merged.items() if name != "description"}


@pytest.mark.parametrize(
    ("parent", "own", "result"),
    [
        pytest.param("a: 1", "b: 2", "{a: 1, b: 2}", id="1: what only one of them has stays"),
        pytest.param("a: 1", "a: text", "{a: text}", id="2: a value replaces a value"),
        pytest.param("a: {type: A, x: 1}", "a: {y: 2}", "{a: {type: A, x: 1, y: 2}}", id="3: a mapping keeps its type"),
        pytest.param("a: {x: [1], y: 1}", "a: {x: null}", "{a: {y: 1}}", id="4: null removes"),
        pytest.param(
            "a: {b: {x: 1}, c: 1}", "a: {b: {y: 2}}", "{a: {b: {x: 1, y: 2}, c: 1}}", id="6: mappings merge, deeply"
        ),
        pytest.param(
            "a: {type: A, x: 1}", "a: {type: B, y: 2}", "{a: {type: B, y: 2}}", id="7: another type starts clean"
        ),
        pytest.param("a: {x: 1}", "a: {$replace: true, y: 2}", "{a: {y: 2}}", id="8: a mapping may be replaced"),
        pytest.param(
            "a: [{key: p, x: 1}, {key: q, type: A, z: 1}]",
            "a: [{key: new}, {key: q, type: B}, {key: p, y: 2}]",
            "{a: [{key: p, x: 1, y: 2}, {key: q, type: B}, {key: new}]}",
            id="9: lists merge by key, in the order of the parent",
        ),
        pytest.param(
            "a: [{key: p}, {key: q}]", "a: [{key: p, $remove: true}]", "{a: [{key: q}]}", id="10: an item is removed"
        ),
        pytest.param("a: [1, 2]", "a: [3]", "{a: [3]}", id="12: other lists are replaced"),
        pytest.param("a: [{role: user}]", "a: [{role: system}]", "{a: [{role: system}]}", id="12: messages too"),
        pytest.param("a: [{key: p}]\ntags: [x]", "a: []\ntags: []", "{a: [], tags: []}", id="12: any list is emptied"),
        pytest.param("tags: [x, y]", "tags: [y, z, '!x']", "{tags: [y, z]}", id="13: tags are united"),
        pytest.param(
            "key: p\ndisplay_name: P\ndescription: about\nabstract: true\nx: 1",
            "key: o",
            "{key: o, x: 1}",
            id="15: names are not inherited",
        ),
        pytest.param(
            "config_spec: [{key: n, type: integer, default_value: 1}]",
            "config_spec: [{key: n, default_value: 2}]",
            "{config_spec: [{key: n, type: integer, default_value: 2}]}",
            id="16: a task may change a default",
        ),
    ],
)
def test_what_a_task_and_its_parent_are_together(tmp_path: Path, parent: str, own: str, result: str) -> None:
    assert value(tmp_path, parent, own) == yaml.safe_load(result)


@pytest.mark.parametrize(
    ("parent", "own", "says"),
    [
        pytest.param("a: {x: 1}", "a: {y: null}", "own.yaml:2:5: a.y: there is nothing to remove", id="5"),
        pytest.param(
            "a: [{key: polite}]",
            "a: [{key: polit, $remove: true}]",
            "own.yaml:2:5: a[0]: no a `polit` in parent.yaml:1. Did you mean `polite`?",
            id="10: unknown",
        ),
        pytest.param("b: 1", "a: [{key: k, $remove: true}]", "there is nothing to remove: the parent has no", id="10"),
        pytest.param(
            "a: [{key: label}, {key: polite}]",
            "a: [{type: x}]",
            "own.yaml:2:5: a[0]: the parent's a have keys (`label`, `polite`); give this one a `key`",
            id="11: without a key",
        ),
        pytest.param("a: [{key: p}]", "a: [{key: q}, {key: q}]", "a[1].key: `q` is given twice", id="11: twice"),
        pytest.param(
            "a: [{key: p}, {type: x}]",
            "a: [{key: p}]",
            "the item at parent.yaml:1 has none: give it one",
            id="11: parent",
        ),
        pytest.param("tags: [slow]", "tags: ['!slov']", "tag `slov` is not inherited. Did you mean `slow`?", id="13"),
        pytest.param(
            "\na: {key: x}",
            "a: [1]",
            "own.yaml:2:4: a: `a` is a mapping in parent.yaml:2, here a list",
            id="14: a list",
        ),
        pytest.param("a: [1]", "a: 1", "`a` is a list in parent.yaml:1, here a value", id="14: a value"),
        pytest.param(
            "config_spec: [{key: n, type: integer}]",
            "config_spec: [{key: n, type: string}]",
            "config_spec[0].type: the parameter is of type `integer` in parent.yaml:1; a task may change its default",
            id="16",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused_with_both_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parent: str, own: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        extended(Path(), parent, own)
    assert says in str(error.value)


def test_items_that_cannot_be_told_apart_are_all_that_is_said_of_a_list(project: Path) -> None:
    (project / "task.yaml").write_text(TASK + "definition:\n  scorers: [{type: contains, value: x}]\n")
    with pytest.raises(UsageError) as error:
        check_yaml_file(Path("task.yaml"))
    assert len(str(error.value).splitlines()) == 1


def test_a_parent_in_a_folder_above_is_named_without_a_detour(project: Path) -> None:
    (project / "inner").mkdir()
    (project / "inner/task.yaml").write_text(TASK.replace("_base", "../_base"))
    document = read_yaml(Path("inner/task.yaml"))
    assert document.mark(("definition", "solver")).file == "_base.yaml"


def test_every_field_that_cannot_be_merged_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        extended(tmp_path, "a: {x: 1}\nb: [1]", "a: {y: null}\nb: 1")
    assert len(str(error.value).splitlines()) == 2


def test_a_parent_outside_the_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "parent.yaml").write_text("a: 1")
    (project / "own.yaml").write_text("extends: ../parent.yaml")
    with pytest.raises(UsageError, match=r"leads outside the project .*; allow it with --allow-outside"):
        read_yaml(project / "own.yaml")
    assert read_yaml(project / "own.yaml", allow_outside=True).value == {"a": 1, "description": ""}


def test_each_field_keeps_the_place_where_it_is_written(tmp_path: Path) -> None:
    document = extended(tmp_path, "a:\n  - {key: p, x: 1}\n  - {key: q}\n", "a:\n  - {key: r}\n  - key: p\n    y: 2\n")
    places = {where: (document.mark(where).file, document.mark(where).line) for where in document.marks}
    parent, own = str(tmp_path / "parent.yaml"), str(tmp_path / "own.yaml")
    assert places[("a", 0, "x")] == (parent, 2)
    assert places[("a", 0, "y")] == (own, 5)
    assert places[("a", 1, "key")] == (parent, 3)
    assert places[("a", 2, "key")] == (own, 3)


def test_paths_count_from_the_file_that_wrote_them(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/prompt.txt").write_text("from the parent")
    (tmp_path / "shared/parent.yaml").write_text("a: !include prompt.txt\nb: {file: x}\n")
    (tmp_path / "own.yaml").write_text("extends: shared/parent.yaml\n")
    document = read_yaml(tmp_path / "own.yaml")
    assert document.value == {"a": "from the parent", "b": {"file": "x"}, "description": ""}
    assert document.directory(("b", "file")) == tmp_path / "shared"


def test_chains_go_up_to_five_parents(tmp_path: Path) -> None:
    (tmp_path / "0.yaml").write_text("a0: 1\n")
    for number in range(1, 7):
        (tmp_path / f"{number}.yaml").write_text(f"extends: {number - 1}.yaml\na{number}: 1\n")
    assert read_yaml(tmp_path / "5.yaml").value == {**{f"a{number}": 1 for number in range(6)}, "description": ""}
    with pytest.raises(UsageError, match=r"1\.yaml:1:1: extends: more than 5 files"):
        read_yaml(tmp_path / "6.yaml")


def test_files_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n")
    with pytest.raises(UsageError, match=r"files extend each other: a\.yaml → b\.yaml → a\.yaml"):
        read_yaml(tmp_path / "a.yaml")


@pytest.mark.parametrize("named", ["[a.yaml, b.yaml]", "null", "missing.yaml", "list.yaml"])
def test_a_parent_is_one_file_with_a_task(tmp_path: Path, named: str) -> None:
    (tmp_path / "list.yaml").write_text("[1]")
    (tmp_path / "own.yaml").write_text(f"extends: {named}\n")
    with pytest.raises(UsageError, match=r"names one file|there is no file|not a task that can be extended"):
        read_yaml(tmp_path / "own.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.jsonl").write_text('{"q": "1", "a": "x"}\n')
    (tmp_path / "_base.yaml").write_text(BASE)
    (tmp_path / "task.yaml").write_text(TASK)
    return tmp_path


def test_a_task_is_what_it_would_be_in_one_file(project: Path) -> None:
    whole = BASE.replace("abstract: true\n", 'key: t\ndisplay_name: T\ndescription: ""\n')
    (project / "whole.yaml").write_text(whole)
    [task], [alone] = (read_yaml_tasks(project / name) for name in ("task.yaml", "whole.yaml"))
    assert task_fingerprint(task) == task_fingerprint(alone)
    assert task.shown == alone.shown
    assert [Path(each).name for each in task.provenance.files] == ["_base.yaml", "data.jsonl", "task.yaml"] or [
        Path(each).name for each in task.provenance.files
    ] == ["_base.yaml", "task.yaml"]


def test_a_change_of_the_parent_changes_the_task_and_a_comment_does_not(project: Path) -> None:
    [before] = read_yaml_tasks(project / "task.yaml")
    (project / "_base.yaml").write_text("# why\n" + BASE)
    [same] = read_yaml_tasks(project / "task.yaml")
    (project / "_base.yaml").write_text(BASE.replace("please", "thanks"))
    [other] = read_yaml_tasks(project / "task.yaml")
    assert task_fingerprint(before) == task_fingerprint(same) != task_fingerprint(other)


def test_an_error_in_an_inherited_field_names_the_line_of_the_parent(project: Path) -> None:
    (project / "_base.yaml").write_text(BASE.replace("type: contains", "type: containz"))
    with pytest.raises(UsageError, match=r"_base\.yaml:14:\d+: definition\.scorers\[1\]\.type: .*`contains`"):
        read_yaml_tasks(project / "task.yaml")


def test_a_broken_value_of_the_parent_does_not_hide_the_faults_of_the_task(project: Path) -> None:
    (project / "_base.yaml").write_text(BASE.replace("value: please", "value: please, value: twice"))
    (project / "task.yaml").write_text(TASK + "nonsense: 1\n")
    with pytest.raises(UsageError) as error:
        check_yaml_file(project / "task.yaml")
    assert "_base.yaml:14:" in str(error.value)
    assert "given twice" in str(error.value)
    assert "task.yaml:4:1: nonsense: unknown field" in str(error.value)


def test_abstract_files_are_left_out_of_folders_and_refused_by_name(project: Path) -> None:
    assert only_tasks(sorted(project.glob("*.yaml"))) == [project / "task.yaml"]
    assert [task.name for task in load_tasks(str(project))] == ["t"]
    with pytest.raises(UsageError, match=r"_base\.yaml is abstract, so it is not run; 1 task here extends it: "):
        load_tasks(str(project / "_base.yaml"))
    assert check_yaml_file(project / "_base.yaml")[:2] == ("task file to extend", 1)


def test_a_task_of_a_run_file_may_extend_another(project: Path) -> None:
    (project / "run.yaml").write_text(
        "datasets: [{key: data, display_name: D, source: {type: local, file_path: data.jsonl}}]\n"
        "tasks:\n  - $ref: task.yaml\n  - {extends: _base.yaml, key: other, display_name: O}\n"
    )
    assert [task.name for task in read_yaml_tasks(project / "run.yaml")] == ["t", "other"]


def test_show_merged_prints_file_and_line_of_every_field(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli.main import main

    assert main(["show", "task.yaml", "--merged"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines()]
    shown = {row[1].strip(): (row[2].strip(), row[3].strip()) for row in rows if len(row) > 3}
    assert shown["display_name"] == ('"T"', "task.yaml:3")
    assert shown["definition.scorers[1].value"] == ('"please"', "_base.yaml:14")
    assert shown["tags[0]"] == ('"pii"', "_base.yaml:2")
    assert os.path.exists("_base.yaml")
