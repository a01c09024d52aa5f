"""Aggregates of text likelihoods: sums over the whole task first, one division at the end, bootstrap intervals."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np

from assay.core.describe import describes
from assay.core.types import Summary
from assay.part_options import Doc, part
from assay.stats.bootstrap import SumStatistic, divide
from assay.stats.cells import OutputName, ratio_of_sums
from assay.stats.described import of_likelihood
from assay.stats.intervals import Floats
from assay.stats.score_table import ScoreTable

Unit = Literal["word", "token", "byte"]


@describes(of_likelihood)
@part("Bits that the texts cost over their bytes.", example="name: bits")
def bits_per_byte(
    table: ScoreTable, *, name: OutputName = None, level: float = 0.95, seed: int = 0, resamples: int = 1000
) -> list[Summary]:
    """Bits that the texts cost per byte: comparable between models with different tokens.

    Lower is better; a model that knows nothing about bytes costs 8.
    """
    return _ratio(table, name or "bits_per_byte", "byte", _bits, level=level, seed=seed, resamples=resamples)


@describes(of_likelihood)
@part("exp of the nats that the texts cost over their words, tokens or bytes.", example="unit: word")
def perplexity(
    table: ScoreTable,
    *,
    unit: Annotated[Unit, Doc("`token` is for models with the same tokens.")] = "word",
    name: OutputName = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
) -> list[Summary]:
    """exp(nats per unit) over the whole task: `word` compares models, `token` only models with the same tokens.

    Lower is better. Texts are weighted by their length.
    """
    name = name or f"{unit}_perplexity"
    return _ratio(table, name, unit, _exponential, level=level, seed=seed, resamples=resamples)


def _ratio(table: ScoreTable, name: str, unit: str, statistic: SumStatistic, **options: Any) -> list[Summary]:
    numbers = table.numbers("nats", f"{unit}s")
    sums = np.maximum(numbers.rows, 0.0)
    return [ratio_of_sums(name, name, sums, statistic, "the texts are empty", rows=numbers, table=table, **options)]


def _bits(sums: Floats) -> Floats:
    return divide(sums[:, 0], sums[:, 1]) / math.log(2)


def _exponential(sums: Floats) -> Floats:
    return np.exp(divide(sums[:, 0], sums[:, 1]))
