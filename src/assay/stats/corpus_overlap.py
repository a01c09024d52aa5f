"""Corpus BLEU and chrF: counts of all answers summed first, one division at the end."""

from __future__ import annotations

import numpy as np

from assay.core.describe import describes
from assay.core.types import Summary
from assay.metrics.corpus_overlap import BLEU_COUNTS, CHARACTERS, CHRF_COUNTS, WORDS
from assay.part_options import part
from assay.stats.bootstrap import SumStatistic
from assay.stats.cells import OutputName, ratio_of_sums
from assay.stats.described import of_corpus_bleu, of_corpus_chrf
from assay.stats.intervals import Floats
from assay.stats.score_table import ScoreTable

_BETA_SQUARED = 4.0


@describes(of_corpus_bleu)
@part("BLEU over the whole task, of the counts of a `corpus_bleu` scorer.", example="name: BLEU")
def corpus_bleu(
    table: ScoreTable, *, name: OutputName = None, level: float = 0.95, seed: int = 0, resamples: int = 1000
) -> list[Summary]:
    """Corpus BLEU in [0, 1]: precisions of 1- to 4-grams over all answers, times one brevity penalty.

    It is no mean of sentence scores. Reference: Papineni et al. 2002, https://aclanthology.org/P02-1040; equal to
    sacrebleu's corpus BLEU with one reference (`nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp`) divided by 100.
    """
    return _overall(table, name or "corpus_bleu", BLEU_COUNTS, bleu_of_sums, level, seed, resamples)


@describes(of_corpus_chrf)
@part("chrF over the whole task, of the counts of a `corpus_chrf` scorer.", example="name: chrF")
def corpus_chrf(
    table: ScoreTable, *, name: OutputName = None, level: float = 0.95, seed: int = 0, resamples: int = 1000
) -> list[Summary]:
    """chrF2 in [0, 1]: F of precision and recall of 1- to 6-grams of characters, over all answers.

    Reference: Popović 2015, https://aclanthology.org/W15-3049; equal to sacrebleu's chrF2 with one reference
    (`nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no`) divided by 100.
    """
    return _overall(table, name or "corpus_chrf", CHRF_COUNTS, chrf_of_sums, level, seed, resamples)


def _overall(
    table: ScoreTable, name: str, fields: tuple[str, ...], statistic: SumStatistic, level: float, seed: int, times: int
) -> list[Summary]:
    rows = table.numbers(*fields)
    counts = np.maximum(rows.rows, 0.0)
    empty = "the expected texts are empty"
    return [
        ratio_of_sums(
            name, name, counts, statistic, empty, rows=rows, table=table, level=level, seed=seed, resamples=times
        )
    ]


def bleu_of_sums(sums: Floats) -> Floats:
    """BLEU of each row of summed counts; an order without a match counts as half, a quarter, … of one."""
    matched, ngrams = sums[:, :WORDS], sums[:, WORDS : 2 * WORDS]
    words, wanted = sums[:, -2], sums[:, -1]
    halves = np.exp2(np.cumsum(matched == 0.0, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.where(matched > 0.0, matched, 1.0 / halves) / ngrams
        brevity = np.minimum(0.0, 1.0 - wanted / words)
        value = np.exp(brevity + np.log(precisions).mean(axis=1))
    possible = (matched > 0.0).any(axis=1) & (ngrams > 0.0).all(axis=1)
    return np.where(wanted > 0.0, np.where(possible, value, 0.0), np.nan)


def chrf_of_sums(sums: Floats) -> Floats:
    """chrF2 of each row of summed counts, over the orders that both sides are long enough for."""
    orders = sums.reshape(len(sums), CHARACTERS, 3)
    answer, target, matched = orders[:, :, 0], orders[:, :, 1], orders[:, :, 2]
    counted = (answer > 0.0) & (target > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        used = counted.sum(axis=1)
        precision = np.where(counted, matched / answer, 0.0).sum(axis=1) / used
        recall = np.where(counted, matched / target, 0.0).sum(axis=1) / used
        value = (1.0 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall)
    return np.where(target[:, 0] > 0.0, np.nan_to_num(value), np.nan)
