"""Files, folders and built-in names become tasks, and everything wrong in them is reported at once."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.formats.task_source import SourceContext
from assay.tasks.load import ReadingKeywords, files_of, load_tasks

EXAMPLE = json.dumps({"id": "a", "prompt": "2 + 2?", "targets": ["4"], "metric": "exact_match"}) + "\n"


def test_hidden_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "sums.jsonl").write_text(EXAMPLE)
    (tmp_path / "._sums.jsonl").write_bytes(b"\x00\x05\x16\x07")  # as macOS leaves on foreign disks
    (tmp_path / ".draft.yaml").write_text("dataset: [")
    assert [task.name for task in load_tasks([str(tmp_path)])] == ["sums"]


def test_what_is_wrong_in_several_files_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{\n")
    (tmp_path / "b.jsonl").write_text(EXAMPLE)
    (tmp_path / "c.yaml").write_text("dataset: [")
    with pytest.raises(UsageError) as caught:
        load_tasks([str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "c.yaml")])
    assert f"{tmp_path}/a.jsonl:1:" in str(caught.value)
    assert f"{tmp_path}/c.yaml:" in str(caught.value)


def test_a_broken_file_of_a_folder_is_left_out_by_name_where_that_is_allowed(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.yaml").write_text(
            f"key: t{number}\ndisplay_name: T\ndescription: d\ndefinition:\n  type: system_task\n"
            "  compute_evidence_snippet: |\n    def compute_evidence():\n      return {}\n"
        )
    (tmp_path / "broken.yaml").write_text("key: b\ndefinition: {}\nnonsense: 1\n")
    with pytest.raises(UsageError, match=r"broken\.yaml:3:1: nonsense"):
        load_tasks(str(tmp_path), allow_bad=True)
    tasks = load_tasks(str(tmp_path), leave_out_broken=True)
    assert [task.name for task in tasks] == ["t0", "t1", "t2"]
    [warning] = tasks[0].provenance.warnings
    assert warning.startswith(f"{tmp_path}/broken.yaml is left out (--allow-bad-tasks): {tmp_path}/broken.yaml:")
    with pytest.raises(UsageError, match=r"broken\.yaml"):  # what is named is never left out
        load_tasks([str(tmp_path / "0.yaml"), str(tmp_path / "broken.yaml")], leave_out_broken=True)


def test_a_folder_of_broken_files_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("key: b\ndefinition: {}\n")
    with pytest.raises(UsageError, match=r"broken\.yaml"):
        load_tasks(str(tmp_path), leave_out_broken=True)


def test_a_single_file_need_not_be_a_list(tmp_path: Path) -> None:
    (tmp_path / "sums.jsonl").write_text(EXAMPLE)
    assert [task.name for task in load_tasks(str(tmp_path / "sums.jsonl"))] == ["sums"]


def test_an_option_that_there_is_not_is_refused_whatever_the_format(tmp_path: Path) -> None:
    (tmp_path / "sums.jsonl").write_text(EXAMPLE)
    with pytest.raises(UsageError, match=r"unknown option of task files `modles`. Did you mean `models`\?"):
        load_tasks(str(tmp_path), modles={})  # type: ignore[call-arg]  # which mypy finds too


OF_THE_PROJECT = {"usual_config", "judge"}
"""What a source is told of the project, which differs from file to file."""


def test_the_options_of_task_files_are_what_sources_are_told() -> None:
    told = {each.name for each in fields(SourceContext)} - {"allow_bad", "in_folder", "shots"} - OF_THE_PROJECT
    own = {"num_fewshot", "fewshot_as_turns", "source_options", "tagged", "judge"}
    assert ReadingKeywords.__annotations__.keys() == told | own


SOURCES = [
    ("startr", r"unknown task file, folder or built-in task set `startr`\. Did you mean `starter`\?"),
    ("no/such.jsonl", "no/such.jsonl: no such file or folder"),
    ("empty", "empty: no task files"),
    ("notes.txt", "notes.txt: a task file ends in .jsonl or .yaml"),
]


@pytest.mark.parametrize(("source", "told"), SOURCES)
def test_what_holds_no_task_is_reported_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("notes.txt").write_text("nothing")
    with pytest.raises(UsageError, match=told):
        load_tasks([source])


def test_a_project_is_not_a_folder_of_tasks_and_what_to_name_instead_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tasks").mkdir()
    Path("tasks/sums.jsonl").write_text(EXAMPLE)
    Path("run.yaml").write_text("evaluation: {key: e, display_name: E, task_specifications: [{task_key: t}]}\n")
    with pytest.raises(UsageError, match=r"no task files .* in this folder; name tasks/ or run\.yaml instead$"):
        load_tasks(["."])


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sums.jsonl").write_text(EXAMPLE)
    with pytest.raises(UsageError, match="two tasks are called `sums`"):
        load_tasks([str(tmp_path / "first"), str(tmp_path / "second")])


def test_a_file_whose_name_is_not_utf8_gets_a_sentence(tmp_path: Path) -> None:
    line = b'{"id": "a", "prompt": "p", "targets": ["t"], "metric": "exact_match"}\n'
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xffb.jsonl")).write_bytes(line)
    except OSError:
        pytest.skip("this file system takes no such name")
    with pytest.raises(UsageError, match=r"a\\udcffb.jsonl: the file's name is not UTF-8"):
        files_of(str(tmp_path))


YAML_TASK = """\
key: NAME
display_name: N
description: ""
config_spec: SPEC
definition:
  evaluated_entity_type: dataset
  scorers: [{type: string_equals, ground_truth: "", value: "{{ sample.q }}"}]
"""


@pytest.fixture
def needy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with two tasks that need values, and one that has its own dataset."""
    monkeypatch.chdir(tmp_path)
    text = YAML_TASK.replace("SPEC", "[]")
    parameters = "[{type: int, key: a, display_name: A}, {type: int, key: b, display_name: B}]"
    Path("lone.yaml").write_text(text.replace("NAME", "lone"))
    Path("needy.yaml").write_text(YAML_TASK.replace("SPEC", parameters).replace("NAME", "needy"))
    Path("own.yaml").write_text(
        text.replace("NAME", "own").replace("dataset\n", "dataset\n  dataset: {key: rows}\n", 1)
    )
    for name in ("rows", "others"):
        Path(f"{name}.jsonl").write_text(f'{{"q": "{name}"}}\n')


def test_a_folder_names_all_that_its_tasks_need_at_once_and_how_to_do_without(needy: None) -> None:
    with pytest.raises(UsageError) as refused:
        load_tasks(["."])
    assert str(refused.value).splitlines() == [
        "lone.yaml:1:1: task `lone`: no dataset is named; give it with --dataset-key KEY",
        "needy.yaml:1:1: task `needy`: the parameter `a` (int) has no value and the parameter `b` (int) has no value "
        "and no dataset is named; give them with --config a=… --config b=… --dataset-key KEY",
        "or name the others: own.yaml",
    ]
    with pytest.raises(UsageError) as refused:
        load_tasks(["lone.yaml", "own.yaml"])
    assert "or name" not in str(refused.value), "the user named these"


def test_in_a_folder_a_dataset_is_for_the_tasks_that_name_none(needy: None) -> None:
    tasks = load_tasks(["."], dataset="others", config={"a": "1", "b": "2"})
    assert {each.name: Path(each.dataset.options["path"]).stem for each in tasks} == {
        "lone": "others",
        "needy": "others",
        "own": "rows",
    }
    (alone,) = load_tasks(["own.yaml"], dataset="others")
    assert Path(alone.dataset.options["path"]).stem == "others", "of a file that is named it replaces the dataset"
    Path("lone.yaml").unlink()
    Path("needy.yaml").unlink()
    with pytest.raises(UsageError, match="--dataset-key others: no task here takes one"):
        load_tasks(["."], dataset="others")


def test_a_link_out_of_the_project_is_not_followed_in_a_folder_of_tasks(tmp_path: Path) -> None:
    line = {"id": "1", "prompt": "x", "targets": ["y"], "metric": "exact_match"}
    (tmp_path / "secret.jsonl").write_text(json.dumps(line) + "\n")
    tasks = tmp_path / "project" / "tasks"
    tasks.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (tasks / "own.jsonl").write_text(json.dumps(line) + "\n")
    (tasks / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (tasks / "within.jsonl").symlink_to(tasks / "own.jsonl")
    with pytest.raises(UsageError, match=r"link.jsonl: leads outside the project .* --allow-outside"):
        load_tasks([str(tasks)])
    with pytest.raises(UsageError, match="leads outside the project"):
        load_tasks([str(tasks / "link.jsonl")])
    assert {task.name for task in load_tasks([str(tasks)], allow_outside=True)} == {"own", "link", "within"}


def test_a_link_that_the_user_made_and_typed_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = {"id": "1", "prompt": "x", "targets": ["y"], "metric": "exact_match"}
    (tmp_path / "data.jsonl").write_text(json.dumps(line) + "\n")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "link.jsonl").symlink_to(tmp_path / "data.jsonl")
    monkeypatch.chdir(project)
    assert [task.name for task in load_tasks(["link.jsonl"])] == ["link"]


def test_two_names_are_not_alike_for_their_ending_alone(tmp_path: Path) -> None:
    (tmp_path / "target.jsonl").write_text("")
    with pytest.raises(UsageError, match=r"nothere\.jsonl: no such file or folder$"):
        load_tasks([str(tmp_path / "nothere.jsonl")])
    with pytest.raises(UsageError, match=r"Did you mean `.*target\.jsonl`\?"):
        load_tasks([str(tmp_path / "targets.jsonl")])


def test_a_folder_is_not_suggested_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match=r"nothere\.jsonl: no such file or folder$"):
        load_tasks([str(tmp_path / "nothere.jsonl")])
    with pytest.raises(UsageError, match=r"Did you mean `.*other`\?"):
        load_tasks([str(tmp_path / "nother")])
