"""What changed between two results, sample by sample: how much, how surely, and what else differs.

Samples pair by (task, sample id, attempt). The difference is always B minus A: positive means B is better.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.board.overall import factors_of, overall_rows
from assay.results.board.stretches import overridden_settings, same_model
from assay.results.diff.differences import BoardDiff, Changes, OverallDiff, SliceDiff, TaskDiff
from assay.results.diff.other_number import other_number
from assay.results.diff.overall_difference import corrected_overall, overall_diff
from assay.results.diff.paired_columns import Columns, Side, read_side
from assay.results.diff.sentences import ONE_SIDED, board_verdict, task_verdict, unequal_sentence
from assay.results.diff.unaveraged import compare_scores, is_averaged, parts_differ, why_not
from assay.results.diff.what_else import (
    canary,
    change,
    content,
    declared_changes,
    flip,
    other_numbers,
    same,
    settings_changed,
    shared_answers,
)
from assay.results.report_settings import View, missing_group, view_of_results
from assay.results.side_labels import labelled, side_labels
from assay.results.standings.shared_samples import key_unknown, over_shared
from assay.stats.cells import TOO_LARGE, UNIT
from assay.stats.drops import DropTest, drop_tests
from assay.stats.families import CORRECTIONS, Corrected, Correction, correct, correct_known
from assay.stats.margins import Sameness, same_within
from assay.stats.paired import PairedComparison, compare
from assay.stats.paired_evidence import Basis, PairedEvidence, basis_of_drops, level_of_drop

SAMPLES = 5
_UNEQUAL_SHOWN = 3
MAX_SLICES = 100


def diff(
    a: Path | str,
    b: Path | str,
    view: View | None = None,
    *,
    allow_unequal: bool = False,
    samples: int = SAMPLES,
    same_within: float | None = None,
    correction: Correction = "holm",
) -> BoardDiff:
    """Compare two run folders or leaderboard files; `UsageError` when they do not cover the same samples.

    With `same_within` every difference is also tested for being less than that margin, either way. `correction` is what
    several tasks are corrected by: `holm`, or `bh` and `by`, which bound the share of false discoveries.
    """
    view = view or view_of_results((a, b))
    sides = read_side(a, view), read_side(b, view)
    return diff_of(
        *sides, view, allow_unequal=allow_unequal, samples=samples, same_within=same_within, correction=correction
    )


def diff_of(
    a: Side,
    b: Side,
    view: View,
    *,
    allow_unequal: bool = False,
    samples: int = SAMPLES,
    same_within: float | None = None,
    correction: Correction = "holm",
) -> BoardDiff:
    """The same, of two results that have been read."""
    if correction not in CORRECTIONS:
        raise UsageError(f"the correction must be one of {', '.join(CORRECTIONS)}, got {correction}")
    if same_within is not None and not same_within > 0.0:
        raise UsageError(f"the margin to be the same within must be more than 0, got {same_within:g}")
    result = paired_diff(a, b, view, samples=samples, same_within=same_within, correction=correction)
    if not result.unequal:
        return result
    if not allow_unequal:
        left = len(result.unequal) - _UNEQUAL_SHOWN
        more = f"; and {left:,} more" if left > 0 else ""
        raise UsageError(
            f"{a.source} and {b.source} do not cover the same samples: "
            f"{'; '.join(result.unequal[:_UNEQUAL_SHOWN])}{more}. "
            "A comparison over what both have can favour the one that failed more, or whose answer key was changed; "
            "finish the runs, or use --allow-unequal."
        )
    return _with_scores_of(result, *(side.board for side in over_shared((a, b), view)))


def paired_diff(
    a: Side,
    b: Side,
    view: View,
    *,
    samples: int = SAMPLES,
    same_within: float | None = None,
    correction: Correction = "holm",
) -> BoardDiff:
    """Compare what is comparable; the scores next to the differences are those of the whole results."""
    sides = (a, b)
    rows = [{row.task: row for row in side.board.tasks} for side in sides]
    names = [*rows[0], *(name for name in rows[1] if name not in rows[0])]
    averaged = [{row.task for row in overall_rows(side.board.tasks)} for side in sides]
    tasks = [
        replace(
            _task(name, sides, (rows[0].get(name), rows[1].get(name)), view, samples),
            in_overall=all(name in chosen or name not in known for chosen, known in zip(averaged, rows, strict=True)),
        )
        for name in names
    ]
    unequal = [sentence for task in tasks if (sentence := unequal_sentence(task))]
    return _corrected(replace(_board(sides, tasks, unequal, view), correction=correction), same_within)


def _with_scores_of(result: BoardDiff, a: Leaderboard, b: Leaderboard) -> BoardDiff:
    """With scores over the same samples as the differences; the other numbers are not known for just these."""
    before, after = ({row.task: row.score for row in board.tasks} for board in (a, b))
    tasks = [
        replace(
            task,
            score_a=before.get(task.task),
            score_b=after.get(task.task),
            change=None if task.change is None else change(before.get(task.task), after.get(task.task)),
            other_numbers=[],
        )
        for task in result.tasks
    ]
    return replace(
        result,
        tasks=tasks,
        overall_a=a.overall_score,
        overall_b=b.overall_score,
        overall_change=change(a.overall_score, b.overall_score),
    )


def _task(
    name: str,
    sides: tuple[Side, Side],
    rows: tuple[TaskRow | None, TaskRow | None],
    view: View,
    samples: int,
) -> TaskDiff:
    """One task of both sides."""
    first, second = rows
    unlike = other_number(name, sides)
    task = TaskDiff(
        task=name,
        metric=" → ".join(dict.fromkeys(row.metric_definition for row in rows if row is not None)),
        score_a=first.score if first else None,
        score_b=second.score if second else None,
        change=change(first.score, second.score) if first and second and unlike is None else None,
        content=content(first, second),
        declared=declared_changes(first, second),
        asking=same(first, second, lambda row: row.asking),
        scoring=same(first, second, lambda row: row.scoring or row.signature),
        judging=same(first, second, lambda row: row.judging),
        other_parts=same(first, second, lambda row: row.fingerprint),
        other_numbers=other_numbers(first, second),
        lower_is_better=any(row is not None and bool(row.lower_is_better) for row in rows),
        share_of_faults=any(row is not None and row.lower_is_better and row.range == UNIT for row in rows),
        largest_loss=_largest_loss(first, second),
        is_share=all(row is None or row.range == UNIT for row in rows),
        unchanged=first is not None and second is not None and _taken_whole(sides, (first, second)),
        untested=unlike or next((row.untested for row in rows if row is not None and row.untested is not None), None),
        compared=0,
        only_a=0,
        only_b=0,
        coverage_a=first.coverage if first else None,
        coverage_b=second.coverage if second else None,
        weak_a=first.weak_passes if first else None,
        weak_b=second.weak_passes if second else None,
    )
    columns = [side.tasks.get(name) for side in sides]
    if first is None or second is None or columns[0] is None or columns[1] is None:
        scored = [row.scored if row else 0 for row in rows]
        return replace(task, only_a=max(0, scored[0] - scored[1]), only_b=max(0, scored[1] - scored[0]))
    return _paired(task, sides, (columns[0], columns[1]), view, samples)


def _taken_whole(sides: tuple[Side, Side], rows: tuple[TaskRow, TaskRow]) -> bool:
    """Whether the attempts of both sides are those of one run, with their scores."""
    made = [
        row.reused.run
        if row.reused is not None and row.reused.whole
        else f"{side.board.run_fingerprint} {side.board.created}"
        for side, row in zip(sides, rows, strict=True)
    ]
    return made[0] == made[1] and any(row.reused is not None for row in rows)


def _paired(
    task: TaskDiff,
    sides: tuple[Side, Side],
    columns: tuple[Columns, Columns],
    view: View,
    samples: int,
) -> TaskDiff:
    a, b = (column.by_sample() for column in columns)
    rows_a, rows_b = _common_rows(a, b)
    averaged = is_averaged(task, sides, (a, b))
    part_a, part_b = (each.scored if averaged else each.has_part for each in (a, b))
    both = part_a[rows_a] & part_b[rows_b]
    in_both = a.in_score[rows_a] & b.in_score[rows_b]
    same_key = a.targets[rows_a] == b.targets[rows_b]
    pairs_a, pairs_b = rows_a[both & same_key], rows_b[both & same_key]
    untested = task.untested or (
        _no_verdict(task, sides, a.scores[pairs_a], b.scores[pairs_b])
        if averaged
        else why_not(task, sides, (columns[0], columns[1]), (pairs_a, pairs_b))
    )
    comparison = None
    if not averaged and untested is None:
        kept_a, kept_b = a.only(pairs_a), b.only(pairs_b)
        comparison = compare_scores(task, sides, (kept_a, kept_b), _groups(b, pairs_b), view)
        untested = comparison.reason if len(pairs_a) else None
    if untested is not None:
        pairs_a, pairs_b = pairs_a[:0], pairs_b[:0]
    before, after = _on_scale(task, a.scores[pairs_a]), _on_scale(task, b.scores[pairs_b])
    groups = _groups(b, pairs_b)
    # a failed attempt, counted as lost or as right, may change by anything
    failed = a.failed[pairs_a].any() or b.failed[pairs_b].any()
    largest_loss = None if failed else task.largest_loss
    try:
        comparison = comparison or compare(
            before, after, groups=groups, level=view.level, shares=task.is_share, largest_loss=largest_loss
        )
    except ValueError as error:
        raise UsageError(f"{task.task}: {error}") from error
    flipped = np.flatnonzero(before != after if averaged else parts_differ(a, b, pairs_a, pairs_b))
    # without a number of its own no sample is better or worse
    ordered = flipped[~np.isnan(before[flipped] + after[flipped])]
    # the largest losses first
    shown = ordered[np.lexsort((b.places[pairs_b[ordered]], after[ordered] - before[ordered]))][:samples]
    return replace(
        task,
        compared=int((in_both & same_key).sum()),
        only_a=int(a.in_score.sum()) - int(in_both.sum()),
        only_b=int(b.in_score.sum()) - int(in_both.sum()),
        other_targets=int((in_both & ~same_key).sum()),
        key_unknown=task.content == "changed" and key_unknown(a, b),
        comparison=comparison,
        untested=untested,
        changes=_changes(*columns, *_common_rows(*columns)),
        flips=len(flipped),
        shown=[
            flip(
                *(
                    side.example(task.task, each.place_of(int(a.samples[pairs_a[row]]), best=best))
                    for side, each, best in zip(sides, columns, _ends(after[row] > before[row]), strict=True)
                ),
                better=bool(after[row] > before[row]),
            )
            for row in shown
        ],
        slices=[]
        if not averaged or _proxy(task, sides)
        else _slices(b, pairs_b, before, after, view, shares=task.is_share),
    )


def _no_verdict(
    task: TaskDiff, sides: tuple[Side, Side], before: NDArray[np.float64], after: NDArray[np.float64]
) -> str | None:
    """Why the numbers of the attempts say nothing about the scores; None where they do."""
    if not len(before):
        return None
    with np.errstate(over="ignore"):
        difference = after - before
        if not np.isfinite(np.square(np.abs(difference).sum())):
            return TOO_LARGE
    proxy = _proxy(task, sides)
    if proxy is None or task.change is None:
        return None
    change = -task.change if task.lower_is_better else task.change
    if math.copysign(1.0, change) == math.copysign(1.0, float(difference.mean())) or not change:
        return None
    return f"the mean of {proxy} over samples moves the other way"


def _proxy(task: TaskDiff, sides: tuple[Side, Side]) -> str | None:
    """The number that stands for the task's score, where the score is no mean."""
    rows = (row for side in sides for row in side.board.tasks if row.task == task.task)
    return next((row.compared_by for row in rows if row.compared_by is not None), None)


def _common_rows(a: Columns, b: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of what both have."""
    _, rows_a, rows_b = np.intersect1d(a.identities, b.identities, assume_unique=True, return_indices=True)
    return rows_a, rows_b


def _ends(better: np.bool_) -> tuple[bool, bool]:
    """Whether A's best and B's best attempt show a flip, or their worst: the ones that are furthest apart."""
    return not better, bool(better)


def _largest_loss(*rows: TaskRow | None) -> float | None:
    """The larger of what both declare; None where one declares none."""
    declared = [row.largest_loss for row in rows if row is not None]
    known = [loss for loss in declared if loss is not None]
    return max(known) if known and len(known) == len(declared) else None


def _on_scale(task: TaskDiff, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negated shares lie between −1 and 0: adding 1 makes them shares again."""
    return scores + 1.0 if task.share_of_faults else scores


def _groups(columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """The clusters of these rows, or None when every row is independent."""
    groups = columns.groups[rows]
    return groups if len(np.unique(groups)) < len(groups) else None


def _changes(a: Columns, b: Columns, rows_a: NDArray[np.intp], rows_b: NDArray[np.intp]) -> Changes:
    # a failed attempt may have no recorded question; that is not a change of the question
    unknown = a.failed[rows_a] | b.failed[rows_b]
    prompt = (a.questions[rows_a] != b.questions[rows_b]) & ~unknown
    targets = (a.targets[rows_a] != b.targets[rows_b]) & ~prompt
    answer = (a.answers[rows_a] != b.answers[rows_b]) & ~prompt & ~targets
    rescored = (a.scores[rows_a] != b.scores[rows_b]) & (a.scored[rows_a] | b.scored[rows_b])
    score = rescored & ~unknown & ~prompt & ~targets & ~answer
    counts = [int(item.sum()) for item in (prompt, targets, answer, score)]
    return Changes(
        same=len(rows_a) - sum(counts), prompt=counts[0], targets=counts[1], answer=counts[2], score_only=counts[3]
    )


def _slices(
    b: Columns,
    rows: NDArray[np.intp],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    view: View,
    *,
    shares: bool,
) -> list[SliceDiff]:
    comparisons: list[tuple[str, str, PairedComparison]] = []
    for key in view.by:
        codes = b.slices[key][rows] if key in b.slices else np.empty(0, dtype=np.int64)
        distinct = np.unique(codes)
        if len(distinct) > MAX_SLICES:
            raise UsageError(
                f"--by metadata.{key}: {len(distinct):,} different values are too many slices (at most {MAX_SLICES})"
            )
        for code in distinct:
            inside = codes == code
            comparison = compare(
                before[inside], after[inside], groups=_groups(b, rows[inside]), level=view.level, shares=shares
            )
            comparisons.append((key, b.names[int(code)], comparison))
    return [
        SliceDiff(by=key, value=value, comparison=comparison, adjusted_p=None, significant=False)
        for key, value, comparison in sorted(comparisons, key=lambda each: each[:2])
    ]


def _board(sides: tuple[Side, Side], tasks: list[TaskDiff], unequal: list[str], view: View) -> BoardDiff:
    first, second = sides[0].board, sides[1].board
    compared = {
        task.task: task.comparison
        for task in tasks
        if task.in_overall and task.comparison is not None and task.comparison.n
    }
    labels = side_labels(sides)
    return BoardDiff(
        a=str(sides[0].source),
        b=str(sides[1].source),
        model_a=first.adapter,
        model_b=second.adapter,
        label_a=labels[0],
        label_b=labels[1],
        level=view.level,
        overall_a=first.overall_score,
        overall_b=second.overall_score,
        overall_change=change(first.overall_score, second.overall_score),
        same_result=first.fingerprint == second.fingerprint,
        cached_a=sum(row.from_earlier_runs for row in first.tasks),
        cached_b=sum(row.from_earlier_runs for row in second.tasks),
        shared_answers=shared_answers(first, second, tasks),
        settings_changed=settings_changed(first, second),
        same_model=same_model(first.stretches, second.stretches),
        canary=canary(first, second),
        tasks=tasks,
        per_example=all(task.comparison is not None or task.content in ONE_SIDED for task in tasks),
        unequal=unequal,
        notices=[
            *labelled(labels, [overridden_settings(board.stretches) for board in (first, second)]),
            *missing_group(view, [task.groupless for side in sides for task in side.tasks.values()]),
        ],
        overall=overall_diff([*compared.values()], view.level, factors_of((first, second), [*compared]))
        if len(compared) > 1 and not all(task.unchanged for task in tasks)
        else None,
    )


def _corrected(board: BoardDiff, margin: float | None) -> BoardDiff:
    """Corrected over every task and, where there are several, the overall difference."""
    tested = {
        index: task.comparison
        for index, task in enumerate(board.tasks)
        if task.comparison is not None and task.comparison.n and not task.unchanged
    }
    overall = board.overall
    compared: list[PairedComparison | OverallDiff] = [*tested.values()]
    if overall is not None:
        compared.append(overall)
    family = correct(
        [1.0 if item.p_value is None else item.p_value for item in compared], board.level, board.correction
    )
    drops = _drops(compared, board.level)
    same = _same_within(compared, margin, board.level)
    tasks = list(board.tasks)
    for (index, comparison), corrected, drop, sameness in zip(tested.items(), family, drops, same, strict=False):
        tasks[index] = replace(
            tasks[index],
            comparison=comparison.corrected(corrected),
            adjusted_p=corrected.adjusted_p,
            significant=corrected.significant,
            drop=drop,
            same=sameness,
        )
    if overall is not None:
        overall = replace(corrected_overall(overall, family[-1]), drop=drops[-1], same=same[-1])
    tasks = _corrected_slices(tasks, board.level, board.correction)
    board = replace(board, overall=overall, comparisons=len(family))
    board = replace(board, tasks=[replace(task, verdict=task_verdict(task, board)) for task in tasks])
    return replace(board, verdict=board_verdict(board))


def _drops(compared: list[PairedComparison | OverallDiff], level: float) -> list[DropTest]:
    p_values = [1.0 if item.p_drop is None else item.p_drop for item in compared]
    tests = drop_tests(p_values, [item.least_p_drop for item in compared], level)
    return [
        test if item.evidence is None else replace(test, basis=_basis_of_drop(item.evidence, test, len(tests), level))
        for item, test in zip(compared, tests, strict=True)
    ]


def _basis_of_drop(evidence: PairedEvidence, test: DropTest, comparisons: int, level: float) -> Basis:
    at = level_of_drop(level, test.p_value, test.adjusted_p, comparisons)
    change = evidence.undone_by(at) if test.significant else "more samples"
    return replace(basis_of_drops([evidence], level, correction="holm", would_change=change), comparisons=comparisons)


def _same_within(
    compared: list[PairedComparison | OverallDiff], margin: float | None, level: float
) -> list[Sameness] | list[None]:
    evidence = [item.evidence for item in compared if item.evidence is not None]
    return [None] * len(compared) if margin is None else same_within(evidence, margin, level)


def _corrected_slices(tasks: list[TaskDiff], level: float, correction: Correction) -> list[TaskDiff]:
    """Slices are a family of their own: corrected for every slice of every task, but not for the tasks."""
    family = iter(correct_known([each.comparison.p_value for task in tasks for each in task.slices], level, correction))
    return [replace(task, slices=[_corrected_slice(each, next(family)) for each in task.slices]) for task in tasks]


def _corrected_slice(row: SliceDiff, corrected: Corrected | None) -> SliceDiff:
    if corrected is None:
        return row
    return replace(
        row,
        comparison=row.comparison.corrected(corrected),
        adjusted_p=corrected.adjusted_p,
        significant=corrected.significant,
    )
