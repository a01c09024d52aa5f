"""The derived files of a run: made of the journal alone, whole, and the same when they are rebuilt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.results.board.scripted_boards import BROKEN, write_run

from assay.results.marks import Mark, append_mark
from assay.results.report_settings import View
from assay.runs.finish import finish


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in ("leaderboard.json", "report.md")}


def test_what_was_deleted_is_rebuilt_the_same(tmp_path: Path) -> None:
    write_run(tmp_path, {"t": [[1.0], [0.0], [BROKEN]]})
    board = asyncio.run(finish(tmp_path))
    first = files(tmp_path)
    assert sorted(first) == ["leaderboard.json", "report.md"]
    assert json.loads(first["leaderboard.json"])["fingerprint"] == board.fingerprint
    for name in first:
        (tmp_path / name).unlink()
    asyncio.run(finish(tmp_path))
    second = files(tmp_path)
    assert second["report.md"] == first["report.md"]
    again = json.loads(second["leaderboard.json"])
    assert {**again, "timestamp": ""} == {**json.loads(first["leaderboard.json"]), "timestamp": ""}


def test_a_view_changes_the_interval_and_no_score(tmp_path: Path) -> None:
    write_run(tmp_path, {"t": [[1.0], [0.0], [1.0]]})
    wide, narrow = (asyncio.run(finish(tmp_path, View(level=level))).tasks[0] for level in (0.99, 0.5))
    assert wide.score == narrow.score
    assert wide.interval is not None
    assert narrow.interval is not None
    assert wide.interval.low < narrow.interval.low


def test_the_report_says_how_far_people_agree(tmp_path: Path) -> None:
    write_run(tmp_path, {"t": [[1.0], [0.0]]})
    asyncio.run(finish(tmp_path))
    assert b"What people say" not in files(tmp_path)["report.md"]
    key = json.loads((tmp_path / "journal.jsonl").read_text().splitlines()[0])["key"]
    append_mark(tmp_path, Mark(key=key, task="t", sample_id="0", verdict="right"))
    asyncio.run(finish(tmp_path))
    assert b"What people say" in files(tmp_path)["report.md"]
