"""The last result of each task of a project, from the leaderboards in its folder of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

RUNS = "runs"
"""The folder of a project that holds its runs."""
_BOARD = "leaderboard.json"
_DEPTH = 3


class _Ends(Struct, frozen=True):
    low: float
    high: float


class _Row(Struct, frozen=True):
    """What a leaderboard says of a task, as far as it is needed here."""

    task: str
    score: float | None = None
    interval: _Ends | None = None
    fingerprint: str = ""
    complete: bool = False


class _Board(Struct, frozen=True):
    tasks: list[_Row]
    adapter: str
    label: str | None = None
    timestamp: str = ""
    overall_score: float | None = None
    overall_interval: _Ends | None = None


class LastResult(Struct, frozen=True, kw_only=True):
    """The last result of a task, of whichever model."""

    run: str
    model: str
    time: datetime
    score: float | None
    low: float | None
    high: float | None
    fingerprint: str
    """Of the task as it was then."""
    complete: bool
    """Whether every attempt was made and none failed."""


class LastRun(Struct, frozen=True, kw_only=True):
    """A run of the project."""

    folder: str
    model: str
    time: datetime
    score: float | None
    low: float | None
    high: float | None
    tasks: tuple[str, ...]


def last_results(root: Path) -> dict[str, LastResult]:
    """The newest result of each task, by name, among the runs of the project in this folder."""
    newest: dict[str, LastResult] = {}
    for folder, board, time in _boards(root):
        for row in board.tasks:
            low, high = (row.interval.low, row.interval.high) if row.interval is not None else (None, None)
            newest[row.task] = LastResult(
                run=str(folder),
                model=board.label or board.adapter,
                time=time,
                score=row.score,
                low=low,
                high=high,
                fingerprint=row.fingerprint,
                complete=row.complete,
            )
    return newest


def last_run(root: Path) -> LastRun | None:
    """The newest run of the project in this folder."""
    runs = [
        LastRun(
            folder=str(folder),
            model=board.label or board.adapter,
            time=time,
            score=board.overall_score,
            low=board.overall_interval.low if board.overall_interval is not None else None,
            high=board.overall_interval.high if board.overall_interval is not None else None,
            tasks=tuple(row.task for row in board.tasks),
        )
        for folder, board, time in _boards(root)
    ]
    return runs[-1] if runs else None


def _boards(root: Path) -> list[tuple[Path, _Board, datetime]]:
    """The boards, oldest first: two of one second in the order in which they were written."""
    return sorted(_read(root), key=lambda each: (each[2], (each[0] / _BOARD).stat().st_mtime_ns))


def _read(root: Path) -> Iterator[tuple[Path, _Board, datetime]]:
    for path in _files(root / RUNS, _DEPTH):
        try:
            board = msgspec.json.decode(path.read_bytes(), type=_Board)
            time = datetime.strptime(board.timestamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except (
            OSError,
            ValueError,
        ):  # half-written, or not a leaderboard; `assay verify` says what is wrong with a run
            continue
        yield path.parent, board, time


def _files(folder: Path, depth: int) -> Iterable[Path]:
    """The leaderboards of runs, not of those that `--fresh` moved aside."""
    if not folder.is_dir() or folder.name.startswith(".") or ".old-" in folder.name:
        return
    if (folder / "run.json").is_file():
        yield from (path for path in (folder / _BOARD,) if path.is_file())
    elif depth:
        for inner in sorted(folder.iterdir()):
            yield from _files(inner, depth - 1)
