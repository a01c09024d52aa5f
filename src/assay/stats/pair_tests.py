"""Every two of many models tested against each other, on the mean over tasks of their paired scores.

The moments of a difference follow from products of both models' scores, so a few products of matrices serve all pairs,
however many samples there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.answers_of_tasks import AnswersOfTasks
from assay.stats.guarded import SkewedT, Spread, combined, p_values
from assay.stats.intervals import Floats, cluster_degrees, is_binary, rows_by_cluster
from assay.stats.paired import AnswerPairs
from assay.stats.task_means import satterthwaite


class _Task(NamedTuple):
    """What one task says about every two models, as models × models matrices."""

    means: Floats
    """The first's mean less the second's."""
    seconds: Floats
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
        squares = np.diag(products)
        mixed = (distances**2).T @ distances
        cubes = np.diag(mixed)
        self._tasks.append(
            _Task(
                means=means[:, None] - means[None, :],
                seconds=np.maximum(squares[:, None] + squares[None, :] - 2.0 * products, 0.0),
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
                p[i, j] = p[j, i] = min(1.0, 2.0 * min(self._sides(i, j)))
        return p

    def _sides(self, i: int, j: int) -> tuple[float, float]:
        if all(task.wins is not None for task in self._tasks) and set(self._weights) == {1.0}:
            answers = tuple(_answers(task, i, j) for task in self._tasks)
            return answers[0].p_values() if len(answers) == 1 else AnswersOfTasks(answers).p_values()
        spreads = [_spread(task, weight, i, j) for task, weight in zip(self._tasks, self._weights, strict=True)]
        if not all(task.on_scale for task in self._tasks):
            return _without_a_scale(spreads).p_values()
        reach = max(self._weights)
        return p_values(spreads[0] if len(spreads) == 1 else combined(spreads, reach), (-reach, reach))


def _answers(task: _Task, i: int, j: int) -> AnswerPairs:
    assert task.wins is not None  # noqa: S101 - for the type checker
    return AnswerPairs(round(task.wins[i, j]), round(task.wins[j, i]), task.n, right=round(task.right[j]))


def _without_a_scale(spreads: Sequence[Spread]) -> SkewedT:
    """Student's t, of several tasks with Welch and Satterthwaite's degrees of freedom."""
    variances, degrees = (np.array([[getattr(each, name)] for each in spreads]) for name in ("second", "degrees"))
    return SkewedT(
        mean=math.fsum(each.mean for each in spreads) / len(spreads),
        error=math.sqrt(float(variances.sum())) / len(spreads),
        skew=0.0,
        units=sum(each.units for each in spreads),
        degrees=float(satterthwaite(variances, degrees)[0]) if variances.any() else float(degrees.sum()),
    )


def _spread(task: _Task, weight: float, i: int, j: int) -> Spread:
    return Spread(
        mean=float(task.means[i, j]) * weight,
        second=float(task.seconds[i, j]) * weight**2,
        third=float(task.thirds[i, j]) * weight**3,
        pad=task.pad,
        degrees=task.degrees,
        units=task.units,
    )
