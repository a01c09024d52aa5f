"""Every two of many models tested against each other, on the mean over tasks of their paired scores.

The moments of a difference follow from products of both models' scores, so a few products of matrices serve all pairs,
however many samples there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.answers_of_tasks import evidence_of_tasks
from assay.stats.guarded import Spread, skewed_t_of
from assay.stats.intervals import Floats, cluster_degrees, is_binary, rows_by_cluster
from assay.stats.paired_evidence import AnswerPairs, GuardedPairs, OpenPairs


class _Task(NamedTuple):
    """What one task says about every two models, as models × models matrices."""

    means: Floats
    """The first's mean less the second's."""
    seconds: Floats
    squares: Floats
    """Σ r² as it is, for the skewness of values without a scale."""
    thirds: Floats
    pad: float
    degrees: float
    units: int
    wins: Floats | None
    """How often one model is right and another is not, of independent right/wrong answers; None of other scores."""
    right: Floats
    n: int
    on_scale: bool
    """Whether its numbers are scores from 0 to 1."""


class PairTests:
    """Filled one task at a time; then a p-value and a difference for every two models."""

    def __init__(self, models: int) -> None:
        self._models = models
        self._tasks: list[_Task] = []
        self._weights: list[float] = []

    def add(self, rows: Floats, clusters: ArrayLike | None, *, weight: float = 1.0, on_scale: bool = True) -> None:
        """Add one task: a samples × models matrix and the cluster of each sample; `weight` multiplies differences.

        `on_scale` says that its numbers are scores from 0 to 1; others have no scale, whatever values occur.
        """
        sums, sizes = rows_by_cluster(rows, clusters)
        shares, means = sizes / len(rows), rows.mean(axis=0)
        distances = (sums - sizes[:, None] * means) / len(rows)
        wins = None
        if on_scale and clusters is None and is_binary(rows.reshape(-1)):
            both = rows.T @ rows
            wins = np.diag(both)[:, None] - both
        alone = len(sizes) < 2
        products = (distances / (1.0 - shares[:, None])).T @ distances if not alone else np.zeros((self._models,) * 2)
        plain = distances.T @ distances
        mixed = (distances**2).T @ distances
        cubes = np.diag(mixed)
        self._tasks.append(
            _Task(
                means=means[:, None] - means[None, :],
                seconds=_squares_of_differences(products),
                squares=_squares_of_differences(plain),
                thirds=cubes[:, None] - 3.0 * mixed + 3.0 * mixed.T - cubes[None, :],
                pad=float((shares**2).sum()),
                degrees=1.0 if alone else cluster_degrees(sizes),
                units=len(sizes),
                wins=wins,
                right=rows.sum(axis=0),
                n=len(rows),
                on_scale=on_scale,
            )
        )
        self._weights.append(weight)

    def differences(self) -> Floats:
        """The first model's mean over tasks less the second's."""
        means = np.array([task.means for task in self._tasks])
        differences: Floats = np.tensordot(np.array(self._weights), means, axes=1) / len(self._weights)
        return differences

    def p_values(self) -> Floats:
        """Two-sided and not corrected: the tests of `assay diff`."""
        p = np.ones((self._models, self._models))
        for i in range(self._models):
            for j in range(i):
                p[i, j] = p[j, i] = self._p_value(i, j)
        return p

    def _p_value(self, i: int, j: int) -> float:
        tasks = [_evidence(task, i, j) for task in self._tasks]
        return tasks[0].p_value if len(tasks) == 1 else evidence_of_tasks(tasks, self._weights).p_value


def _evidence(task: _Task, i: int, j: int) -> AnswerPairs | GuardedPairs | OpenPairs:
    """What one task says about two models."""
    if task.wins is not None:
        return AnswerPairs(round(task.wins[i, j]), round(task.wins[j, i]), task.n, right=round(task.right[j]))
    spread = _spread(task, i, j)
    if task.on_scale:
        return GuardedPairs(spread, had=spread)
    return OpenPairs(skewed_t_of(spread, float(task.squares[i, j])))


def _squares_of_differences(products: Floats) -> Floats:
    """Sums of squared differences of every two columns, from sums of products; rounding alone counts as none."""
    own = np.diag(products)
    most = own[:, None] + own[None, :]
    squares: Floats = most - 2.0 * products
    return np.where(squares <= 1e-12 * most, 0.0, squares)


def _spread(task: _Task, i: int, j: int) -> Spread:
    return Spread(
        mean=float(task.means[i, j]),
        second=float(task.seconds[i, j]),
        third=float(task.thirds[i, j]),
        pad=task.pad,
        degrees=task.degrees,
        units=task.units,
    )
