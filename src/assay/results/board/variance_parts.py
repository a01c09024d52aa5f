"""Where a task's uncertainty comes from, when its samples were tried several times, and what less of it takes."""

from __future__ import annotations

import math

import numpy as np

from assay.costs.spending import Cost, total_cost
from assay.results.board.board_types import VariancePart, VarianceRow
from assay.results.board.journal_table import TaskTable
from assay.stats.variance import Readings, variance_split

SAMPLES = "samples"
ATTEMPTS = "attempts"
ATTEMPTS_AND_JUDGE = "attempts and judge"
"""Verdicts were read once, so that another verdict and another attempt cannot be told apart."""


def variance_row(table: TaskTable, repeat: int, level: float, cost: Cost | None) -> VarianceRow | None:
    """The parts of the task's standard error; None where nothing was repeated or attempts have no number.

    Half as much of a part takes as many samples, or attempts, again: what they cost is what these have cost.
    """
    scores = table.tables.get(table.measure.scorer)
    if repeat < 2 or table.measure.column is None or not table.measure.headline or scores is None:
        return None
    numbers = scores.numbers(table.measure.column)
    rows = Readings(samples=numbers.samples, draws=np.arange(len(numbers.values)), values=numbers.values)
    split = variance_split(rows, level)
    squares = split.of_mean()
    if not squares:
        return VarianceRow(samples=split.samples, attempts=split.attempts, reason=split.reason)
    whole = math.fsum(squares.values())
    names = {"sample": SAMPLES, "draw": ATTEMPTS_AND_JUDGE if table.judges else ATTEMPTS}
    variances = {"sample": split.sample or 0.0, "draw": split.draw or 0.0}
    judged = sum(spent.answers for spent in table.judges.values())
    again = None if cost is None or cost.amount is None or table.spent.cached else cost
    return VarianceRow(
        samples=split.samples,
        attempts=split.attempts,
        standard_error=math.sqrt(whole),
        parts=[
            VariancePart(
                part=names[name],
                variance=variances[name],
                share=square / whole,
                requests=table.spent.answers + judged,
                cost=again,
            )
            for name, square in squares.items()
        ],
        attempts_share=(split.draw_share_low or 0.0, split.draw_share_high or 0.0),
    )


def cost_of_all(cost: Cost | None, judge_cost: Cost | None) -> Cost | None:
    """Of the model and of its judges; unknown as soon as one is."""
    return total_cost([item for item in (cost, judge_cost) if item is not None])
