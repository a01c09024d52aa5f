"""`run.json` is read strictly, whoever wrote it, and files are written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UnwritableError, UsageError
from assay.run_file import read_run_file, refuse_unwritable, sealed_as, write_text, write_whole

DEFINITION = {
    "name": "t",
    "format": "spec_file",
    "dataset": {"use": "inline"},
    "solver": {"key": "s", "use": "single_turn"},
    "scorers": [],
    "aggregates": [],
    "metric": "m",
}
RUN = {
    "schema": "run.v1",
    "fingerprint": "f",
    "tasks": {"t": "hash"},
    "model": {"name": "toy"},
    "settings": {},
    "config": {},
    "definitions": [DEFINITION],
    "versions": {},
    "created": "2026-01-01T00:00:00Z",
}


def folder_with(tmp_path: Path, text: str) -> Path:
    (tmp_path / "run.json").write_text(text)
    return tmp_path


def test_a_run_file_is_read_with_its_defaults(tmp_path: Path) -> None:
    found = read_run_file(folder_with(tmp_path, json.dumps(RUN)))
    assert (found.model["name"], found.config.concurrency, found.command, found.answers_of) == ("toy", 32, [], "")
    assert sealed_as(found) == "f 2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "run.v9"}, "its schema is `run.v9`; read it with the version of assay that made it"),
        ({"model": {}}, "the model has no name"),
        ({"model": {"name": 3}}, "the model has no name"),
        ({"tasks": {}}, "the task `t` has no fingerprint"),
        ({"config": {"concurrency": "many"}}, r"\$\.config\.concurrency"),
        ({"fingerprint": None}, r"\$\.fingerprint"),
    ],
)
def test_what_readers_rely_on_is_checked(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=rf"run\.json: not a run\.v1 file: .*{said}"):
        read_run_file(folder_with(tmp_path, json.dumps({**RUN, **changes})))


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "\x00"])
def test_what_is_not_a_run_file_is_a_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="not a run"):
        read_run_file(folder_with(tmp_path, text))


def test_places_without_a_run_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"it has no run\.json"):
        read_run_file(tmp_path)
    with pytest.raises(UsageError, match="it is a file"):
        read_run_file(folder_with(tmp_path, "{}") / "run.json")


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.json"
    write_whole(path, b"first, and longer")
    write_whole(path, b"second")
    assert [(each.name, each.read_bytes()) for each in path.parent.iterdir()] == [("file.json", b"second")]


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_no_partial_one(tmp_path: Path) -> None:
    (tmp_path / "taken" / "inside").mkdir(parents=True)  # a folder cannot be replaced by a file
    with pytest.raises(UnwritableError, match="taken: could not write"):
        write_whole(tmp_path / "taken", b"data")
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["inside", "taken"]
    with pytest.raises(UnwritableError, match="is a folder, not a file"):
        write_whole(Path("/"), b"data")


def test_a_file_that_could_not_be_written_is_found_before_it_is_needed(tmp_path: Path) -> None:
    refuse_unwritable(tmp_path / "new" / "deep" / "file.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableError, match=r"cannot be written: Not a directory"):
        refuse_unwritable(tmp_path / "file" / "inside.json")
    with pytest.raises(UnwritableError, match="is a folder, not a file"):
        refuse_unwritable(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_half_a_character_is_written_as_its_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "t", "é \ud83d")
    assert (tmp_path / "t").read_text() == "é \\ud83d"
