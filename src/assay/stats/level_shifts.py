"""Whether the answers to the same samples have fallen, or risen, over a series of runs, and since when.

Within a sample, the scores of runs of an unchanged model are exchangeable: which of them came last is chance. So the
last runs (a window of 1, 2, 4, 8 or 16) are compared with all earlier ones by shuffling each sample's scores; the
reference's own noise is in the shuffling too. The chance of a false alarm is spent run by run, in order: what is said
of a run never changes when later ones arrive.

The question is about these samples: whether they fell by more than the model's noise from run to run. It assumes that
no noise is common to all samples of a run.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import Floats
from assay.stats.quantiles import normal_cdf, normal_quantile

WINDOWS = (1, 2, 4, 8, 16)
LATER = 10
"""The larger, the more evenly the chance of a false alarm is spread over later runs."""
LIKELY_STARTS = 8.0
"""A start of the change is possible when its Z² lies no more than this below the largest."""
_CLEARLY_CHANCE = 1.0
"""So few standard deviations are no alarm, whatever the tail looks like."""
_CLOSE = 3.0
_CHUNK_CELLS = 1 << 21


Counts = NDArray[np.intp]


class Shift(NamedTuple):
    """The most significant window that ends with the last run."""

    window: int
    p_value: float
    level: float
    """Below which it is an alarm."""

    @property
    def is_alarm(self) -> bool:
        return self.p_value <= self.level


def alarm_chance(level: float) -> float:
    """The chance of any false alarm over all runs, for falls and for rises each."""
    return (1.0 - level) / 2.0


def step_ends(difference: float, error: float, level: float) -> tuple[float, float]:
    """The interval of a step, on these samples."""
    reach = normal_quantile(0.5 + level / 2.0) * error
    return difference - reach, difference + reach


def window_levels(run: int, earlier: int, alpha: float) -> dict[int, float]:
    """By window, the chance of a false alarm that the `run`-th run after the first may spend, with so many runs in its
    window's reference and itself; over all runs they sum to no more than alpha.
    """
    spent = alpha * LATER / ((run + LATER - 1) * (run + LATER))
    windows = [window for window in WINDOWS if window <= earlier]
    if len(windows) < 2:
        return dict.fromkeys(windows, spent)
    return {window: spent / 2.0 if window == 1 else spent / 2.0 / (len(windows) - 1) for window in windows}


def fall(scores: Floats, levels: dict[int, float]) -> Shift | None:
    """Whether the last columns of samples × runs (NaN where a score is missing) lie below the earlier ones."""
    found = [Shift(window, fall_p(scores, window, level), level) for window, level in levels.items()]
    return min(found, key=lambda shift: shift.p_value / shift.level, default=None)


def can_fall(scores: Floats, levels: dict[int, float], lost: Floats) -> bool:
    """Whether a last run in which everything was lost would be an alarm."""
    emptied = scores.copy()
    emptied[:, -1] = np.where(np.isnan(emptied[:, -1]), np.nan, lost)
    return 1 in levels and fall_p(emptied, 1, levels[1]) <= levels[1]


def fall_p(scores: Floats, window: int, level: float = 0.0) -> float:
    """One-sided p-value of a fall in the last `window` runs; close to the level it is drawn, elsewhere approximated."""
    shuffle = _shuffle_of(scores, window)
    if shuffle is None or shuffle.seen <= 1e-12:
        return 1.0
    if shuffle.seen >= shuffle.most - 1e-9:
        return math.exp(shuffle.log_ways_of_most - shuffle.log_ways)
    if (z := shuffle.seen / math.sqrt(shuffle.variance)) < _CLEARLY_CHANCE:
        return normal_cdf(-z)
    p_value = _saddlepoint(shuffle)
    if p_value is None or level / _CLOSE < p_value < level * _CLOSE:
        return _drawn(shuffle, min(200_000, math.ceil(20.0 / max(level, 1e-4))))
    return p_value


def possible_starts(scores: Floats) -> list[int]:
    """The columns with which a fall may have begun; the true one is among them in 95 % of cases or more."""
    runs, have = scores.shape[1], ~np.isnan(scores)
    spread = np.nanvar(scores, axis=1)
    squares = np.zeros(runs)
    for start in range(1, runs):
        before, after = have[:, :start].sum(axis=1), have[:, start:].sum(axis=1)
        both = (before > 0) & (after > 0)
        if not both.any():
            continue
        drops = np.nanmean(scores[both, :start], axis=1) - np.nanmean(scores[both, start:], axis=1)
        noise = math.sqrt(float((spread[both] * (1.0 / before[both] + 1.0 / after[both])).sum()))
        drop = float(drops.sum())
        squares[start] = (drop / noise) ** 2 if drop > 0.0 and noise > 0.0 else 0.0
    most = squares.max()
    return [] if most <= 0.0 else [start for start in range(1, runs) if squares[start] >= most - LIKELY_STARTS]


class _Shuffle(NamedTuple):
    """What is shuffled: each sample's scores, turned over and centred, so that a fall is a large sum."""

    values: Floats
    have: NDArray[np.bool_]
    inside: Counts
    """How many of a sample's scores lie in the window."""
    weights: Floats
    seen: float
    most: float
    variance: float
    log_ways: float
    log_ways_of_most: float
    step: float
    """The distance between two possible sums; 0 where they lie everywhere."""


def _shuffle_of(scores: Floats, window: int) -> _Shuffle | None:
    """None where no sample has scores on both sides that differ."""
    values, have = -scores, ~np.isnan(scores)
    inside, before = have[:, -window:].sum(axis=1), have[:, :-window].sum(axis=1)
    highest, lowest = np.where(have, values, -np.inf).max(axis=1), np.where(have, values, np.inf).min(axis=1)
    moves = (inside > 0) & (before > 0) & (highest > lowest)
    if not moves.any():
        return None
    values, have, inside, before = values[moves], have[moves], inside[moves], before[moves]
    counts = have.sum(axis=1)
    distinct = np.unique(values[have])
    values = np.where(have, values - (np.where(have, values, 0.0).sum(axis=1) / counts)[:, None], 0.0)
    weights = 1.0 / inside + 1.0 / before
    ordered = np.sort(np.where(have, values, -np.inf), axis=1)[:, ::-1]
    rows = np.arange(len(values))
    last = ordered[rows, inside - 1]
    ties = np.abs(ordered - last[:, None]) < 1e-12
    ranks = np.arange(ordered.shape[1])
    chosen = (ties & (ranks < inside[:, None])).sum(axis=1)
    top = np.where(ranks < inside[:, None], ordered, 0.0).sum(axis=1)
    gaps = np.diff(distinct)
    even = bool(np.ptp(weights) < 1e-12 and len(distinct) <= 20 and np.ptp(gaps) < 1e-9)
    return _Shuffle(
        values=values,
        have=have,
        inside=inside,
        weights=weights,
        seen=float((weights * values[:, -window:].sum(axis=1)).sum()),
        most=float((weights * top).sum()),
        variance=float((weights**2 * (values**2).sum(axis=1) * inside * before / counts / (counts - 1)).sum()),
        log_ways=_log_combinations(counts, inside),
        log_ways_of_most=_log_combinations(ties.sum(axis=1), chosen),
        step=float(gaps[0] * weights[0]) if even else 0.0,
    )


def _log_combinations(n: Counts, k: Counts) -> float:
    return math.fsum(math.log(math.comb(a, b)) for a, b in zip(n.tolist(), k.tolist(), strict=True))


def _saddlepoint(shuffle: _Shuffle) -> float | None:
    """Lugannani and Rice (1980), from the generating function of sums without replacement; None where it fails."""
    at = shuffle.seen - shuffle.step / 2.0
    if at <= 1e-12:
        return 1.0
    low, high = 0.0, 1.0
    while _cumulants(shuffle, high)[1] < at:
        low, high = high, 2.0 * high
        if high > 1e6:
            return None
    for _ in range(45):
        t = (low + high) / 2.0
        low, high = (t, high) if _cumulants(shuffle, t)[1] < at else (low, t)
    log, _, curvature = _cumulants(shuffle, t)
    w = math.sqrt(max(2.0 * (t * at - (log - shuffle.log_ways)), 1e-12))
    u = (2.0 * math.sinh(t * shuffle.step / 2.0) / shuffle.step if shuffle.step else t) * math.sqrt(curvature)
    p_value = normal_cdf(-w) + math.exp(-w * w / 2.0) / math.sqrt(2.0 * math.pi) * (1.0 / u - 1.0 / w)
    return min(1.0, max(0.0, p_value)) if math.isfinite(p_value) else None


def _cumulants(shuffle: _Shuffle, t: float) -> tuple[float, float, float]:
    """The logarithm of the generating function at t, and its first two derivatives.

    Of one sample it is an elementary symmetric polynomial of exp(t·v), built up one run after another.
    """
    sums = np.zeros((3, len(shuffle.values), int(shuffle.inside.max()) + 1))
    sums[0, :, 0] = 1.0
    for run in range(shuffle.values.shape[1]):
        v = (shuffle.weights * shuffle.values[:, run])[:, None]
        y = np.where(shuffle.have[:, run, None], np.exp(np.minimum(t * v, 600.0)), 0.0)
        zeroth, first, second = (each[:, :-1] for each in sums)
        sums[:, :, 1:] += np.stack(
            [y * zeroth, y * (first + v * zeroth), y * (second + 2.0 * v * first + v * v * zeroth)]
        )
    zeroth, first, second = (each[np.arange(len(shuffle.values)), shuffle.inside] for each in sums)
    with np.errstate(all="ignore"):  # what overflows is drawn instead
        slope = first / zeroth
        return float(np.log(zeroth).sum()), float(slope.sum()), float((second / zeroth - slope**2).sum())


def _drawn(shuffle: _Shuffle, number: int) -> float:
    """(count + 1)/(number + 1) over random shuffles."""
    random = np.random.default_rng(0)
    samples, runs = shuffle.values.shape
    high = np.where(shuffle.have, shuffle.values, -np.inf).max(axis=1)
    low = np.where(shuffle.have, shuffle.values, np.inf).min(axis=1)
    highs = (shuffle.have & (shuffle.values == high[:, None])).sum(axis=1)
    lows = (shuffle.have & (shuffle.values == low[:, None])).sum(axis=1)
    if bool((highs + lows == shuffle.have.sum(axis=1)).all()):  # right or wrong: how many of the highs were chosen
        chosen = random.hypergeometric(highs, lows, shuffle.inside, size=(number, samples))
        sums = chosen @ (shuffle.weights * (high - low)) + float((shuffle.weights * shuffle.inside * low).sum())
        return (int((sums >= shuffle.seen - 1e-9).sum()) + 1) / (number + 1)
    chunk, count, left = max(1, _CHUNK_CELLS // (samples * runs)), 0, number
    inside = np.arange(runs) < shuffle.inside[:, None]
    while left > 0:
        size = min(chunk, left)
        keys = np.where(shuffle.have, random.random((size, samples, runs)), 2.0)
        order = keys.argsort(axis=2)
        shuffled = np.take_along_axis(np.broadcast_to(shuffle.values, keys.shape), order, axis=2)
        sums = ((shuffled * inside).sum(axis=2) * shuffle.weights).sum(axis=1)
        count += int((sums >= shuffle.seen - 1e-9).sum())
        left -= size
    return (count + 1) / (number + 1)
