"""Runs side by side: the same as `assay diff --allow-unequal`, from the indexes instead of the journals."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from assay.core.errors import UsageError
from assay.results.board.board_types import Leaderboard
from assay.results.diff.comparison import paired_diff
from assay.results.diff.differences import BoardDiff, TaskDiff
from assay.results.diff.paired_columns import Columns, Side, read_side
from assay.results.diff.sentences import repeats_name
from assay.results.measure import measures_of
from assay.results.outcomes import EXCLUDED, FAILED, TIMEOUT
from assay.results.report_settings import GROUP, View, common_view
from assay.run_file import RunFile
from assay.text.wording import shortened
from assay.viewer.index import Snapshot
from assay.viewer.query import Rows, cluster_column
from assay.viewer.rows import pair_hash
from assay.viewer.run_view import RunView

MOST_RUNS = 12


def compare_runs(runs: list[RunView]) -> dict[str, Any]:
    """Each run against the first: by task, and over all tasks. Positive differences mean the other run is better."""
    view = common_view([run.run_file().config for run in runs])
    sides = sides_of(runs, view)
    return {
        "runs": [run.name for run in runs],
        "level": view.level,
        "pairs": [
            _pair(runs[0], other, paired_diff(sides[0], side, view, samples=0))
            for other, side in zip(runs[1:], sides[1:], strict=True)
        ],
    }


def sides_of(runs: list[RunView], view: View) -> list[Side]:
    """The runs as `assay diff` reads them."""
    files = [run.run_file() for run in runs]
    boards = [run.boards.latest(file)[0] for run, file in zip(runs, files, strict=True)]
    # an index knows the clusters of its own run only, and nothing of scores that are no means
    alike = all((file.config.group_by or GROUP) == view.group_by and not _has_other_scores(file) for file in files)
    if not alike or None in boards:
        return [read_side(run.folder, view) for run in runs]
    return [_side_of(run, msgspec.convert(board, Leaderboard)) for run, board in zip(runs, boards, strict=True)]


def _has_other_scores(file: RunFile) -> bool:
    measures = measures_of(file.definitions).values()
    return any(measure.made_of is not None or measure.redrawn for measure in measures)


def _side_of(run: RunView, board: Leaderboard) -> Side:
    """From the index and the latest leaderboard."""
    snapshot = run.snapshot()
    columns = {
        row.task: _columns(snapshot, snapshot.tasks.index(row.task) if row.task in snapshot.tasks else -1, run.name)
        for row in board.tasks
    }
    for name in ("pair", "question", "answer"):
        snapshot.forget(name)  # large, and needed only here
    tasks = {
        row.task: columns[row.task] if row.untested is None else columns[row.task].without_numbers()
        for row in board.tasks
    }
    return Side(run.folder, board, tasks, run.measures(run.run_file()), identify=_identity)


def _identity(task: str, sample: str, attempt: int) -> int:
    """The column `pair` of the index, as the signed number that `_columns` reads it as."""
    return int(np.uint64(pair_hash(task, sample, attempt)).view(np.int64))


def _columns(snapshot: Snapshot, task: int, run: str) -> Columns:
    is_counted = snapshot.counts & (snapshot.column("task") == task) & (snapshot.column("outcome") != EXCLUDED)
    rows: Rows = np.flatnonzero(is_counted)
    identities = snapshot.column("pair")[rows].view(np.int64)
    order = np.argsort(identities, kind="stable")
    rows, identities = rows[order], identities[order]
    if len(identities) and bool((identities[1:] == identities[:-1]).any()):
        raise UsageError(
            f"{run}: task `{snapshot.tasks[task]}`: two samples have the same id, so nothing can be paired"
        )
    samples = snapshot.column("index")[rows]
    columns = Columns(
        identities=identities,
        samples=samples.astype(np.int64),
        questions=snapshot.column("question")[rows].view(np.int64),
        targets=snapshot.column("targets")[rows].view(np.int64),
        answers=snapshot.column("answer")[rows].view(np.int64),
        groups=cluster_column(snapshot.column("group")[rows], samples).view(np.int64),
        slices={},
        scores=snapshot.column("worth")[rows],
        failed=np.isin(snapshot.column("outcome")[rows], (FAILED, TIMEOUT)),
        places=rows.astype(np.int64),
        names={},
    )
    return columns.without_numbers() if task >= 0 and snapshot.lacks_weights(task, rows) else columns


def _pair(first: RunView, second: RunView, diff: BoardDiff) -> dict[str, Any]:
    tasks = [_task(task) for task in diff.tasks if task.comparison is not None and task.comparison.n]
    return {
        "first": first.name,
        "second": second.name,
        "level": diff.level,
        "overall": _overall(diff, tasks),
        "tasks": tasks,
        "comparisons": diff.comparisons,
        "unequal": diff.unequal,
        "sentences": differences(first, second),
    }


def _task(task: TaskDiff) -> dict[str, Any]:
    plain: dict[str, Any] = {"wins": 0, "losses": 0, "ties": 0, "p_value": None}
    return {
        "task": task.task,
        "lower_is_better": task.lower_is_better,
        "in_overall": task.in_overall,
        **plain,
        **msgspec.to_builtins(task.comparison),
        "adjusted_p": task.adjusted_p,
        "significant": task.significant,
        "verdict": task.verdict,
    }


def _overall(diff: BoardDiff, tasks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The mean over tasks; of a single task it is that task's own difference. None when nothing compares."""
    tasks = [task for task in tasks if task["in_overall"]] if len(tasks) > 1 else tasks
    if not tasks:
        return None
    if diff.overall is None:
        return tasks[0]
    plain: dict[str, Any] = msgspec.to_builtins(diff.overall)
    sums = {name: sum(task[name] for task in tasks) for name in ("n", "wins", "losses", "ties")}
    means = {name: sum(task[name] for task in tasks) / len(tasks) for name in ("first", "second")}
    return {**plain, **means, **sums}


def differences(first: RunView, second: RunView) -> list[str]:
    """What differs apart from the answers: questions, scoring, settings."""
    a, b = first.run_file(), second.run_file()
    sentences = []
    for name in {*a.tasks, *b.tasks}:
        if name not in a.tasks or name not in b.tasks:
            sentences.append(f"task {name} is only in {first.name if name in a.tasks else second.name}")
        elif a.tasks[name] != b.tasks[name]:
            sentences.append(f"task {name} is not the same in both: its questions, prompt or scoring changed")
    for what, before, after in (("model", a.model, b.model), ("setting", a.settings, b.settings)):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key) and not (what == "model" and repeats_name(key, before, after)):
                sentences.append(f"{what} {key}: {_shown(before.get(key))} → {_shown(after.get(key))}")
    return sorted(sentences)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return shortened(text, 80)
