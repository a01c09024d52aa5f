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
from assay.stats.paired_evidence import Basis
from assay.stats.quantiles import normal_cdf, normal_quantile
from assay.text.wording import count_of

WINDOWS = (1, 2, 4, 8, 16)
FALLS = 0.8
"""The part of the chance of a false alarm that is for falls; the rest is for rises, which only start a new level."""
LATER = 5
"""The larger, the more evenly that chance is spread over later runs."""
LIKELY_STARTS = 8.0
"""A start of the change is possible when its Z² lies no more than this below the largest."""
_FAR, _CLOSE = 20.0, 3.0
"""So many times the level is no alarm, whatever the tail looks like; so near to it an approximation does not decide."""
_CLEARLY_CHANCE = 0.16
_MOST_STEPS = 20
_LEAST_COUNTED = 1e-10
"""Below it the rounding errors of a Fourier transform are a part of the number."""
_MOST_COUNTED = 1 << 25
_MOST_DRAWN = 1 << 24
_MOST_EXPONENT = 500.0
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


def alarm_chances(level: float) -> tuple[float, float]:
    """The chance of any false alarm over all runs, for falls and for rises."""
    return (1.0 - level) * FALLS, (1.0 - level) * (1.0 - FALLS)


def step_ends(difference: float, error: float, level: float) -> tuple[float, float] | None:
    """The interval of a step, on these samples; None where no noise from run to run was seen, which may not be none."""
    reach = normal_quantile(0.5 + level / 2.0) * error
    return (difference - reach, difference + reach) if reach else None


def basis(level: float, windows: int, would_change: str) -> Basis:
    """What the answer to "since when?" rests on, in one run."""
    return Basis(
        level=level,
        comparisons=2 * windows,
        correction="spent",
        method="the scores of each sample shuffled between the last runs and those before, in "
        f"{count_of(windows, 'window')}",
        assumes="samples are independent of each other, and no noise is common to all samples of a run; about these "
        "samples alone",
        would_change=would_change,
    )


def window_levels(run: int, earlier: int, alpha: float) -> dict[int, float]:
    """By window, the chance of a false alarm that the `run`-th run after the first may spend, with so many runs in its
    window's reference and itself: as much on each window, and over all runs no more than alpha.
    """
    windows = [window for window in WINDOWS if window <= earlier]
    spent = alpha * LATER / ((run + LATER - 1) * (run + LATER))
    return {window: spent / len(windows) for window in windows}


def fall(scores: Floats, levels: dict[int, float]) -> Shift | None:
    """Whether the last columns of samples × runs (NaN where a score is missing) lie below the earlier ones."""
    found = [Shift(window, fall_p(scores, window, level), level) for window, level in levels.items()]
    return min(found, key=lambda shift: shift.p_value / shift.level, default=None)


def can_fall(scores: Floats, levels: dict[int, float], lost: Floats) -> bool:
    """Whether a last run in which everything was lost would be an alarm."""
    emptied = scores.copy()
    emptied[:, -1] = np.where(np.isnan(emptied[:, -1]), np.nan, lost)
    return 1 in levels and fall_p(emptied, 1, levels[1]) <= levels[1]


def fall_p(scores: Floats, window: int, level: float = 1.0) -> float:
    """One-sided p-value of a fall in the last `window` runs.

    Counted over all shuffles where the sums lie on a grid (right or wrong, ratings), approximated elsewhere; far above
    the level roughly, and close to it by drawing where the samples are few.
    """
    shuffle = _shuffle_of(scores, window)
    if shuffle is None:
        return 1.0
    if (ways := _ways_of_most(shuffle)) is not None:
        return math.exp(ways - shuffle.log_ways)
    rough = normal_cdf(-shuffle.seen / math.sqrt(shuffle.variance))
    if rough > min(_CLEARLY_CHANCE, _FAR * level):
        return rough
    counted = _counted(shuffle, window)
    if counted is not None and counted > _LEAST_COUNTED:
        return counted
    p_value = _saddlepoint(shuffle)
    needed, affordable = math.ceil(20.0 / level), _MOST_DRAWN // shuffle.values.size
    close = level / _CLOSE < p_value < level * _CLOSE
    return _drawn(shuffle, needed) if close and needed <= affordable else p_value


def possible_starts(scores: Floats) -> list[int]:
    """The columns with which a fall may have begun; the true one is among them in 95 % of cases or more."""
    scores = scores[~np.isnan(scores).all(axis=1)]
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
    variance: float

    @property
    def log_ways(self) -> float:
        return _log_combinations(self.have.sum(axis=1), self.inside)


def _shuffle_of(scores: Floats, window: int) -> _Shuffle | None:
    """None where nothing fell."""
    values, have = -scores, ~np.isnan(scores)
    inside, before = have[:, -window:].sum(axis=1), have[:, :-window].sum(axis=1)
    highest, lowest = np.where(have, values, -np.inf).max(axis=1), np.where(have, values, np.inf).min(axis=1)
    moves = (inside > 0) & (before > 0) & (highest > lowest)
    if not moves.any():
        return None
    values, have, inside, before = values[moves], have[moves], inside[moves], before[moves]
    counts = have.sum(axis=1)
    means = np.where(have, values, 0.0).sum(axis=1) / counts
    centred = np.where(have, values - means[:, None], 0.0)
    weights = 1.0 / inside + 1.0 / before
    seen = float((weights * centred[:, -window:].sum(axis=1)).sum())
    if seen <= 1e-12:
        return None
    return _Shuffle(
        values=centred,
        have=have,
        inside=inside,
        weights=weights,
        seen=seen,
        variance=float((weights**2 * (centred**2).sum(axis=1) * inside * before / counts / (counts - 1)).sum()),
    )


def _ways_of_most(shuffle: _Shuffle) -> float | None:
    """The logarithm of how many shuffles have the largest sum, where it is the one that was seen."""
    ordered = np.sort(np.where(shuffle.have, shuffle.values, -np.inf), axis=1)[:, ::-1]
    inside = np.arange(ordered.shape[1]) < shuffle.inside[:, None]
    if shuffle.seen < float((shuffle.weights * np.where(inside, ordered, 0.0).sum(axis=1)).sum()) - 1e-9:
        return None
    last = ordered[np.arange(len(ordered)), shuffle.inside - 1]
    ties = np.abs(ordered - last[:, None]) < 1e-12
    return _log_combinations(ties.sum(axis=1), (ties & inside).sum(axis=1))


def _log_combinations(n: Counts, k: Counts) -> float:
    return math.fsum(math.log(math.comb(a, b)) for a, b in zip(n.tolist(), k.tolist(), strict=True))


def _counted(shuffle: _Shuffle, window: int) -> float | None:
    """The share of all shuffles with as large a sum; None where the sums lie on no grid, or there are too many."""
    counts = shuffle.have.sum(axis=1)
    if np.ptp(shuffle.inside) or np.ptp(counts):
        return None
    above = shuffle.values - np.where(shuffle.have, shuffle.values, np.inf).min(axis=1, keepdims=True)
    known = above[shuffle.have]
    scaled = np.where(shuffle.have, above / known[known > 1e-9].min(), -1.0)
    if scaled.max() > _MOST_STEPS or np.abs(scaled - np.rint(scaled)).max() > 1e-6:
        return None
    steps = np.rint(scaled).astype(np.intp)
    inside, last = int(shuffle.inside[0]), steps[:, -window:]
    rows, counts = np.unique(np.sort(steps, axis=1)[:, -counts[0] :], axis=0, return_counts=True)
    most = inside * int(rows.max())
    length = 1 << (most * len(steps)).bit_length()
    if length * len(rows) > _MOST_COUNTED:
        return None
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        ways = np.zeros((inside + 1, most + 1))  # to choose so many of its scores with such a sum
        ways[0, 0] = 1.0
        for value in row:
            ways[1:, value:] += ways[:-1, : most + 1 - value]
        spectrum *= np.fft.rfft(ways[-1] / ways[-1].sum(), length) ** count
    return float(np.fft.irfft(spectrum, length)[last[last > 0].sum() :].sum())


def _saddlepoint(shuffle: _Shuffle) -> float:
    """Lugannani and Rice (1980), from the generating function of sums without replacement.

    Next to the largest sum, where the numbers grow too large for it, Chernoff's bound.
    """
    exponents = np.abs(shuffle.values).max(axis=1) * shuffle.weights * shuffle.inside
    low, high = 0.0, _MOST_EXPONENT / float(exponents.max())
    t = min(shuffle.seen / shuffle.variance, high)
    for _ in range(60):
        log, slope, curvature = _cumulants(shuffle, t)
        if abs(slope - shuffle.seen) < 1e-9 * shuffle.seen or high - low < 1e-12 * high:
            break
        low, high = (t, high) if slope < shuffle.seen else (low, t)
        newton = t + (shuffle.seen - slope) / curvature if curvature > 0.0 else high
        t = newton if low < newton < high else (low + high) / 2.0
    below = min(0.0, log - shuffle.log_ways - t * shuffle.seen)
    if abs(slope - shuffle.seen) > 1e-6 * shuffle.seen or not curvature > 0.0:
        return math.exp(below)
    w, u = math.sqrt(max(-2.0 * below, 1e-12)), t * math.sqrt(curvature)
    p_value = normal_cdf(-w) + math.exp(below) / math.sqrt(2.0 * math.pi) * (1.0 / u - 1.0 / w)
    return min(math.exp(below), max(0.0, p_value))


def _cumulants(shuffle: _Shuffle, t: float) -> tuple[float, float, float]:
    """The logarithm of the generating function at t, and its first two derivatives.

    Of one sample it is an elementary symmetric polynomial of exp(t·v), built up one run after another.
    """
    sums = np.zeros((3, len(shuffle.values), int(shuffle.inside.max()) + 1))
    sums[0, :, 0] = 1.0
    for run in range(shuffle.values.shape[1]):
        v = (shuffle.weights * shuffle.values[:, run])[:, None]
        y = np.where(shuffle.have[:, run, None], np.exp(t * v), 0.0)
        zeroth, first, second = (total[:, :-1] for total in sums)
        sums[:, :, 1:] += np.stack(
            [y * zeroth, y * (first + v * zeroth), y * (second + 2.0 * v * first + v * v * zeroth)]
        )
    zeroth, first, second = (total[np.arange(len(shuffle.values)), shuffle.inside] for total in sums)
    slope = first / zeroth
    return float(np.log(zeroth).sum()), float(slope.sum()), float((second / zeroth - slope**2).sum())


def _drawn(shuffle: _Shuffle, number: int) -> float:
    """(count + 1)/(number + 1) over random shuffles."""
    random = np.random.default_rng(0)
    samples, runs = shuffle.values.shape
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
