"""Shards cover every sample once, and merging takes every finished attempt once whatever was written twice."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.journals import journal_lines

from assay.core.errors import UsageError
from assay.core.journal import Journal, read_records
from assay.core.types import DatasetSpec, Failure, PartSpec, Record, TaskDefinition, Trace
from assay.run_config import RunConfig
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.shard_files import (
    Shard,
    cut,
    merge_shards,
    new_file,
    parse_shard,
    positions_of,
    remove_files,
    shard_files,
    shard_of,
)


def record(number: int, *, failed: str | None = None, said: str = "yes") -> Record:
    failures = (Failure(stage="model", kind=failed, message="it broke"),) if failed else ()
    trace = None if failed else Trace(prediction=said)
    key = f"{number:016x}"
    return Record(key=key, task="t", sample_id=str(number), index=number, trace=trace, failures=failures)


def write(path: Path, *records: Record, torn: bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(journal_lines(records) + torn)


def merge(folder: Path) -> list[Record]:
    journal = Journal(folder / "journal.jsonl")
    merge_shards(folder, journal)
    journal.close()
    return list(read_records(folder / "journal.jsonl"))


def task(name: str, size: int) -> TaskDefinition:
    return TaskDefinition(
        name=name,
        format="task_folder",
        dataset=DatasetSpec(use="x", size=size),
        solver=PartSpec(key="s", use="s"),
        scorers=(),
        aggregates=(),
        metric="m",
    )


@given(samples=st.integers(0, 5000), count=st.integers(1, 50))
def test_the_shards_of_a_run_lie_side_by_side(samples: int, count: int) -> None:
    shards = [shard_of(samples, number, count) for number in range(1, count + 1)]
    assert (shards[0].start, shards[-1].stop) == (0, samples)
    assert all(one.stop == other.start for one, other in pairwise(shards))
    sizes = [shard.stop - shard.start for shard in shards]
    assert max(sizes) - min(sizes) <= 1


@given(samples=st.integers(0, 5000), size=st.integers(1, 700))
def test_no_shard_is_larger_than_asked_for(samples: int, size: int) -> None:
    shards = cut(samples, size)
    assert sum(shard.stop - shard.start for shard in shards) == samples
    assert all(shard.stop - shard.start <= size for shard in shards)


@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6), count=st.integers(1, 9), limit=st.integers(1, 60))
def test_the_positions_of_all_shards_are_every_sample_once(sizes: list[int], count: int, limit: int) -> None:
    tasks = [task(f"t{at}", size) for at, size in enumerate(sizes)]
    config = RunConfig(limit=limit)
    samples = sum(min(size, limit) for size in sizes)
    covered = [
        (name, position)
        for number in range(1, count + 1)
        for name, positions in positions_of(shard_of(samples, number, count), tasks, config).items()
        for position in positions
    ]
    assert covered == [(f"t{at}", position) for at, size in enumerate(sizes) for position in range(min(size, limit))]


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "a/b", "-1/4", "1/4/2", ""])
def test_a_shard_that_is_none_gets_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="expected K/N"):
        parse_shard(text)


def test_the_first_whole_record_wins_and_a_torn_line_is_remaining(tmp_path: Path) -> None:
    shard = Shard(0, 10)
    write(new_file(tmp_path, shard), record(1, said="first"), record(2), torn=b'{"key":"0000000000000003","ta')
    write(new_file(tmp_path, shard), record(1, said="second"), record(4))
    merged = merge(tmp_path)
    assert [(each.sample_id, each.trace and each.trace.prediction) for each in merged] == [
        ("1", "first"),
        ("2", "yes"),
        ("4", "yes"),
    ]
    assert set(EarlierAttempts(*(path for _, path in shard_files(tmp_path)))) == {1, 2, 4}


def test_a_failure_counts_only_where_no_shard_succeeded(tmp_path: Path) -> None:
    write(new_file(tmp_path, Shard(0, 10)), record(1, failed="timeout"), record(2, failed="timeout"))
    write(new_file(tmp_path, Shard(5, 20)), record(1), record(2, failed="connection"))
    merged = merge(tmp_path)
    assert [(each.sample_id, [failure.kind for failure in each.failures]) for each in merged] == [
        ("1", []),
        ("2", ["connection"]),
    ]


def test_merging_again_adds_nothing_and_a_later_success_replaces_a_failure(tmp_path: Path) -> None:
    write(new_file(tmp_path, Shard(0, 2)), record(1), record(2, failed="timeout"))
    assert merge(tmp_path) == merge(tmp_path)
    write(new_file(tmp_path, Shard(0, 2)), record(2))
    assert [each.failed for each in merge(tmp_path)] == [False, True, False]
    assert len(merge(tmp_path)) == 3


def test_files_of_other_names_are_left_alone(tmp_path: Path) -> None:
    path = new_file(tmp_path, Shard(0, 2))
    write(path, record(1))
    (path.parent / "notes.txt").write_text("mine")
    journal = Journal(tmp_path / "journal.jsonl")
    remove_files(merge_shards(tmp_path, journal))
    journal.close()
    assert [each.name for each in path.parent.iterdir()] == ["notes.txt"]
    assert shard_files(tmp_path) == []


def test_a_line_that_is_not_a_record_is_named(tmp_path: Path) -> None:
    path = new_file(tmp_path, Shard(0, 2))
    write(path, record(1), torn=b"not json\n")
    with pytest.raises(UsageError, match=r"samples-.*line 2: has no checksum"):
        merge(tmp_path)


@given(
    attempts=st.lists(
        st.tuples(
            st.integers(0, 8),
            st.integers(1, 8),
            st.lists(st.tuples(st.integers(0, 15), st.booleans()), max_size=12),
            st.integers(0, 40),
        ),
        max_size=6,
    )
)
def test_whatever_workers_wrote_every_finished_attempt_is_there_once(
    tmp_path_factory: pytest.TempPathFactory, attempts: list[tuple[int, int, list[tuple[int, bool]], int]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    finished, touched = set(), set()
    for start, size, made, torn in attempts:
        within = [(number, failed) for number, failed in made if start <= number < start + size]
        records = [record(number, failed="timeout" if failed else None) for number, failed in within]
        write(new_file(folder, Shard(start, start + size)), *records, torn=msgspec.json.encode(record(99))[:torn])
        finished |= {number for number, failed in within if not failed}
        touched |= {number for number, _ in within}
    merged = merge(folder) and merge(folder)
    assert sorted(int(each.key, 16) for each in merged if not each.failed) == sorted(finished)
    assert {int(each.key, 16) for each in merged} == touched
