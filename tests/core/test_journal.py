"""The journal keeps every finished attempt, through torn lines, full disks and second writers."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forked import forked
from tests.journals import journal_lines

from assay.core.errors import UsageError
from assay.core.journal import DamagedError, Journal, lock_journal, read_records
from assay.core.types import Failure, Record, Score, Trace
from assay.runs.earlier_attempts import EarlierAttempts
from assay.storage.checksum import number_of, record_of

BROKEN = Failure(stage="model", kind="rate_limit", message="429")


def record(number: int, *, failed: bool = False) -> Record:
    return Record(
        key=f"{number:016x}",
        task="t",
        sample_id=str(number),
        index=number,
        trace=Trace(prediction="an answer — with ünicode\nand lines"),
        scores=() if failed else (Score(name="m", values={"score": 1.0}),),
        failures=(BROKEN,) if failed else (),
    )


def write(path: Path, records: list[Record]) -> None:
    async def go() -> None:
        journal = Journal(path)
        journal.append(records)
        journal.close()

    asyncio.run(go())


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    records = [record(1), record(2, failed=True)]
    write(tmp_path / "run" / "journal.jsonl", records)
    assert list(read_records(tmp_path / "run" / "journal.jsonl")) == records


def test_failed_attempts_are_remaining_until_a_later_line_makes_up_for_them(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [record(1), record(2, failed=True), record(3, failed=True)])
    assert set(EarlierAttempts(path)) == {1}
    write(path, [record(2)])
    assert set(EarlierAttempts(path)) == {1, 2}


@given(cut=st.integers(min_value=1, max_value=400))
def test_a_torn_last_line_is_an_attempt_not_yet_run(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "journal.jsonl"
    write(path, [record(1), record(2)])
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    kept = path.read_bytes().count(b"\n")
    assert [found.index for found in read_records(path)] == [1, 2][:kept]
    write(path, [record(3)])
    assert [found.index for found in read_records(path)] == [*[1, 2][:kept], 3]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [record(1), record(2)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + journal_lines([{"key": 7}]) + lines[1])
    with pytest.raises(UsageError, match="line 2: not a journal record"):
        list(read_records(path))


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    code = f"from pathlib import Path; from assay.core.journal import Journal; Journal(Path({str(path)!r}))"
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "another process is writing this run" in second.stderr
    journal.close()
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_a_full_disk_loses_nothing_and_leaves_no_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [record(1)])
    room = path.stat().st_size + 100  # less than the next record needs

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with (tmp_path / "said").open("w") as said:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            try:
                write(path, [record(2)])
            except UsageError as error:
                said.write(str(error))

    assert forked(fill) == 0
    assert "Nothing finished was lost" in (tmp_path / "said").read_text()
    assert [found.index for found in read_records(path)] == [1]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that takes lines and cannot be synced")
def test_a_disk_that_does_not_keep_what_was_written_is_reported() -> None:
    code = """
from pathlib import Path
from assay.core.journal import Journal
from assay.core.types import Record
journal = Journal(Path("/proc/self/comm"))
journal.append([Record(key="1", task="t", sample_id="1", index=0)])
journal.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "/proc/self/comm: could not be saved to the disk: Invalid argument" in done.stderr


def test_an_error_that_the_kernel_reports_to_the_sync_in_the_background_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = threading.Event()
    calls: list[int] = []

    def told_once(file: int) -> None:
        calls.append(file)
        if len(calls) == 1:
            closing.wait(30)
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", told_once)
    monkeypatch.setattr("assay.core.journal.SYNC_SECONDS", 0.0)
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append([record(1)])
    threading.Timer(0.05, closing.set).start()  # while close() is under way
    with pytest.raises(UsageError, match="could not be saved to the disk: Input/output error"):
        journal.close()


def test_a_link_in_the_place_of_the_journal_is_refused_and_its_target_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("first line\nno newline at the end")
    (tmp_path / "journal.jsonl").symlink_to(tmp_path / "notes.txt")
    with pytest.raises(UsageError, match=r"journal\.jsonl: is a link, not a regular file"):
        Journal(tmp_path / "journal.jsonl")
    assert (tmp_path / "notes.txt").read_text() == "first line\nno newline at the end"


@pytest.mark.parametrize("content", [b"no newline at the end", b"first line\nno newline at the end", b"\0\0a"])
def test_what_is_no_torn_record_is_not_cut_off(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"ends in something that is not a journal line\. It was not changed"):
        Journal(path)
    assert path.read_bytes() == content
    os.close(lock_journal(path))  # nothing is left locked


def test_zeros_that_a_power_cut_left_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [record(1)])
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(5000))
    assert [found.index for found in read_records(path)] == [1]
    write(path, [record(2)])
    assert path.read_bytes().startswith(whole)
    assert [found.index for found in read_records(path)] == [1, 2]


def test_lines_are_numbered_on_from_opening_to_opening(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for number in range(1, 13):
        write(path, [record(number)])
    assert [number_of(line) for line in path.read_bytes().splitlines(keepends=True)] == [*range(1, 13)]


def test_a_line_without_a_checksum_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [record(1), record(2)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + record_of(lines[1]) + b"\n")
    for read in (lambda: list(read_records(path)), lambda: EarlierAttempts(path)):
        with pytest.raises(DamagedError, match="line 2: has no checksum, though every run writes one"):
            read()
    with pytest.raises(UsageError, match="line 2: has no checksum"):
        Journal(path)


@pytest.mark.parametrize("at", [1, 2, 12])
def test_a_line_that_was_changed_is_named_and_never_a_score(tmp_path: Path, at: int) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [record(number) for number in range(1, 13)])
    lines = path.read_bytes().splitlines(keepends=True)
    lines[at - 1] = lines[at - 1].replace(b'"score":1.0', b'"score":5.0')
    path.write_bytes(b"".join(lines))
    for read in (lambda: list(read_records(path)), lambda: EarlierAttempts(path)):
        with pytest.raises(UsageError, match=f"line {at}: was changed after it was written"):
            read()


def test_a_line_that_was_deleted_leaves_the_others_readable(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [record(number) for number in range(1, 13)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    assert [found.index for found in read_records(path)] == [1, 2, 3, *range(5, 13)]
    write(path, [record(4)])
    assert [found.index for found in read_records(path)][-1] == 4


def test_a_line_too_long_to_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.core.journal.MAX_LINE_BYTES", 10_000)
    long = msgspec.structs.replace(record(1), trace=Trace(prediction="x" * 20_000))
    journal = Journal(tmp_path / "journal.jsonl")
    written = journal.append([long, record(2)])
    journal.close()
    assert list(read_records(tmp_path / "journal.jsonl")) == written
    assert written[0].failures[0].kind == "bad_output"
    assert "a journal line holds at most" in written[0].failures[0].message
    assert written[1] == record(2)


def test_a_file_without_newlines_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.core.journal.MAX_LINE_BYTES", 10_000)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"{" * 20_000)
    with pytest.raises(UsageError, match="line 1: has more than"):
        list(read_records(path))


@pytest.mark.parametrize(
    ("trace", "score", "failure"),
    [
        (Trace(prediction=5), Score(name="s", values={"score": 1.0}), ("solver", "", "Expected `str`, got `int`")),  # type: ignore[arg-type]
        (Trace(prediction="x"), 0.5, ("scorer", "", "Expected `object`, got `float`")),
        (Trace(prediction="x"), None, ("scorer", "", "Expected `object`, got `null`")),
        (Trace(prediction="x"), Score(name="s", values={"score": [1]}), ("scorer", "s", "got `array`")),  # type: ignore[dict-item]
        (Trace(prediction="x"), Score(name=5, values={}), ("scorer", "5", "Expected `str`, got `int`")),  # type: ignore[arg-type]
    ],
)
def test_what_own_parts_return_fails_its_attempt_if_it_could_not_be_read(
    tmp_path: Path, trace: Trace, score: Any, failure: tuple[str, str, str]
) -> None:
    odd = msgspec.structs.replace(record(1), trace=trace, scores=(score,))
    with closing(Journal(tmp_path / "journal.jsonl", own_parts=True)) as journal:
        written = journal.append([odd, record(2)])
    assert list(read_records(tmp_path / "journal.jsonl")) == written
    assert written[1] == record(2)
    [broke] = written[0].failures
    assert (broke.stage, broke.part, broke.kind) == (*failure[:2], "bad_output")
    assert failure[2] in broke.message
