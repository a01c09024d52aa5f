"""`assay repair`: one line about what was set aside, one about what remains and the command that runs it."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from tests.damages import DAMAGES
from tests.end_to_end.commands import assay
from tests.results.runs import write_sums


def test_a_run_is_damaged_repaired_and_completed_by_the_printed_command(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 12)
    (tmp_path / "own.py").write_text("def answer(prompt):\n    return 'no idea'\n")
    assert assay("run", "tasks", "--model", "own:answer", "--run-dir", "r", cwd=tmp_path).returncode == 0
    journal = tmp_path / "r" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(DAMAGES["an edited score"].change(lines)))

    refused = assay("show", "r", cwd=tmp_path)
    assert refused.returncode == 2
    assert "r/journal.jsonl, line 3: was changed after it was written" in refused.stderr
    assert "`assay repair r`" in refused.stderr

    done = assay("repair", "r", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout == "1 damaged line set aside in r/journal.damaged.jsonl\n"
    assert done.stderr == "1 of 12 attempts remains; run them with: assay run tasks --model own:answer --run-dir r\n"
    shown = assay("show", "r", cwd=tmp_path)
    assert "1 of 12 attempts are not yet run" in shown.stdout + shown.stderr
    assert "1 damaged line was set aside" in shown.stdout + shown.stderr

    assert assay("run", "tasks", "--model", "own:answer", "--run-dir", "r", cwd=tmp_path).returncode == 0
    ranked = assay("leaderboard", "r", cwd=tmp_path)
    assert "own:answer: repaired on " in ranked.stdout + ranked.stderr
    again = assay("repair", "r", cwd=tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "no damaged lines: nothing was changed\n", "")


@pytest.mark.parametrize("given", [["--run-dir", "r"], ["--run-dir=r", "--fresh"], []])
def test_a_run_that_was_moved_is_completed_where_it_is(tmp_path: Path, given: list[str]) -> None:
    write_sums(tmp_path / "tasks", "sums", 3)
    (tmp_path / "own.py").write_text("def answer(prompt):\n    return 'no idea'\n")
    assert assay("run", "tasks", "--model", "own:answer", *given, cwd=tmp_path).returncode == 0
    [first] = [*tmp_path.glob("r"), *tmp_path.glob("runs/*")]
    first.rename(tmp_path / "moved here")
    journal = tmp_path / "moved here" / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b'"score":0.0', b'"score":1.0', 1))
    command = "assay run tasks --model own:answer --run-dir 'moved here'"
    done = assay("repair", "moved here", cwd=tmp_path)
    assert done.stderr == f"1 of 3 attempts remains; run them with: {command}\n"
    assert assay(*shlex.split(command)[1:], cwd=tmp_path).returncode == 0
    assert len(journal.read_bytes().splitlines()) == 3
    assert not first.exists()


def test_what_remains_of_a_torn_last_line_is_counted_although_nothing_is_damaged(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 3)
    assert assay("run", "tasks", "--model", "stub:4", "--run-dir", "r", cwd=tmp_path).returncode == 0
    journal = tmp_path / "r" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-30])
    done = assay("repair", "r", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "no damaged lines: nothing was changed\n")
    assert done.stderr == "1 of 3 attempts remains; run them with: assay run tasks --model stub:4 --run-dir r\n"


def test_a_line_that_the_journal_has_twice_is_not_missing(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 3)
    (tmp_path / "own.py").write_text("def answer(prompt):\n    return 'no idea'\n")
    assay("run", "tasks", "--model", "own:answer", "--run-dir", "r", cwd=tmp_path)
    journal = tmp_path / "r" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b"something else\n")
    done = assay("repair", "r", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "no attempt is missing: each of them has an intact line too\n")


def test_the_answers_of_a_rescored_run_are_scored_again_by_rescore(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 3)
    (tmp_path / "own.py").write_text("def answer(prompt):\n    return 'no idea'\n")
    assay("run", "tasks", "--model", "own:answer", "--run-dir", "r", cwd=tmp_path)
    assert assay("rescore", "r", cwd=tmp_path).returncode == 0
    journal = tmp_path / "r.rescored" / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b'"score":0.0', b'"score":1.0', 1))
    done = assay("repair", "r.rescored", cwd=tmp_path)
    assert "1 of 3 attempts remains; rerun the same `assay rescore` command" in done.stderr
    assert assay("rescore", "r", cwd=tmp_path).returncode == 0
    assert len(journal.read_bytes().splitlines()) == 3


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        done = assay("repair", name, cwd=tmp_path)
        assert done.returncode == 2
        assert f"{name}: not a run folder (it has no run.json)" in done.stderr
    shutil.rmtree(tmp_path / "empty")
