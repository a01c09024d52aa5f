"""Numbers that are made of sums or of the order of attempts' values, as their aggregates describe them."""

from __future__ import annotations

import numpy as np

from assay.metrics.corpus_overlap import BLEU_COUNTS, CHRF_COUNTS
from assay.stats.bootstrap import divide
from assay.stats.corpus_overlap import bleu_of_sums, chrf_of_sums
from assay.stats.intervals import Floats
from assay.task_records import FormulaOfSums, MadeOf, QuantileOf, Sums

FORMULAS = {"bleu": (BLEU_COUNTS, bleu_of_sums), "chrf": (CHRF_COUNTS, chrf_of_sums)}
"""By name: the values that are summed, and the number of their sums."""


def number_of(made: MadeOf, rows: Floats) -> float:
    """The number of the attempts whose values, named by `names_in(made)`, are the rows."""
    if isinstance(made, QuantileOf):
        return float(np.quantile(rows[:, 0], made.q))
    return float(value_of_sums(made, rows.sum(axis=0)[None, :])[0])


def names_in(made: MadeOf) -> tuple[str, ...]:
    """The values that it is computed from."""
    if isinstance(made, QuantileOf):
        return (made.value,)
    return (
        FORMULAS[made.formula][0] if isinstance(made, FormulaOfSums) else tuple(dict.fromkeys([*made.of, *made.over]))
    )


def value_of_sums(made: Sums, sums: Floats) -> Floats:
    """The number for each row of sums, whose columns are `names_in(made)`; NaN where it is undefined."""
    if isinstance(made, FormulaOfSums):
        return FORMULAS[made.formula][1](np.maximum(sums, 0.0))
    names = names_in(made)
    of, over = (np.array([part.get(name, 0.0) for name in names]) for part in (made.of, made.over))
    with np.errstate(over="ignore", invalid="ignore"):
        return divide(sums @ of, sums @ over)
