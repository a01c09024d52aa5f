"""`assay.lock`: datasets at the version that was locked, and rows that moved refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.datasets.remote import Remote
from assay.formats.project.dataset_lock import LockedDataset, locked_pin, read_lock, write_lock

TASK = """\
key: {name}
display_name: {name}
description: d
definition:
  dataset: {{key: {name}}}
  solver:
    type: single_turn_solver
    input_builder: {{type: chat_completion, input_messages: [{{role: user, content: "{{{{ sample.q }}}}"}}]}}
  scorers: [{{type: contains, value: "{{{{ sample.q }}}}"}}]
"""
ROWS = '{"q": "1"}\n{"q": "2"}\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks with a dataset each, one of the project file and one next to the task; both are locked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    for folder in ("tasks", "datasets", "data", ".git"):
        Path(folder).mkdir()
    Path("assay.yaml").write_text("version: 1\ndatasets: {one: {path: data/one.jsonl}}\n")
    for name, place in (("one", "data"), ("two", "datasets")):
        Path(f"tasks/{name}.yaml").write_text(TASK.format(name=name))
        Path(f"{place}/{name}.jsonl").write_text(ROWS)
    assert main(["lock"]) == 0
    return tmp_path


def run(*flags: str) -> int:
    return main(["run", "tasks", "--model", "echo", "--quiet", *flags])


def test_the_lock_has_a_sorted_block_for_each_dataset(project: Path) -> None:
    locked = read_lock(Path("assay.lock"))
    assert [*locked] == ["one", "two"]
    assert [(each.source, each.rows) for each in locked["one"]] == [("table data/one.jsonl", 2)]
    assert [*locked["one"][0].files] == ["data/one.jsonl"]
    text = Path("assay.lock").read_text()
    assert text.index("\n  one:") < text.index("\n  two:")
    assert main(["lock"]) == 0
    assert Path("assay.lock").read_text() == text


def test_rows_that_moved_are_refused_until_the_lock_moves(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    Path("data/one.jsonl").write_text(ROWS + '{"q": "3"}\n')
    before = Path("assay.lock").read_text()
    capsys.readouterr()
    assert run() == main(["lock", "--check"]) == main(["lock"]) == 2
    assert capsys.readouterr().err.count("`one`: 2 rows in assay.lock, 3 now: `assay lock one`") == 3
    assert Path("assay.lock").read_text() == before
    assert main(["lock", "one"]) == run() == main(["lock", "--check"]) == 0
    assert read_lock(Path("assay.lock"))["one"][0].rows == 3


def test_as_many_rows_with_another_content_are_refused_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("datasets/two.jsonl").write_text('{"q": "1"}\n{"q": "9"}\n')
    assert run() == 2
    assert "`two`: 2 rows, with other content than in assay.lock" in capsys.readouterr().err


def test_another_source_under_the_same_name_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("data/other.jsonl").write_text(ROWS)
    Path("assay.yaml").write_text("version: 1\ndatasets: {one: {path: data/other.jsonl}}\n")
    assert run() == 2
    assert "`one`: it is read from `table data/one.jsonl` in assay.lock, from `table data/other.jsonl` now" in (
        capsys.readouterr().err
    )


def test_datasets_of_one_key_in_two_folders_are_locked_each(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("tasks/a", "tasks/b"):
        Path(folder, "datasets").mkdir(parents=True)
        Path(folder, "t.yaml").write_text(TASK.format(name="rows"))
        Path(folder, "datasets/rows.jsonl").write_text(ROWS)
    assert main(["lock"]) == 0
    assert [each.source for each in read_lock(Path("assay.lock"))["rows"]] == [
        "table tasks/a/datasets/rows.jsonl",
        "table tasks/b/datasets/rows.jsonl",
    ]
    assert main(["run", "tasks/b", "--model", "echo", "--quiet", "--locked"]) == 0
    Path("tasks/b/datasets/rows.jsonl").write_text(ROWS * 2)
    capsys.readouterr()
    assert main(["lock", "--check"]) == 2
    assert "`rows`: 2 rows in assay.lock, 4 now: `assay lock rows`" in capsys.readouterr().err
    assert main(["run", "tasks/a", "--model", "echo", "--quiet", "--locked"]) == 0
    assert main(["run", "tasks/b", "--model", "echo", "--quiet"]) == 2
    assert main(["lock", "rows", "one"]) == run() == 0
    assert "moved rows (4 datasets)" in capsys.readouterr().err


@pytest.mark.parametrize(("flags", "ci"), [(["--locked"], ""), ([], "true")])
def test_what_the_lock_lacks_is_said_and_refused_where_that_is_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: list[str], ci: str
) -> None:
    Path("tasks/new.yaml").write_text(TASK.format(name="new"))
    Path("datasets/new.jsonl").write_text(ROWS)
    assert run() == 0
    assert "warning: `new` is not in assay.lock: add it with `assay lock`" in capsys.readouterr().err
    monkeypatch.setenv("CI", ci)
    assert run(*flags) == 2
    assert main(["lock"]) == 0
    assert [*read_lock(Path("assay.lock"))] == ["new", "one", "two"]
    assert run(*flags) == 0


def test_without_a_lock_nothing_is_compared(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("assay.lock").unlink()
    Path("data/one.jsonl").write_text(ROWS + '{"q": "3"}\n')
    assert run() == 0
    assert run("--locked") == 2
    assert "--locked: there is no assay.lock; write it with `assay lock`" in capsys.readouterr().err


def test_a_dataset_of_a_server_is_read_at_the_locked_version(project: Path) -> None:
    options = {"name": "far", "url": "https://data.example/far.jsonl"}
    pin = {"sha256": "0" * 64}
    write_lock(
        Path("assay.lock"),
        {
            "far": [
                LockedDataset(
                    source="remote https://data.example/far.jsonl", pin=pin, rows=1, sha256="1", date="2026-01-01"
                )
            ]
        },
    )
    assert locked_pin("far", "remote", options) == pin
    assert locked_pin("far", "remote", {**options, "url": "https://data.example/other.jsonl"}) == {}
    assert hasattr(Remote, "pin")


def test_what_is_no_lock_is_refused_by_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "onne"]) == 2
    assert "no task of the project names a dataset `onne`. Did you mean `one`?" in capsys.readouterr().err
    Path("assay.lock").write_text("version: 2\n")
    with pytest.raises(UsageError, match=r"assay\.lock: cannot be read"):
        read_lock(Path("assay.lock"))
