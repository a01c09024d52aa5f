"""Many models on many tasks: mean rank, win rate, and ranks with their uncertainty ("1–2").

Metrics of different kinds must not be averaged directly: a task whose scores span 0.1 to 0.9 would outweigh one that
spans 0.70 to 0.75. Ranks and win rates do not have that problem; for averages the columns are normalised first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from assay.stats.bootstrap import expanded_tails, resampled_sums, row_histogram
from assay.stats.families import Corrected, correct
from assay.stats.intervals import Floats, Interval, check_level, rows_by_cluster
from assay.stats.pair_tests import PairTests
from assay.stats.paired_evidence import Basis, GuardedPairs
from assay.stats.quantiles import normal_cdf, normal_quantile

Normalisation = Literal["none", "chance", "z"]


class Standing(Struct, frozen=True, kw_only=True):
    """One model's place among the others."""

    model: str
    tasks: int
    """Tasks on which the model has a score."""
    mean_rank: float | None
    """1 is best; tied models share the mean of their places."""
    win_rate: float | None
    """Share of (task, other model) pairs won; a tie is half a win."""
    score: float | None
    """Mean of the normalised columns, over tasks that every model has a score on; None when there is none."""


def basis_of_ranks(level: float, models: int, *, paired: bool) -> Basis:
    """What ranks rest on."""
    method = "paired tests of every two models" if paired else "scores whose intervals overlap have the same rank"
    return Basis(
        level=level,
        comparisons=models * (models - 1) // 2,
        method=f"{method}; a rank is how many models are significantly better, and how many not significantly worse",
        assumes=GuardedPairs.assumes,
        would_change="more samples, scored for every model" if paired else "per-example records of every model",
    )


def standings(
    scores: Mapping[str, Mapping[str, float | None]],
    *,
    normalisation: Normalisation = "chance",
    chance: Mapping[str, float] | None = None,
) -> list[Standing]:
    """From model -> task -> score (None where nothing was scored) to standings, best mean rank first."""
    models = sorted(scores)
    tasks = sorted({task for row in scores.values() for task in row})
    table = np.array([[_number(scores[model].get(task)) for task in tasks] for model in models]).reshape(
        len(models), len(tasks)
    )
    levels = [(chance or {}).get(task, 0.0) for task in tasks]
    complete = ~np.isnan(table.sum(axis=0))
    columns = [normalised(column, normalisation, low) for column, low in zip(table.T, levels, strict=True)]
    ranks = np.column_stack([_ranks_with_gaps(column) for column in table.T]) if tasks else table
    rows = [
        Standing(
            model=model,
            tasks=int((~np.isnan(table[i])).sum()),
            mean_rank=_mean_of_known(ranks[i]),
            win_rate=_win_rate(table, i),
            # only over tasks that all have: who lacks a hard one would have the higher mean
            score=float(np.mean([columns[j][i] for j in np.flatnonzero(complete)])) if complete.any() else None,
        )
        for i, model in enumerate(models)
    ]
    return sorted(rows, key=lambda each: (each.mean_rank is None, each.mean_rank, each.model))


def normalised(column: ArrayLike, normalisation: Normalisation = "chance", chance: float = 0.0) -> Floats:
    """One task's scores of all models on a common scale.

    `chance`: (x − chance) / (1 − chance), so 0 is guessing and 1 is perfect. `z`: distance from the models' mean in
    their standard deviations; depends on which models are in the table. Models that all score alike have z = 0.
    """
    values = np.asarray(column, dtype=np.float64)
    if normalisation == "none":
        return values
    if normalisation == "chance":
        if not chance < 1.0:
            raise ValueError(f"the score of guessing must be below 1, got {chance}")
        return (values - chance) / (1.0 - chance)
    known = values[~np.isnan(values)]
    spread = float(known.std()) if len(known) else 0.0
    # NaN stays NaN, equal scores become 0
    return (values - (known.mean() if len(known) else 0.0)) / (spread if spread > 0.0 else 1.0)


def ranks(values: ArrayLike) -> Floats:
    """Rank of each value, 1 for the highest, ties sharing the mean of their places."""
    numbers = np.asarray(values, dtype=np.float64)
    distinct, inverse, counts = np.unique(-numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[inverse.reshape(-1)] if len(distinct) else numbers


class RankRange(Struct, frozen=True, kw_only=True):
    """The ranks a model may really have, and intervals of its other standings between percentiles of resamples."""

    model: str
    score: float
    low: int
    high: int
    normalised: tuple[float, float] | None = None
    """None for z-scores: they are in units of the models' own spread, so that two models are always +1 and −1."""
    win_rate: tuple[float, float] | None = None
    mean_rank: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """`1`, or `1–2` when the data cannot tell."""
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def rank_ranges(
    models: Sequence[str],
    tasks: Sequence[ArrayLike],
    *,
    groups: Sequence[ArrayLike | None] | None = None,
    normalisation: Normalisation = "chance",
    chance: Sequence[float] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    tested: PairTests | None = None,
) -> list[RankRange]:
    """Rank ranges from paired tests of every two models, corrected by Holm.

    A model's best rank is 1 + the number of models that are significantly better, its worst the number that are not
    significantly worse, itself included. Resampled ranks claim too much where models tie: more than half of twenty
    equal models would be denied rank 1 (Hall & Miller 2009). Each task is a samples × models matrix of scores, with
    `groups` naming the cluster of each sample. The mean over tasks of the scores is compared, normalised between chance
    and 1 where chance is given. Win rate, mean rank and the column `normalised` are resampled for all models at once,
    so that what the models share cancels. `tested` are the tests of the same tasks, where already made.
    """
    check_level(level)
    random = np.random.default_rng(seed)
    lows = list(chance) if chance is not None else [0.0] * len(tasks)
    point = np.zeros(len(models))
    fewest = sys.maxsize
    columns, wins, rank_sums = (np.zeros((resamples, len(models))) for _ in range(3))
    for matrix, low, clusters in zip(tasks, lows, groups or [None] * len(tasks), strict=True):
        rows = _checked(matrix, len(models))
        units = _units(rows, clusters)
        fewest = min(fewest, len(units))
        sums = resampled_sums(*row_histogram(units), resamples, random)
        draws = sums[:, :-1] / sums[:, -1:]
        point += normalised(rows.mean(axis=0), "chance", low)
        if normalisation != "z":
            columns += normalised(draws, normalisation, low)
        better, worst = _best_ranks(draws), _worst_ranks(draws)
        rank_sums += (better + worst) / 2.0
        # a worse model is a win, an equal one half a win
        wins += len(models) - worst + (worst - better) / 2.0
    pairs = tested or pair_tests(len(models), tasks, groups=groups, chance=chance)
    ranges = ranges_of(pairs.p_values(), pairs.differences(), level)
    tails = expanded_tails(level, fewest)
    normalised_ends, win_rates, mean_ranks = (
        [(low, high) for low, high in np.quantile(draws / len(tasks), tails, axis=0).T.tolist()]
        for draws in (columns, wins / max(1, len(models) - 1), rank_sums)
    )
    estimates = [
        RankRange(
            model=model,
            score=float(point[i] / len(tasks)),
            low=ranges[i][0],
            high=ranges[i][1],
            normalised=None if normalisation == "z" else normalised_ends[i],
            win_rate=win_rates[i],
            mean_rank=mean_ranks[i],
        )
        for i, model in enumerate(models)
    ]
    return sorted(estimates, key=lambda each: (-each.score, each.model))


def pair_tests(
    models: int,
    tasks: Sequence[ArrayLike],
    *,
    groups: Sequence[ArrayLike | None] | None = None,
    chance: Sequence[float] | None = None,
    shares: Sequence[bool] | None = None,
    factors: Sequence[float] | None = None,
) -> PairTests:
    """Every two models tested on the mean over tasks, normalised between chance and 1; `shares` says which tasks have
    scores from 0 to 1, None that all have, and `factors` how much each counts in the mean, None that all count alike.
    """
    tests = PairTests(models)
    lows = list(chance) if chance is not None else [0.0] * len(tasks)
    kinds = [True] * len(tasks) if shares is None else shares
    clustered, counts = groups or [None] * len(tasks), factors or [1.0] * len(tasks)
    for matrix, low, clusters, is_share, factor in zip(tasks, lows, clustered, kinds, counts, strict=True):
        tests.add(_checked(matrix, models), clusters, weight=factor / (1.0 - low), on_scale=is_share)
    return tests


def rank_ranges_of_scores(
    models: Sequence[str], scores: Sequence[float | None], intervals: Sequence[Interval | None], level: float = 0.95
) -> list[RankRange]:
    """Rank ranges where samples cannot be paired: two models are separated where their intervals, at the level that
    Holm's correction requires, do not overlap.

    How the errors of two models on the same questions correlate is unknown, and the standard error of a difference is
    at most the sum of the two: this is less sure than pairing. A model without an interval is separated from no other;
    one without a score is last.
    """
    z = normal_quantile(0.5 + level / 2.0)
    known = np.array([_number(score) for score in scores])
    errors = np.array([_half_width(interval) / z for interval in intervals])
    count = len(models)
    p_values, differences = np.ones((count, count)), np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            differences[i, j] = known[i] - known[j]
            error = errors[i] + errors[j]
            if math.isfinite(differences[i, j]) and 0.0 < error < math.inf:
                p_values[i, j] = min(1.0, 2.0 * normal_cdf(-abs(differences[i, j]) / error))
    differences -= differences.T
    ranges = ranges_of(np.minimum(p_values, p_values.T), differences, level)
    scored = int((~np.isnan(known)).sum())
    return [
        RankRange(
            model=model,
            score=score or 0.0,
            low=low if score is not None else scored + 1,
            high=min(high, scored) if score is not None else count,
        )
        for model, score, (low, high) in zip(models, scores, ranges, strict=True)
    ]


def ranges_of(p_values: Floats, differences: Floats, level: float) -> list[tuple[int, int]]:
    """Each model's best and worst rank, from a p-value and a difference (row minus column) of every two models."""
    count = len(p_values)
    apart = np.zeros((count, count), dtype=bool)
    for (i, j), corrected in corrected_pairs(p_values, level).items():
        apart[i, j] = apart[j, i] = corrected.significant
    better = (apart & (differences < 0.0)).sum(axis=1)
    worse = (apart & (differences > 0.0)).sum(axis=1)
    return [(1 + int(above), count - int(below)) for above, below in zip(better, worse, strict=True)]


def corrected_pairs(p_values: Floats, level: float) -> dict[tuple[int, int], Corrected]:
    """Every two models, the later one first, corrected by Holm for their number."""
    pairs = [(i, j) for i in range(len(p_values)) for j in range(i)]
    return dict(zip(pairs, correct([float(p_values[pair]) for pair in pairs], level), strict=True))


def _half_width(interval: Interval | None) -> float:
    if interval is None or interval.low is None or interval.high is None:
        return math.inf
    return (interval.high - interval.low) / 2.0


def _units(rows: Floats, clusters: ArrayLike | None) -> Floats:
    """What is resampled: every sample's scores, or their sums over each cluster, and the number of samples in it."""
    units = np.column_stack(rows_by_cluster(rows, clusters))
    if len(units) < 2:
        raise ValueError("one sample, or one cluster, has no spread to rank by")
    return units


def _number(score: float | None) -> float:
    # NaN stays inside this module, where numpy needs a hole
    return math.nan if score is None else float(score)


def _ranks_with_gaps(column: Floats) -> Floats:
    result = np.full(len(column), math.nan)
    known = ~np.isnan(column)
    result[known] = ranks(column[known])
    return result


def _mean_of_known(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _win_rate(table: Floats, model: int) -> float | None:
    others = np.delete(table, model, axis=0)
    own = np.broadcast_to(table[model], others.shape)
    both: NDArray[np.bool_] = ~np.isnan(own) & ~np.isnan(others)
    if not both.any():
        return None
    return float(((own > others)[both] + 0.5 * (own == others)[both]).mean())


def _checked(matrix: ArrayLike, models: int) -> Floats:
    rows = np.asarray(matrix, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != models or not len(rows):
        raise ValueError(f"need a samples × {models} matrix of scores with a row at least, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("every model needs a score on every sample; keep only the samples that all have")
    return rows


def _best_ranks(draws: Floats) -> NDArray[np.intp]:
    """In each draw, 1 + how many models are strictly better."""
    return 1 + np.stack([(draws > draws[:, [i]]).sum(axis=1) for i in range(draws.shape[1])], axis=1)


def _worst_ranks(draws: Floats) -> NDArray[np.intp]:
    """In each draw, how many models are at least as good, itself included."""
    return np.stack([(draws >= draws[:, [i]]).sum(axis=1) for i in range(draws.shape[1])], axis=1)
