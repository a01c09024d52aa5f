"""Two results compared by a score that averages nothing: of sums, a quantile, or what only its own code computes."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assay.results.diff.differences import TaskDiff
from assay.results.diff.paired_columns import Columns, Digests, Side
from assay.results.report_settings import View
from assay.stats.paired import PairedComparison
from assay.task_records import QuantileOf

Rows = NDArray[np.intp]


def is_averaged(task: TaskDiff, sides: tuple[Side, Side], columns: tuple[Columns, Columns]) -> bool:
    """Whether the score is a mean of attempts' numbers, or such a mean stands for it."""
    redrawn = any(side.measures[task.task].redrawn for side in sides)
    return not redrawn and all(each.addends is None for each in columns)


def why_not(
    task: TaskDiff, sides: tuple[Side, Side], columns: tuple[Columns, Columns], pairs: tuple[Rows, Rows]
) -> str | None:
    """Why the two scores are not compared; None where they may be."""
    first, second = (side.measures[task.task] for side in sides)
    if (first.made_of, first.redrawn) != (second.made_of, second.redrawn):
        return "the two scores are not computed from the same values"
    if task.change is None:
        return "one of the two has no score"
    if isinstance(first.made_of, QuantileOf) and any(len(each) != len(np.unique(each.samples)) for each in columns):
        return "a quantile over several attempts at a sample is not compared"
    if first.redrawn:
        if any(task.task not in side.replicates for side in sides):
            return "its own code has not computed it over resamples, as it does when a run ends"
        # every attempt of both has its part, and every sample is in both
        whole = all(each.in_score.all() for each in columns)
        if not whole or any(len(pairs[0]) != len(np.unique(each.samples)) for each in columns):
            return "only its own code computes it, and the two are not over the same samples"
    return None


def compare_scores(
    task: TaskDiff,
    sides: tuple[Side, Side],
    columns: tuple[Columns, Columns],
    groups: Digests | None,
    view: View,
) -> PairedComparison:
    """By the samples that both have, in the same order."""
    a, b = columns
    measure = sides[0].measures[task.task]
    if measure.redrawn:
        from assay.stats.replicates import compare_replicates  # most tasks average something

        first, second = (side.replicates[task.task] for side in sides)
        return compare_replicates(first, second, n=len(a), lower_is_better=task.lower_is_better, level=view.level)
    assert measure.made_of is not None and a.addends is not None and b.addends is not None  # noqa: S101, PT018 - as both are alike
    if isinstance(measure.made_of, QuantileOf):
        from assay.stats.replicates import compare_quantiles

        first_values, second_values, q = a.addends[:, 0], b.addends[:, 0], measure.made_of.q
        found = compare_quantiles(
            first_values, second_values, q, lower_is_better=task.lower_is_better, groups=groups, level=view.level
        )
        return replace(found, ties=int((first_values == second_values).sum()))
    from assay.stats.jackknife import compare_sums

    found = compare_sums(
        a.addends, b.addends, measure.made_of, lower_is_better=task.lower_is_better, groups=groups, level=view.level
    )
    if not found.n or not (a.scored & b.scored).all():
        return found
    wins, losses = int((b.scores > a.scores).sum()), int((b.scores < a.scores).sum())
    return replace(found, wins=wins, losses=losses, ties=found.n - wins - losses)


def parts_differ(a: Columns, b: Columns, rows_a: Rows, rows_b: Rows) -> NDArray[np.bool_]:
    """Of each pair, whether what the score is computed from differs; where that is unknown, whether the answers do."""
    if a.addends is None or b.addends is None:
        return np.asarray(a.answers[rows_a] != b.answers[rows_b])
    if not len(rows_a):  # the two may not even have the same values
        return np.zeros(0, dtype=np.bool_)
    return np.asarray((a.addends[rows_a] != b.addends[rows_b]).any(axis=1))
