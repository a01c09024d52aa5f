"""Every two of many models tested against each other, on the mean over tasks of their paired scores.

The variance of a difference is that of both models' scores less twice their covariance, so one product of matrices
serves all pairs, however many samples there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.intervals import Floats, cluster_degrees, is_binary, rows_by_cluster
from assay.stats.paired import FEW_CLUSTERS, compare, mcnemar_exact
from assay.stats.permutation import EXACT_FLIPS, permutation_test
from assay.stats.task_means import satterthwaite, tail, with_shared_ends

_FEW = 20_000
"""At most this many samples are compared one pair of models at a time."""
_GLANCE = 256
"""This many samples usually show that two models differ on more than a few."""


class PairTests:
    """Filled one task at a time; then a p-value and a difference for every two models."""

    def __init__(self, models: int) -> None:
        self._models = models
        self._means: list[Floats] = []
        self._variances: list[Floats] = []
        self._units: list[int] = []
        self._degrees: list[float] = []
        self._weights: list[float] = []
        self._answers: list[bool] = []
        self._few: dict[tuple[int, int], list[Floats]] = {(i, j): [] for i in range(models) for j in range(i)}
        self._only: tuple[Floats, ArrayLike | None] | None = None
        self._wins: Floats | None = None
        """How often one model is right and another is not, in a single task of right/wrong answers."""

    def add(self, rows: Floats, clusters: ArrayLike | None, *, weight: float = 1.0) -> None:
        """Add one task: a samples × models matrix and the cluster of each sample; `weight` multiplies differences."""
        sums, sizes = rows_by_cluster(rows, clusters)
        means = rows.mean(axis=0)
        self._wins = None
        answers = clusters is None and is_binary(rows.reshape(-1))
        if answers:
            both = rows.T @ rows
            self._wins = np.diag(both)[:, None] - both if not self._means else None
            shared = (both / len(rows) - np.outer(means, means)) / max(1, len(rows) - 1)
        else:
            residuals = (sums - sizes[:, None] * means) / np.sqrt(1.0 - sizes[:, None] / len(rows)) / len(rows)
            shared = residuals.T @ residuals
        own = np.diag(shared)
        self._means.append(means[:, None] - means[None, :])
        self._variances.append(np.maximum(own[:, None] + own[None, :] - 2.0 * shared, 0.0))
        self._units.append(len(sizes))
        self._degrees.append(cluster_degrees(sizes))
        self._weights.append(weight)
        self._answers.append(answers)
        self._keep_few(sums / len(rows) * weight)
        self._only = (rows, clusters) if len(self._means) == 1 else None

    def differences(self) -> Floats:
        """The first model's mean over tasks less the second's."""
        differences: Floats = np.tensordot(np.array(self._weights), np.array(self._means), axes=1) / len(self._weights)
        return differences

    def p_values(self) -> Floats:
        """Two-sided and not corrected: the tests of `assay diff`, with t where they would resample."""
        p_values = None if self._only is None else self._as_compared(*self._only)
        if p_values is not None:
            return p_values
        p_values = self._t_tests()
        if self._only is None or self._units[0] >= FEW_CLUSTERS:
            for (i, j), parts in self._few.items():
                p_values[i, j] = p_values[j, i] = permutation_test(np.concatenate(parts))[1]
        return p_values

    def _t_tests(self) -> Floats:
        weights = np.array(self._weights)[:, None, None]
        variances, units = np.array(self._variances), np.array(self._units, dtype=np.float64)[:, None, None]
        binary = np.array(self._answers)
        if binary.any():
            means = np.array(self._means)
            variances[binary] = with_shared_ends(means[binary], units[binary], variances[binary], ends=(-1.0, 1.0))[1]
        variances = variances * weights**2
        degrees = satterthwaite(variances, np.array(self._degrees)[:, None, None])
        errors = np.sqrt(variances.sum(axis=0)) / len(weights)
        differences = np.abs(self.differences())
        p_values = np.ones((self._models, self._models))
        for i in range(self._models):
            for j in range(i):
                if errors[i, j] > 0.0:
                    t = float(differences[i, j] / errors[i, j])
                    p_values[i, j] = p_values[j, i] = min(1.0, 2.0 * tail(t, float(degrees[i, j])))
        return p_values

    def _as_compared(self, rows: Floats, clusters: ArrayLike | None) -> Floats | None:
        """The p-values of a single task, tested as `compare` does; None where that would take long."""
        if self._wins is not None:
            wins = self._wins.round().astype(int).tolist()
            return np.array(
                [[mcnemar_exact(wins[i][j], wins[j][i]) for j in range(self._models)] for i in range(self._models)]
            )
        if self._models == 2 and len(rows) <= _FEW:
            p_value = compare(rows[:, 0], rows[:, 1], groups=clusters).p_value
            p = 1.0 if p_value is None else p_value
            return np.array([[1.0, p], [p, 1.0]])
        return None

    def _keep_few(self, units: Floats) -> None:
        """Keep what samples or clusters add to the difference, for every two models that differ on few of them."""
        if not self._few:
            return  # the usual case after the first task
        first = units[:_GLANCE].T
        few = [(np.count_nonzero(each != first, axis=1) <= EXACT_FLIPS).tolist() for each in first]
        self._few = {(i, j): parts for (i, j), parts in self._few.items() if few[i][j]}
        for (i, j), parts in list(self._few.items()):
            differences = units[:, i] - units[:, j]
            parts.append(differences[differences != 0.0])
            if sum(map(len, parts)) > EXACT_FLIPS:
                del self._few[i, j]
