"""The ranks that the data allows each model: by paired tests where there are samples, else by intervals of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.results.board.board_types import TaskRow
from assay.results.board.overall import factors_of, overall_interval, overall_score
from assay.results.diff.ends import filled, is_unbounded
from assay.results.diff.paired_columns import Columns, Side
from assay.results.diff.sentences import NO_NUMBERS
from assay.results.report_settings import View
from assay.results.standings.pairs import ModelPair, model_pairs
from assay.results.standings.shared_samples import over_columns, with_open_attempts
from assay.stats import intervals
from assay.stats.cells import UNIT
from assay.stats.pareto import pareto_front
from assay.stats.ranking import Normalisation, RankRange, pair_tests, rank_ranges, rank_ranges_of_scores
from assay.text.numbers import level_text


class Ranking(NamedTuple):
    labels: Sequence[str]
    view: View
    normalisation: Normalisation
    chance: dict[str, float]


def ranks_of(
    ranking: Ranking, sides: Sequence[Side], shared: Sequence[str]
) -> tuple[dict[str, RankRange], str, list[ModelPair]]:
    """By paired tests over the samples that all models have; without per-example records by the scores' intervals."""
    labels, view, normalisation, chance = ranking
    matched = [_matched(name, sides) for name in shared]
    matrices = [matrix for matrix in matched if matrix is not None and matrix.units > 1]
    if len(labels) > 1 and shared and len(matrices) == len(shared):
        scores, groups = [matrix.scores for matrix in matrices], [matrix.groups for matrix in matrices]
        lows = [chance.get(name, 0.0) for name in shared]
        shares = [all(row.range == UNIT for side in sides for row in _rows(side, name)) for name in shared]
        factors = factors_of([side.board for side in sides], shared)
        tested = pair_tests(len(labels), scores, groups=groups, chance=lows, shares=shares, factors=factors)
        ranges = rank_ranges(
            labels, scores, groups=groups, normalisation=normalisation, chance=lows, level=view.level, tested=tested
        )
        samples, units = sum(len(matrix.scores) for matrix in matrices), sum(matrix.units for matrix in matrices)
        clusters = "" if units == samples else f" in {units:,} clusters"
        pairs = len(labels) * (len(labels) - 1) // 2
        method = (
            f"paired tests over {samples:,} shared samples{clusters}, Holm over {pairs:,}, {level_text(view.level)}"
        )
        if normalisation == "z":
            method += "; z-scores are distances from the other models, in their own spread, and have no interval"
        return {each.model: each for each in ranges}, method, model_pairs(labels, scores, tested, view.level)
    if len(labels) > 1 and None not in matched:
        # one sample shows no spread, and tasks that not all have are no common ground
        ranks = [RankRange(model=label, score=0.0, low=1, high=len(labels)) for label in labels]
    else:
        ranks = _of_scores(labels, sides, shared, view.level)
    return {rank.model: rank for rank in ranks}, _why_no_pairs(labels, sides, shared, matched), []


def ranks_at_worst(ranking: Ranking, sides: Sequence[Side], names: Sequence[str]) -> dict[str, RankRange] | None:
    """The ranks over all attempted samples if every failed or remaining attempt had been wrong: no model gains from
    either.

    None when nothing is open. Where such attempts could have scored anything, any rank is possible.
    """
    sides = with_open_attempts(sides)
    if not any(task.failed.any() for side in sides for task in side.tasks.values()):
        return None
    if any(is_unbounded(side, name) for side in sides for name in names):
        return {label: RankRange(model=label, score=0.0, low=1, high=len(sides)) for label in ranking.labels}
    return ranks_of(ranking, over_columns([filled(side, right=False) for side in sides]), names)[0]


def _matched(name: str, sides: Sequence[Side]) -> PairedTask | None:
    """The task paired by sample; None where the samples' numbers would place the models otherwise than their scores,
    as a mean of bits per byte may, which a perplexity is not.
    """
    paired = paired_task([side.tasks.get(name) for side in sides])
    rows = [row for side in sides for row in _rows(side, name)]
    if paired is None or all(row.compared_by is None for row in rows):
        return paired
    scores = [math.nan if row.score is None else (-row.score if row.lower_is_better else row.score) for row in rows]
    agree = np.array_equal(np.argsort(scores, kind="stable"), np.argsort(paired.scores.mean(axis=0), kind="stable"))
    return paired if agree else None


def _rows(side: Side, name: str) -> list[TaskRow]:
    return [row for row in side.board.tasks if row.task == name]


def _of_scores(labels: Sequence[str], sides: Sequence[Side], shared: Sequence[str], level: float) -> list[RankRange]:
    rows = [[row for row in side.board.tasks if row.task in shared] for side in sides]
    scores = [overall_score(each)[0] for each in rows]
    ends = [overall_interval(each, score, level) for each, score in zip(rows, scores, strict=True)]
    return rank_ranges_of_scores(
        labels,
        scores,
        [
            None if end is None else intervals.Interval(low=end.low, high=end.high, level=level, method=end.method)
            for end in ends
        ],
        level,
    )


def _why_no_pairs(
    labels: Sequence[str], sides: Sequence[Side], shared: Sequence[str], matched: Sequence[PairedTask | None]
) -> str:
    if len(labels) == 1:
        return "there is one model"
    if not shared:
        return "unknown: no task has a score for every model that they could be ranked by"
    if None in matched:
        unpaired = [name for name, matrix in zip(shared, matched, strict=True) if matrix is None]
        recorded = [name for name in unpaired if all(name in side.tasks for side in sides)]
        why = f"{recorded[0]}: {NO_NUMBERS}" if recorded else "not every result has per-example records"
        return f"intervals of the scores that do not overlap, Holm: {why}, so models cannot be paired sample by sample"
    few = [name for name, matrix in zip(shared, matched, strict=True) if matrix is not None and matrix.units < 2]
    return f"unknown: {', '.join(few)} has fewer than two samples, or groups, that every model was scored on"


class PairedTask(NamedTuple):
    """One task, paired by sample."""

    scores: NDArray[np.float64]
    """Samples × models."""
    groups: NDArray[np.int64] | None
    """The cluster of each sample; None when every sample is independent."""
    units: int
    """How many clusters there are."""


def paired_task(columns: Sequence[Columns | None]) -> PairedTask | None:
    """Mean score over attempts, for the samples that every model was scored on."""
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    means = [_sample_means(item) for item in known]
    common = means[0][0]
    for samples, _ in means[1:]:
        common = np.intersect1d(common, samples, assume_unique=True)
    if not len(common):
        return None
    scores = np.column_stack([scores[np.searchsorted(samples, common)] for samples, scores in means])
    samples, rows = np.unique(known[0].samples, return_index=True)
    groups = known[0].groups[rows[np.searchsorted(samples, common)]]
    units = len(np.unique(groups))
    return PairedTask(scores, groups if units < len(groups) else None, units)


def _sample_means(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    scored = columns.scored
    samples, codes = np.unique(columns.samples[scored], return_inverse=True)
    sums = np.bincount(codes, weights=columns.scores[scored], minlength=len(samples))
    return samples, sums / np.maximum(np.bincount(codes, minlength=len(samples)), 1)


def unbeaten(points: Sequence[tuple[float, float]]) -> list[int]:
    """Of models as (amount, score), those that no other beats on both, the smallest amount first."""
    return sorted(pareto_front([(-amount, score) for amount, score in points]), key=points.__getitem__)
