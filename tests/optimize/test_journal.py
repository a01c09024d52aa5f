"""What a search paid for survives; a torn line is asked for again; two searches do not share a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.types import Failure
from assay.optimize.journal import SearchEntry, SearchJournal

SCORED = SearchEntry(kind="evaluation", key="a", score=0.5, side_info={"note": "ü"})
SAID = SearchEntry(kind="proposal", key="a", text="```\nx\n```", finish_reason="stop")
BROKEN = SearchEntry(kind="evaluation", key="b", failure=Failure(stage="scorer", kind="timeout", message="slow"))


def written(path: Path, *entries: SearchEntry) -> None:
    journal = SearchJournal(path)
    for entry in entries:
        journal.add(entry)
    journal.close()


def test_answers_are_found_again_and_failures_are_not(tmp_path: Path) -> None:
    path = tmp_path / "run" / "journal.jsonl"
    written(path, SCORED, SAID, BROKEN)
    journal = SearchJournal(path)
    assert journal.settled == {"a": SCORED}
    assert journal.answers == {"a": SAID}
    assert len(path.read_bytes().splitlines()) == 3
    journal.close()


@pytest.mark.parametrize("keep", range(1, 40, 7))
def test_a_torn_last_line_is_asked_for_again(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, SCORED)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:keep])
    journal = SearchJournal(path)
    journal.add(SAID)
    journal.close()
    again = SearchJournal(path)
    assert (again.settled, again.answers) == ({"a": SCORED}, {"a": SAID})
    again.close()


def test_a_line_of_something_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"a": 1}\n')
    with pytest.raises(UsageError, match=f"{path}, line 1: "):
        SearchJournal(path)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    journal = SearchJournal(tmp_path / "journal.jsonl")
    with pytest.raises(UsageError, match="another process"):
        SearchJournal(tmp_path / "journal.jsonl")
    journal.close()
