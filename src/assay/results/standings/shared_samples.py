"""What several results share: the attempts that compare, why the others do not, and the results over only those.

An attempt compares when every result has it with the same targets: another prompt is a legitimate comparison, another
answer key is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np
from msgspec import UNSET, structs
from numpy.typing import NDArray

from assay.core.describe import Mean, Value
from assay.results.board.board_types import Leaderboard, TaskRow, interval_of
from assay.results.board.journal_table import AttemptLine
from assay.results.board.leaderboard import build_leaderboard
from assay.results.board.overall import overall_bounds, overall_interval, overall_score
from assay.results.diff.paired_columns import Columns, Digests, Side
from assay.results.per_example import PerExample
from assay.results.report_settings import View, metadata_value
from assay.stats.aggregates import mean
from assay.stats.failure_bounds import with_bounds
from assay.stats.score_table import ScoreTable

Mask = NDArray[np.bool_]

NO_MEAN = (
    "its score is not a mean over samples, so it cannot be computed over some of them from a leaderboard file; "
    "compare the run folders"
)
SCORES = (
    "score",
    "reason",
    "interval",
    "bounds",
    "aggregates",
    "repetitions",
    "variance",
    "slices",
    "calibration",
    "likelihood",
)
"""The fields of a task's row computed from scores; counts, costs and times stay those of the run."""


def rows_in_score(columns: Columns) -> Mask:
    return columns.in_score


def rows_attempted(columns: Columns) -> Mask:
    """Scored or failed: the score of a failed attempt is known within bounds."""
    attempted: Mask = columns.in_score | columns.failed
    return attempted


def shared_attempts(
    sides: Sequence[Side], task: str, which: Callable[[Columns], Mask] = rows_in_score
) -> Digests | None:
    """The attempts of a task that compare; None when some result lacks per-example records."""
    columns = [side.tasks.get(task) for side in sides]
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    common = reduce(_common, [each.identities[which(each)] for each in known])
    first = _targets(known[0], common)
    same = np.ones(len(common), dtype=bool)
    for item in known[1:]:
        same &= _targets(item, common) == first
    return common[same]


def key_unknown(a: Columns, b: Columns) -> bool:
    """Whether the attempts of a task whose content changed do not show what changed.

    A declarative task has no targets: its data holds what is right. And where ids, questions and targets are all the
    same, something else that answers are scored by has changed.
    """
    if not len(a) or not len(b):
        return False
    nothing = hash(())
    if bool((a.targets == nothing).all() and (b.targets == nothing).all()):
        return True
    return len(a) == len(b) and all(
        bool((first == second).all())
        for first, second in ((a.identities, b.identities), (a.questions, b.questions), (a.targets, b.targets))
    )


def unequal_tasks(sides: Sequence[Side], labels: Sequence[str]) -> dict[str, str]:
    """For each task that cannot be compared as a whole, a sentence on why."""
    rows = [{row.task: row for row in side.board.tasks} for side in sides]
    names = dict.fromkeys(name for row in rows for name in row)
    reasons = {name: _why_unequal(name, sides, labels, [row.get(name) for row in rows]) for name in names}
    return {name: sentence for name, sentence in reasons.items() if sentence is not None}


def _why_unequal(name: str, sides: Sequence[Side], labels: Sequence[str], rows: Sequence[TaskRow | None]) -> str | None:
    missing = [label for label, row in zip(labels, rows, strict=True) if row is None]
    if missing:
        return f"task `{name}` is missing in {', '.join(missing)}"
    known = {label: row for label, row in zip(labels, rows, strict=True) if row is not None}
    common = shared_attempts(sides, name)
    counts = {label: row.scored for label, row in known.items()}
    if common is not None:
        counts = {label: int(side.tasks[name].in_score.sum()) for label, side in zip(labels, sides, strict=True)}
    listed = ", ".join(f"{label} {count:,}" for label, count in counts.items())
    if common is not None and set(counts.values()) != {len(common)}:
        return (
            f"{name}: {len(common):,} attempts were scored for every model, with the same targets; in total: {listed}"
        )
    contents = {row.sha256: label for label, row in known.items()}
    if len(contents) > 1:
        first, second = list(contents.values())[:2]
        return f"task `{name}` has other questions in {second} than in {first}"
    if common is None and (len(set(counts.values())) > 1 or any(row.coverage < 1.0 for row in known.values())):
        return f"{name}: not everything was scored ({listed}), and without per-example records it is unknown what was"
    return None


def over_shared(sides: Sequence[Side], view: View, which: Callable[[Columns], Mask] = rows_in_score) -> list[Side]:
    """The results with scores, intervals and overall numbers over only the attempts that compare.

    A task that not every result has keeps its own score and does not count in the overall one.
    """
    keep = _shared_by_task(sides, {row.task for side in sides for row in side.board.tasks}, which)
    return [_over(side, keep, view) for side in sides]


def over_columns(sides: Sequence[Side]) -> list[Side]:
    """The results' columns over only the attempts that compare; their leaderboards stay as they are."""
    keep = _shared_by_task(sides, sides[0].tasks)
    return [
        replace(side, tasks={name: side.tasks[name].only(mask) for name, mask in _masks(side, keep).items()})
        for side in sides
    ]


def with_open_attempts(sides: Sequence[Side]) -> list[Side]:
    """The results with what remains in one, and was tried in another, as failed attempts."""
    return [
        replace(side, tasks={name: _with_open(name, each, side, sides) for name, each in side.tasks.items()})
        for side in sides
    ]


def _with_open(name: str, columns: Columns, side: Side, sides: Sequence[Side]) -> Columns:
    if not any(row.task == name and row.remaining for row in side.board.tasks):
        return columns
    for other in sides:
        theirs = other.tasks.get(name)
        if theirs is not None and (missing := ~np.isin(theirs.identities, columns.identities)).any():
            columns = columns.with_failed(theirs.only(missing))
    return columns


def _shared_by_task(
    sides: Sequence[Side], names: Iterable[str], which: Callable[[Columns], Mask] = rows_in_score
) -> dict[str, Digests]:
    shared = {name: shared_attempts(sides, name, which) for name in names}
    return {name: attempts for name, attempts in shared.items() if attempts is not None and len(attempts)}


def _masks(side: Side, keep: Mapping[str, Digests]) -> dict[str, Mask]:
    return {name: np.isin(side.tasks[name].identities, ids, assume_unique=True) for name, ids in keep.items()}


def _over(side: Side, keep: Mapping[str, Digests], view: View) -> Side:
    masks = _masks(side, keep)
    if all(_is_whole(side.tasks[name], mask) for name, mask in masks.items()) and len(keep) == len(side.board.tasks):
        return side
    columns = {name: each.only(masks[name]) if name in masks else each for name, each in side.tasks.items()}
    if side.source.is_dir():
        rows = _rows_of_run(side, keep, view)
    else:
        rows = {
            row.task: _row_of_file(row, side, masks[row.task], view) for row in side.board.tasks if row.task in keep
        }
    return replace(side, tasks=columns, board=_board(side.board, rows, view.level))


def _is_whole(columns: Columns, mask: Mask) -> bool:
    return bool((mask | ~rows_attempted(columns)).all()) and not bool((columns.failed & ~mask).any())


def _rows_of_run(side: Side, keep: Mapping[str, Digests], view: View) -> dict[str, TaskRow]:
    """Read the journal again, so that every kind of aggregate is computed over these attempts."""
    wanted = {task: set(ids.tolist()) for task, ids in keep.items()}

    def counts(line: AttemptLine) -> bool:
        return line.task in wanted and side.identify(line.task, line.sample_id, line.attempt) in wanted[line.task]

    board = build_leaderboard(side.source, structs.replace(view, per_example=False), only=counts)
    return {row.task: row for row in board.tasks if row.task in keep}


def _row_of_file(row: TaskRow, side: Side, mask: Mask, view: View) -> TaskRow:
    """A leaderboard file holds the number of each attempt: enough for a mean, but for no other aggregate."""
    columns = side.tasks[row.task]
    examples = row.per_example
    known = columns.scores[columns.scored]
    sign = -1.0 if row.lower_is_better else 1.0
    if examples is UNSET or row.score is None or not len(known) or abs(sign * float(known.mean()) - row.score) > 1e-9:
        return structs.replace(row, **_nothing(NO_MEAN))
    table = _table([examples[place] for place in columns.places[mask].tolist()], view)
    aggregate = partial(mean, field="score", level=view.level, bounds=row.range)
    about = Mean(value=Value(name="score", range=row.range))
    [summary] = with_bounds(aggregate(table), aggregate, table, about)
    if row.aggregates:
        summary = structs.replace(summary, name=row.aggregates[0].name)
    interval = interval_of(summary, view.level)
    fields = {"score": summary.value, "interval": interval, "bounds": summary.bounds, "aggregates": [summary]}
    return structs.replace(row, **{**_nothing(summary.reason), **fields})


def _nothing(reason: str | None) -> dict[str, object]:
    empty: dict[str, object] = dict.fromkeys(SCORES)
    return {**empty, "aggregates": [], "repetitions": [], "slices": [], "reason": reason}


def _table(examples: Sequence[PerExample], view: View) -> ScoreTable:
    table = ScoreTable()
    places: dict[str, int] = {}
    for example in examples:
        sample = places.setdefault(example.id, len(places))
        group = metadata_value(example.metadata, view.group_by)
        if example.failure is not None:
            table.add_failure(timeout=False, sample=sample, attempt=example.attempt, group=group)
        elif example.score is not None:
            table.add({"score": example.score}, sample=sample, attempt=example.attempt, group=group)
    return table


def _board(board: Leaderboard, rows: Mapping[str, TaskRow], level: float) -> Leaderboard:
    tasks = [
        structs.replace(row, **{name: getattr(rows[row.task], name) for name in SCORES}) if row.task in rows else row
        for row in board.tasks
    ]
    shared = [row for row in tasks if row.task in rows]
    score, reason = overall_score(shared) if shared else (None, "no sample of any task was scored in every result")
    return structs.replace(
        board,
        tasks=tasks,
        overall_score=score,
        overall_reason=reason,
        overall_interval=overall_interval(shared, score, level),
        overall_bounds=overall_bounds(shared, level) if score is not None else None,
    )


def _common(first: Digests, second: Digests) -> Digests:
    # both are sorted, and usually the same
    return first if np.array_equal(first, second) else np.intersect1d(first, second, assume_unique=True)


def _targets(columns: Columns, identities: Digests) -> Digests:
    if len(identities) == len(columns):
        return columns.targets
    targets: Digests = columns.targets[np.searchsorted(columns.identities, identities)]
    return targets
