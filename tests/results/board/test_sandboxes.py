"""The weakest protection that any machine had is the run's, and a broken note of one machine breaks no report."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.results.board.scripted_boards import write_run

from assay.results.board.sandboxes import FOLDER, sandbox_notices, sandbox_of
from assay.run_file import RunFile, read_run_file


@pytest.fixture
def run(tmp_path: Path) -> RunFile:
    return read_run_file(write_run(tmp_path, {"t": [[1.0]]}))


def note(folder: Path, machine: str, text: str) -> None:
    (folder / FOLDER).mkdir(exist_ok=True)
    (folder / FOLDER / f"{machine}.json").write_text(text)


def test_a_run_that_confined_nothing_has_no_sandbox(tmp_path: Path, run: RunFile) -> None:
    assert sandbox_of(tmp_path, run) is None
    assert sandbox_notices(None) == []


def test_the_weakest_of_all_machines_counts_and_each_is_named(tmp_path: Path, run: RunFile) -> None:
    note(tmp_path, "one", '{"tier": "A"}')
    note(tmp_path, "two", '{"tier": "D"}')
    first = msgspec.structs.replace(run, sandbox={"tier": "B"})
    found = sandbox_of(tmp_path, first)
    assert found == {"tier": "D", "machines": {"first": "B", "one": "A", "two": "D"}}
    assert sandbox_notices(found) == ["model-written code ran in sandboxes of several tiers: first B, one A, two D"]


def test_machines_that_are_alike_are_no_news(tmp_path: Path, run: RunFile) -> None:
    note(tmp_path, "one", '{"tier": "A"}')
    note(tmp_path, "two", '{"tier": "A"}')
    assert sandbox_notices(sandbox_of(tmp_path, run)) == []


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_a_note_that_cannot_be_read_is_passed_over(tmp_path: Path, run: RunFile, text: str) -> None:
    note(tmp_path, "bad", text)
    note(tmp_path, "one", '{"tier": "B"}')
    assert sandbox_of(tmp_path, run) == {"tier": "B"}


def test_an_unknown_tier_is_weaker_than_all(tmp_path: Path, run: RunFile) -> None:
    note(tmp_path, "one", '{"tier": "D"}')
    note(tmp_path, "two", '{"tier": "Z"}')
    assert (sandbox_of(tmp_path, run) or {})["tier"] == "Z"
