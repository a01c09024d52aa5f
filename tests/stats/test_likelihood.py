"""Bits per byte and perplexity: sums over the whole task first, one division at the end."""

from __future__ import annotations

import math

import pytest

from assay.core.types import Summary
from assay.stats.likelihood import bits_per_byte, perplexity
from assay.stats.score_table import ScoreTable

TEXTS = [(10.0, 4, 3, 20), (2.0, 1, 1, 5), (30.0, 9, 8, 44), (7.0, 3, 2, 11)]
"""nats, tokens, words, bytes"""


def table_of(texts: list[tuple[float, int, int, int]]) -> ScoreTable:
    table = ScoreTable()
    for index, text in enumerate(texts):
        table.add(dict(zip(("nats", "tokens", "words", "bytes"), text, strict=True)), sample=index)
    return table


def test_texts_weigh_by_their_length() -> None:
    nats, tokens, words, size = (sum(column) for column in zip(*TEXTS, strict=True))
    [bits] = bits_per_byte(table_of(TEXTS), resamples=50)
    assert bits.value == pytest.approx(nats / size / math.log(2))
    for unit, count in (("token", tokens), ("word", words), ("byte", size)):
        [found] = perplexity(table_of(TEXTS), unit=unit, resamples=50)  # type: ignore[arg-type]
        assert (found.name, found.value) == (f"{unit}_perplexity", pytest.approx(math.exp(nats / count)))


def test_a_model_that_knows_nothing_about_bytes_costs_eight_bits_each() -> None:
    [found] = bits_per_byte(table_of([(math.log(256) * 7, 7, 1, 7)]), resamples=10)
    assert found.value == pytest.approx(8.0)


def test_the_interval_is_the_same_for_the_same_seed_and_holds_the_value() -> None:
    def interval(seed: int) -> Summary:
        return bits_per_byte(table_of(TEXTS * 5), seed=seed, resamples=200)[0]

    first = interval(1)
    assert (first.low, first.high) == (interval(1).low, interval(1).high)
    assert first.low is not None
    assert first.value is not None
    assert first.high is not None
    assert first.low < first.value < first.high


@pytest.mark.parametrize("texts", [[(0.0, 0, 0, 0)], []])
def test_empty_texts_have_no_number_but_a_reason(texts: list[tuple[float, int, int, int]]) -> None:
    [found] = perplexity(table_of(texts), resamples=10)
    assert found.value is None
    assert found.reason
