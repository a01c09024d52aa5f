"""A damaged journal is repaired: what is intact does not change, nothing damaged is lost, what is gone is run again."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.damages import DAMAGES, FORGED, NO_DAMAGE, Damage
from tests.end_to_end.commands import assay
from tests.forked import forked
from tests.journals import journal_lines
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.core import journal as journal_module
from assay.core.errors import UsageError
from assay.core.journal import Journal, lock_journal, read_records
from assay.optimize.journal import SearchEntry, SearchJournal
from assay.results.board.leaderboard import build_leaderboard
from assay.run_file import read_run_file
from assay.runs.later.integrity import check_run
from assay.runs.later.repair import ASIDE, MAX_GAPS, repair
from assay.runs.shard_files import Shard, new_file
from assay.runs.shards import merge_run
from assay.storage.checksum import record_of

COUNT = 12
WRONG = (2, 7)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    return run_into(folder / "run", write_sums(folder / "tasks", "sums", COUNT), Adder(wrong=WRONG))


@pytest.fixture
def run(whole_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole_run, tmp_path / "run")
    shutil.copytree(whole_run.parent / "tasks", tmp_path / "tasks")
    return tmp_path / "run"


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)


def damage(folder: Path, kind: Damage) -> bytes:
    data = b"".join(kind.change(lines_of(folder)))
    (folder / "journal.jsonl").write_bytes(data)
    return data


def resume(folder: Path) -> None:
    run_into(folder, folder.parent / "tasks" / "sums.jsonl", Adder(wrong=WRONG))


@pytest.mark.parametrize("name", [*DAMAGES, *FORGED])
def test_a_repaired_run_keeps_every_intact_line_and_is_completed_by_the_same_command(
    run: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MAX_LINE_BYTES", 65_536)
    kind, intact = {**DAMAGES, **FORGED}[name], set(lines_of(run))
    before = damage(run, kind)
    done = repair(run, SearchEntry)
    assert (done.lines, done.planned, done.remaining) == (kind.lines, COUNT, kind.lost)
    kept, aside = lines_of(run), (run / ASIDE).read_bytes()
    assert set(kept) <= intact
    assert len(kept) == COUNT - kind.lost
    assert len(b"".join(kept)) + len(aside) in (len(before), len(before) + 1), "a newline at the end, perhaps"
    assert aside.removesuffix(b"\n") in before
    board = build_leaderboard(run)
    assert [row.remaining for row in board.tasks] == [kind.lost]
    assert any(f"{kind.lines} damaged line" in notice for notice in board.notices)
    checked = check_run(run)
    assert (checked.problems, checked.damaged) == ([], 0), "the gap is known, and leaderboard.json is the new one"
    assert any("set aside" in note for note in checked.notes)
    resume(run)
    assert {record.index for record in read_records(run / "journal.jsonl")} == {*range(COUNT)}
    assert build_leaderboard(run).overall_score == pytest.approx((COUNT - len(WRONG)) / COUNT)
    assert check_run(run).problems == []
    assert repair(run, SearchEntry).lines == 0


@pytest.mark.parametrize("name", NO_DAMAGE)
def test_what_is_no_damage_is_left_alone(run: Path, name: str) -> None:
    data = b"".join(NO_DAMAGE[name](lines_of(run)))
    (run / "journal.jsonl").write_bytes(data)
    files = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert repair(run, SearchEntry).lines == 0
    assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == files


def test_lines_cut_out_by_hand_are_still_named_after_a_repair(run: Path) -> None:
    lines = lines_of(run)
    (run / "journal.jsonl").write_bytes(b"".join([*lines[:4], b"damaged\n", *lines[5:8], *lines[10:]]))
    repair(run, SearchEntry)
    assert [problem.message for problem in check_run(run).problems] == [
        "2 lines were cut out before it: it was written as line 11"
    ]


def test_a_repair_that_is_killed_at_any_moment_loses_nothing(run: Path, tmp_path: Path) -> None:
    kind = DAMAGES["a page of zeros in the middle"]
    before = damage(run, kind)
    shutil.copytree(run, tmp_path / "done")
    repair(tmp_path / "done", SearchEntry)
    after, aside = ((tmp_path / "done" / name).read_bytes() for name in ("journal.jsonl", ASIDE))
    moments = 0
    for moment in range(1, 100):
        folder = tmp_path / f"killed-{moment}"
        shutil.copytree(run, folder)
        status = forked(lambda folder=folder, moment=moment: repair_and_die(folder, moment))  # type: ignore[misc]
        journal = (folder / "journal.jsonl").read_bytes()
        assert journal in (before, after)
        if journal == after:
            assert (folder / ASIDE).read_bytes() == aside
            assert [each.lines for each in read_run_file(folder).repairs] == [1]
        repair(folder, SearchEntry)
        assert (folder / "journal.jsonl").read_bytes() == after
        assert (folder / ASIDE).read_bytes().endswith(aside)
        assert [each.lines for each in read_run_file(folder).repairs] == [1], "one repair, however often it began"
        if status == 0:
            break
        assert status == -signal.SIGKILL
        moments += 1
    assert moments > 8


def repair_and_die(folder: Path, moment: int) -> None:
    """Repair, and be killed before the so-manieth call that changes a file."""
    calls = 0

    def counted(real: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **more)

        return call

    for name in ("write", "fsync", "replace", "unlink", "open"):
        setattr(os, name, counted(getattr(os, name)))
    repair(folder, SearchEntry)


def test_a_run_that_is_being_written_is_not_repaired(run: Path) -> None:
    before = damage(run, DAMAGES["an edited score"])
    held = lock_journal(run / "journal.jsonl")
    try:
        with pytest.raises(UsageError, match="another process is writing this run"):
            repair(run, SearchEntry)
    finally:
        os.close(held)
    assert (run / "journal.jsonl").read_bytes() == before
    assert not (run / ASIDE).exists()


def test_a_journal_that_was_replaced_while_it_was_opened_is_not_written(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run / "journal.jsonl"

    def opened_before(path: Path) -> int:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        shutil.copy(path, run / "other")
        os.replace(run / "other", path)
        return descriptor

    monkeypatch.setattr(journal_module, "open_to_append", opened_before)
    with pytest.raises(UsageError, match="another process is writing this run"):
        Journal(path)


def test_damaged_lines_of_shards_are_set_aside_too(run: Path) -> None:
    records = list(read_records(run / "journal.jsonl"))
    shard = new_file(run, Shard(0, COUNT))
    for path, part in ((run / "journal.jsonl", records[:6]), (shard, records[6:])):
        path.unlink(missing_ok=True)
        journal = Journal(path)
        journal.append(part)
        journal.close()
        path.write_bytes(path.read_bytes().replace(b'"seconds":', b'"seconds":1', 1))
    with pytest.raises(UsageError, match=rf"`assay repair {run}` sets damaged lines aside"):
        merge_run(run)
    done = repair(run, SearchEntry)
    assert (done.lines, done.remaining) == (2, 2)
    assert [each.file for each in read_run_file(run).repairs] == ["journal.jsonl", f"shards/{shard.name}"]
    assert [row.remaining for row in merge_run(run).leaderboard.tasks] == [2]


def test_failed_attempts_remain_too(run: Path, tmp_path: Path) -> None:
    folder = run_into(tmp_path / "broken", tmp_path / "tasks" / "sums.jsonl", Broken([5]))
    data = (folder / "journal.jsonl").read_bytes()
    (folder / "journal.jsonl").write_bytes(data.replace(b'"prediction":"3"', b'"prediction":"4"'))
    done = repair(folder, SearchEntry)
    assert (done.lines, done.remaining) == (1, 2)


def test_very_many_gaps_are_recorded_as_few(run: Path) -> None:
    line = lines_of(run)[0]
    lines = journal_lines([record_of(line)] * (2 * MAX_GAPS + 100)).splitlines(keepends=True)
    (run / "journal.jsonl").write_bytes(b"".join(each if n % 2 else b"damaged\n" for n, each in enumerate(lines)))
    repair(run, SearchEntry)
    [recorded] = read_run_file(run).repairs
    assert len(recorded.missing) == MAX_GAPS
    assert recorded.missing[-1] == (2 * MAX_GAPS - 1, len(lines) - 1)
    assert not any(problem.what == "cut" for problem in check_run(run).problems)


def test_the_lines_of_a_search_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"schema": "assay.optimize.run.v1"}))
    journal = SearchJournal(tmp_path / "journal.jsonl")
    for number in range(3):
        journal.add(SearchEntry(kind="evaluation", key=str(number), candidate=0, part="dataset", score=0.5))
    journal.close()
    data = (tmp_path / "journal.jsonl").read_bytes()
    (tmp_path / "journal.jsonl").write_bytes(data.replace(b'"score":0.5', b'"score":1.0', 1))
    done = assay("repair", tmp_path, cwd=tmp_path)
    assert done.stdout == f"1 damaged line set aside in {tmp_path / ASIDE}\n"
    assert "`assay optimize` command" in done.stderr
    assert json.loads((tmp_path / "run.json").read_text())["repairs"][0]["lines"] == 1
    journal = SearchJournal(tmp_path / "journal.jsonl")
    assert sorted(entry.key for entry in journal.evaluations()) == ["1", "2"]
    journal.close()
