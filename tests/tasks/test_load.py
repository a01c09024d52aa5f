"""Files, folders and built-in names become tasks, and everything wrong in them is told at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.tasks.load import files_of, load_tasks

EXAMPLE = json.dumps({"id": "a", "prompt": "2 + 2?", "targets": ["4"], "metric": "exact_match"}) + "\n"


def test_hidden_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "sums.jsonl").write_text(EXAMPLE)
    (tmp_path / "._sums.jsonl").write_bytes(b"\x00\x05\x16\x07")  # as macOS leaves on foreign disks
    (tmp_path / ".draft.yaml").write_text("dataset: [")
    assert [task.name for task in load_tasks([str(tmp_path)])] == ["sums"]


def test_what_is_wrong_in_several_files_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{\n")
    (tmp_path / "b.jsonl").write_text(EXAMPLE)
    (tmp_path / "c.yaml").write_text("dataset: [")
    with pytest.raises(UsageError) as caught:
        load_tasks([str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "c.yaml")])
    assert f"{tmp_path}/a.jsonl:1:" in str(caught.value)
    assert f"{tmp_path}/c.yaml:" in str(caught.value)


SOURCES = [
    ("startr", r"unknown task file, folder or built-in task set `startr`\. Did you mean `starter`\?"),
    ("no/such.jsonl", "no/such.jsonl: no such file or folder"),
    ("empty", "empty: no task files"),
    ("notes.txt", "notes.txt: a task file ends in .jsonl or .yaml"),
]


@pytest.mark.parametrize(("source", "told"), SOURCES)
def test_what_holds_no_task_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("notes.txt").write_text("nothing")
    with pytest.raises(UsageError, match=told):
        load_tasks([source])


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
