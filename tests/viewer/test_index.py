"""The index: equal to the journal however it grew, started over when it no longer belongs, never lost to a bad line."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journals import journal_lines, write_lines
from tests.viewer.demo_runs import make_demo, run_file

from assay.core.journal import DamagedError
from assay.results.measure import measures_of
from assay.results.outcomes import OUTCOMES
from assay.viewer import index
from assay.viewer.index import Snapshot, index_path, update_index
from assay.viewer.rows import PLAIN


def build(folder: Path, fingerprint: str = "f") -> Snapshot:
    definitions = run_file("m", 40).definitions
    update_index(folder, fingerprint, definitions)
    return Snapshot(index_path(folder), measures_of(definitions))


def columns(snapshot: Snapshot) -> dict[str, list[object]]:
    return {name: [str(v) for v in snapshot.column(name).tolist()] for name in [*PLAIN, *snapshot.names]}


def test_every_line_is_a_row_with_its_outcome(tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "run")
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    snapshot = build(folder)
    assert snapshot.rows == len(lines)
    failed = [bool(line.get("failures")) for line in lines]
    named = [OUTCOMES[code] for code in snapshot.column("outcome").tolist()]
    assert [name in ("failed", "timeout") for name in named] == failed
    assert {"right", "partial", "wrong", "unparsed", "excluded", "failed", "timeout"} == set(named)


def test_a_retried_failed_attempt_counts_once(tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "run")
    keys = [json.loads(line)["key"] for line in (folder / "journal.jsonl").read_text().splitlines()]
    snapshot = build(folder)
    assert len(keys) > len(set(keys)) == int(snapshot.counts.sum())
    for row in np.flatnonzero(~snapshot.counts).tolist():
        assert keys[row] in keys[row + 1 :]


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 100_000), max_size=6), chunk=st.sampled_from([1, 3, 16, 64, 16384]))
def test_growing_in_pieces_gives_the_same_index_as_one_pass(
    cuts: list[int], chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = make_demo(tmp_path_factory.mktemp("whole"), each=15, hostile=True)
    data = (whole / "journal.jsonl").read_bytes()
    pieces = tmp_path_factory.mktemp("pieces")
    expected = columns(build(whole))
    before = index.CHUNK_ROWS, index.COMMIT_ROWS
    index.CHUNK_ROWS, index.COMMIT_ROWS = chunk, 4 * chunk
    try:
        for cut in [*sorted(cut % len(data) for cut in cuts), len(data)]:
            (pieces / "journal.jsonl").write_bytes(data[:cut])
            snapshot = build(pieces)
    finally:
        index.CHUNK_ROWS, index.COMMIT_ROWS = before
    assert columns(snapshot) == expected
    assert snapshot.counts.tolist() == build(whole).counts.tolist()


@pytest.mark.parametrize("change", ["another run", "shrunk", "rewritten", "damaged", "older schema"])
def test_an_index_that_no_longer_belongs_is_rebuilt(tmp_path: Path, change: str) -> None:
    folder = make_demo(tmp_path / "run")
    build(folder)
    journal, fingerprint = folder / "journal.jsonl", "f"
    lines = journal.read_bytes().splitlines(keepends=True)
    if change == "another run":
        fingerprint = "g"
    elif change == "shrunk":
        journal.write_bytes(b"".join(lines[:10]))
    elif change == "rewritten":
        journal.write_bytes(b"".join(reversed(lines)))
    elif change == "damaged":
        index_path(folder).write_bytes(b"this is not a database" * 100)
    else:
        with sqlite3.connect(index_path(folder)) as connection:
            connection.execute("UPDATE about SET schema = 0")
        connection.close()
    snapshot = build(folder, fingerprint)
    offset, length = int(snapshot.column("offset")[0]), int(snapshot.column("length")[0])
    first = json.loads(journal.read_bytes()[offset : offset + length])
    assert f"{int(snapshot.column('key')[0]):016x}" == first["key"]
    assert snapshot.rows == len(journal.read_bytes().splitlines())


@settings(max_examples=30)
@given(
    lines=st.lists(
        st.one_of(st.binary(max_size=80).filter(lambda b: b"\n" not in b), st.just(b'{"key":1}')), max_size=8
    ),
    checksums=st.booleans(),
)
def test_no_journal_breaks_the_index(
    lines: list[bytes], checksums: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    data = journal_lines(lines) if checksums else b"".join(line + b"\n" for line in lines)
    (folder / "journal.jsonl").write_bytes(data + b'{"key":"torn')
    if lines:
        with pytest.raises(DamagedError, match=r"journal\.jsonl, line 1: "):
            build(folder)
    else:
        assert build(folder).rows == 0


def test_numbers_that_no_column_holds_are_the_nearest_that_fits(tmp_path: Path) -> None:
    line = {"key": "ff" * 20, "task": "t", "sample_id": "s", "index": 10**18, "attempt": 10**15}
    write_lines(tmp_path / "journal.jsonl", [line])
    snapshot = build(tmp_path)
    assert snapshot.column("attempt").tolist() == [2**16 - 1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_run_folder_that_cannot_be_written_has_its_index_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = make_demo(tmp_path / "run", each=2)
    folder.chmod(0o555)
    try:
        assert build(folder).rows
        assert index_path(folder).is_relative_to(tmp_path / "cache")
    finally:
        folder.chmod(0o755)
