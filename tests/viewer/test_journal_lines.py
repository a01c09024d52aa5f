"""Journal lines as the viewer reads them: none is given up silently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.viewer.demo_runs import make_demo, make_hostile, run_file

from assay.core.checksum import with_checksums
from assay.reports.outcomes import OUTCOMES
from assay.viewer.index import Snapshot, index_path, update_index
from assay.viewer.journal_lines import whole_lines


def build(folder: Path, fingerprint: str = "f") -> Snapshot:
    update_index(folder, fingerprint, run_file("m", 40).definitions)
    return Snapshot(index_path(folder))


def test_bad_bytes_and_foreign_lines_become_rows_that_say_so(tmp_path: Path) -> None:
    folder = make_hostile(tmp_path / "run")
    snapshot = build(folder)
    assert snapshot.rows == len((folder / "journal.jsonl").read_bytes().split(b"\n")) - 1
    assert OUTCOMES[int(snapshot.column("outcome")[-1])] == "unreadable"
    assert OUTCOMES[int(snapshot.column("outcome")[-2])] == "wrong"
    assert snapshot.previews([snapshot.rows - 3])


def test_a_torn_last_line_is_left_for_later(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"a\nb\nc")
    assert list(whole_lines(journal, 0)) == [(0, [b"a", b"b"])]
    journal.write_bytes(b"a\nb\ncd\n")
    assert list(whole_lines(journal, 4)) == [(4, [b"cd"])]


def test_a_line_that_was_changed_is_a_row_without_a_score(tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "run")
    journal = folder / "journal.jsonl"
    lines = with_checksums(journal.read_bytes().splitlines(), 1).splitlines(keepends=True)
    at = next(row for row, line in enumerate(lines) if b'"score":1.0' in line)
    lines[at] = lines[at].replace(b'"score":1.0', b'"score":5.0')
    journal.write_bytes(b"".join(lines))
    snapshot = build(folder)
    assert OUTCOMES[snapshot.column("outcome")[at]] == "unreadable"
    assert np.isnan(snapshot.column("score")[at])
    assert np.nanmax(snapshot.column("score")) <= 1.0
