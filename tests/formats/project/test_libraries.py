"""Datasets and scorers that tasks name by the keys of the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.reading import read_yaml_tasks

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint

TASK = """\
key: t
display_name: T
description: d
definition:
  dataset: {key: tickets}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers: [polite, {key: right, type: string_equals, ground_truth: "{{ sample.a }}"}, cites]
"""
SCORERS = """\
- {key: cites, type: regex, value: "[0-9]+"}
- key: polite
  type: contains
  value: !include polite.txt
"""
PROJECT = "version: 1\nscorers: lib/scorers.yaml\ndatasets:\n  tickets: {path: data/all.jsonl}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "assay.yaml": PROJECT,
        "tasks/support/task.yaml": TASK,
        "lib/scorers.yaml": SCORERS,
        "lib/polite.txt": "please\n",
        "data/all.jsonl": '{"q": "1", "a": "x"}\n',
        ".git/HEAD": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


TASK_FILE = Path("tasks/support/task.yaml")


def test_scorers_and_datasets_are_found_by_key(project: Path) -> None:
    [task] = read_yaml_tasks(TASK_FILE)
    assert [part.key for part in task.scorers] == ["polite", "right", "cites"]
    assert task.scorers[0].options["assertions"] == [{"type": "contains", "value": "please"}]
    assert task.dataset.size == 1
    assert Path(task.dataset.options["path"]).resolve() == project / "data/all.jsonl"
    used = {Path(each).name for each in task.provenance.files}
    assert used >= {"scorers.yaml", "polite.txt", "assay.yaml"}


def test_a_change_in_the_library_changes_the_task(project: Path) -> None:
    [before] = read_yaml_tasks(TASK_FILE)
    Path("lib/polite.txt").write_text("thanks")
    [after] = read_yaml_tasks(TASK_FILE)
    assert task_fingerprint(before) != task_fingerprint(after)


def test_a_task_may_change_a_scorer_of_the_library_through_its_parent(project: Path) -> None:
    Path("tasks/support/child.yaml").write_text(
        "extends: task.yaml\nkey: c\ndisplay_name: C\ndefinition:\n  scorers: [{key: polite, value: thanks}]\n"
    )
    [task] = read_yaml_tasks(Path("tasks/support/child.yaml"))
    assert [part.key for part in task.scorers] == ["polite", "right", "cites"]
    assert task.scorers[0].options["assertions"] == [{"type": "contains", "value": "thanks"}]


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        (TASK_FILE, TASK.replace("polite,", "polit,"), r"task\.yaml:9:13: .*no scorer `polit` .*`polite`"),
        ("lib/scorers.yaml", "- {type: contains}\n", r"scorers\.yaml:1:1: .*each with its own `key`"),
        ("lib/scorers.yaml", SCORERS.replace("regex", "regexx"), r"scorers\.yaml:1:\d+: .*scorers\[2\]\.type"),
        ("assay.yaml", "version: 1\ndatasets: {tickets: {path: data/all.jsonl}}\n", r"`polite`: a scorer by its key"),
        ("assay.yaml", PROJECT.replace("all.jsonl", "none.jsonl"), r"assay\.yaml:4:\d+: .*no file data/none\.jsonl"),
        ("datasets/tickets.jsonl", '{"q": "2"}\n', r"assay\.yaml:4:\d+: .*is given in .*tickets\.jsonl too"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_at_its_place(project: Path, file: str, text: str, says: str) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text(text)
    with pytest.raises(UsageError, match=says):
        read_yaml_tasks(TASK_FILE)


def test_a_dataset_of_the_hub_has_its_options(project: Path) -> None:
    Path("assay.yaml").write_text(
        PROJECT.replace("{path: data/all.jsonl}", "{hub: owner/quiz, config: main, split: test, revision: v1}")
    )
    [task] = read_yaml_tasks(TASK_FILE, only_reads=True)
    assert task.dataset.use == "hub"
    options = task.dataset.options
    assert (options["repository"], options["split"], options["revision"]) == ("owner/quiz", "test", "v1")
    assert options["load_dataset_kwargs"] == {"name": "main"}
