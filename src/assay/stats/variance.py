"""Where the spread of scores comes from: other samples, another attempt at the same sample, another verdict on it.

Each part is estimated from mean squares (analysis of variance with nested random effects), which assume nothing about
the shape of the scores; the share of the attempts has an interval by the jackknife over samples.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from assay.stats.intervals import Floats, as_floats
from assay.stats.quantiles import chi_squared_quantile, f_quantile
from assay.stats.task_means import quantile

FEWEST_SAMPLES = 50
"""With two scored attempts each; below it the parts are mostly noise."""
WIDEST_SHARE = 0.6
"""A wider interval of the share of the attempts says nothing."""
FEWEST_VARIANTS = 5
_FINEST = 1e-12
Integers = NDArray[np.integer]


class Readings(Struct, frozen=True, kw_only=True):
    """One row per score, with its sample and the attempt at it. Two rows of one attempt are two verdicts on it."""

    samples: Integers
    draws: Integers
    values: Floats


class VarianceSplit(Struct, frozen=True, kw_only=True):
    """The variance of a single score, in its parts."""

    samples: int = 0
    """With two scored attempts or more; the others are left out."""
    attempts: float = 0.0
    """Per sample: the harmonic mean."""
    readings: float = 1.0
    """Verdicts per attempt: the harmonic mean."""
    sample: float | None = None
    """Between samples: some are harder."""
    draw: float | None = None
    """Between attempts at one sample; with that of the judge where `judge` is null."""
    judge: float | None = None
    """Between verdicts on one attempt; null where verdicts were read once."""
    draw_share_low: float | None = None
    """The interval of the share of the attempts, the judge's included, in the whole."""
    draw_share_high: float | None = None
    reason: str | None = None
    """Why there is no split, where there is none."""

    def of_mean(self) -> dict[str, float]:
        """The squared standard error of the mean over these samples, in its parts."""
        if self.sample is None or self.draw is None:
            return {}
        parts = {"sample": self.sample, "draw": self.draw / self.attempts}
        if self.judge is not None:
            parts["judge"] = self.judge / (self.attempts * self.readings)
        return {name: part / self.samples for name, part in parts.items()}


def variance_split(scores: Readings, level: float = 0.95) -> VarianceSplit:
    """The parts of the variance of these scores, or the reason why they cannot be told apart."""
    draws = _Cells(scores.samples, scores.draws, scores.values)
    sizes, squares, means = draws.by_sample()
    enough = sizes >= 2
    samples = int(enough.sum())
    if not samples:
        return VarianceSplit(reason="no sample has two scored attempts")
    if samples < FEWEST_SAMPLES:
        reason = f"{samples} samples with two scored attempts; at least {FEWEST_SAMPLES} are needed"
        return VarianceSplit(samples=samples, reason=reason)
    sizes, squares, means = sizes[enough], squares[enough], means[enough]
    if not squares.any() and means.min() == means.max():
        return VarianceSplit(samples=samples, reason="all scores are equal")
    attempts = _harmonic(sizes)
    within = float(squares.sum() / (sizes - 1.0).sum())
    between = max(0.0, float(means.var(ddof=1)) - within / attempts)
    readings, judge = draws.verdicts()
    low, high = _share_interval(sizes, squares, means, level)
    known = VarianceSplit(samples=samples, attempts=attempts, readings=readings)
    if high - low > WIDEST_SHARE:
        reason = f"the share of the attempts could be anything from {low:.2f} to {high:.2f}"
        return replace(known, reason=reason)
    return replace(
        known,
        sample=between,
        draw=within if judge is None else max(0.0, within - judge / readings),
        judge=judge,
        draw_share_low=low,
        draw_share_high=high,
    )


def best_repeat(between: float, within: float, *, per_sample: float) -> int:
    """The number of attempts per sample that makes the mean surest for its effort.

    `per_sample` is the effort that a new sample takes beyond its attempts, in attempts. Where only attempts take any,
    more samples are always better than more attempts.
    """
    floor = max(between, within / 50.0)  # a part that happens to be 0 would ask for any number of attempts
    return max(1, round(math.sqrt(per_sample * within / floor))) if floor > 0.0 else 1


class VariantSpread(Struct, frozen=True, kw_only=True):
    """How much the mean of a task depends on the wording of its prompt."""

    variants: int
    variance: float | None
    """Between wordings; null for fewer than five, which bound it and do not estimate it."""
    low: float
    high: float


def variant_spread(means: Floats, level: float = 0.95) -> VariantSpread:
    """Of the samples' means (along the second axis) with each wording (along the first), all over the same samples."""
    variants, samples = means.shape
    of_variants, of_samples = means.mean(axis=1), means.mean(axis=0)
    rest = means - of_variants[:, None] - of_samples + means.mean()
    degrees = variants - 1.0, (variants - 1.0) * (samples - 1.0)
    variant = float(((of_variants - means.mean()) ** 2).sum()) * samples / degrees[0]
    interaction = float((rest**2).sum()) / degrees[1]
    tail = (1.0 - level) / 2.0

    def component(mean_square: float) -> float:
        return float(np.maximum(0.0, (mean_square - interaction) / samples))

    return VariantSpread(
        variants=variants,
        variance=component(variant) if variants >= FEWEST_VARIANTS else None,
        low=component(variant / f_quantile(1.0 - tail, *degrees)),
        high=component(degrees[0] * variant / chi_squared_quantile(tail, degrees[0])),
    )


class _Cells:
    """The means of the attempts, each over its verdicts."""

    def __init__(self, samples: Integers, draws: Integers, values: Floats) -> None:
        self._samples, codes = np.unique(samples, return_inverse=True)
        _, attempts = np.unique(draws, return_inverse=True)
        keys, cells, counts = np.unique(
            codes.reshape(-1) * (int(attempts.max(initial=0)) + 1) + attempts.reshape(-1),
            return_inverse=True,
            return_counts=True,
        )
        self._of = keys // (int(attempts.max(initial=0)) + 1)
        self._counts = counts.astype(np.float64)
        self._means = np.bincount(cells.reshape(-1), weights=values) / self._counts
        self._squares = float(((values - self._means[cells.reshape(-1)]) ** 2).sum())

    def by_sample(self) -> tuple[Floats, Floats, Floats]:
        """Of each sample: its attempts, the sum of their squared distances from its mean, and its mean."""
        sizes = np.bincount(self._of).astype(np.float64)
        means = as_floats(np.bincount(self._of, weights=self._means) / sizes)
        squares = as_floats(np.bincount(self._of, weights=(self._means - means[self._of]) ** 2))
        return sizes, squares, means

    def verdicts(self) -> tuple[float, float | None]:
        """Verdicts per attempt, and the variance between those on one attempt."""
        degrees = float((self._counts - 1.0).sum())
        return _harmonic(self._counts), self._squares / degrees if degrees >= FEWEST_SAMPLES else None


def _share_interval(sizes: Floats, squares: Floats, means: Floats, level: float) -> tuple[float, float]:
    """The share of the attempts: leave each sample out once, on the logarithm of the ratio of the mean squares.

    The ratio is near 1, and not at an end of its scale, where samples do not differ.
    """
    n, degrees = len(sizes), sizes - 1.0
    attempts = _harmonic(sizes)
    whole = _log_ratio(means.var(ddof=1) * attempts, squares.sum() / degrees.sum())
    centred = means - means.mean()
    # the variance without one value: Σ(x − x̄)² less its own distance, n/(n − 1) times
    spread = ((centred**2).sum() - centred**2 * n / (n - 1.0)) / (n - 2.0)
    fewer = (n - 1.0) / ((1.0 / sizes).sum() - 1.0 / sizes)
    left_out = _log_ratio(spread * fewer, (squares.sum() - squares) / (degrees.sum() - degrees))
    error = math.sqrt((n - 1.0) / n * float(((left_out - left_out.mean()) ** 2).sum()))
    reach = quantile(0.5 + level / 2.0, n - 1.0) * error
    return _share(float(whole) + reach, attempts), _share(float(whole) - reach, attempts)


def _log_ratio(between: ArrayLike, within: ArrayLike) -> Floats:
    ratio: Floats = np.log(np.maximum(between, _FINEST)) - np.log(np.maximum(within, _FINEST))
    return ratio


def _share(log_ratio: float, attempts: float) -> float:
    return 1.0 / (1.0 + max(0.0, math.expm1(min(log_ratio, 700.0))) / attempts)


def _harmonic(counts: Floats) -> float:
    return len(counts) / float((1.0 / counts).sum())
