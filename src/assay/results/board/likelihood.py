"""What log-probabilities show: how well a model's confidence is calibrated, and how well it predicts text.

The confidence of an answer is the value `confidence` that a scorer gave, else the geometric mean of its tokens'
probabilities (for an answer of one token, that token's probability), else, where the model scored several choices,
the chosen one's share of their likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.core.types import Summary
from assay.results.board.board_types import Calibration, Likelihood
from assay.stats.aggregates import mean
from assay.stats.calibration import (
    bits_per_byte,
    calibration_test,
    expected_calibration_error,
    reliability_bins,
    word_perplexity,
)
from assay.stats.cells import groups_of
from assay.stats.intervals import Codes, Floats, Interval, clustered_mean_interval, mean_interval
from assay.stats.score_table import Numbers, ScoreTable

BINS = 10
LARGEST = 700.0
"""A perplexity of more than e to this power overflows."""


class TokenLogprob(Struct):
    logprob: float | None = None


class RawCompletion(Struct):
    continuation_tokens: Any = None
    model: Any = None
    system_fingerprint: Any = None


class LikelihoodFields(Struct):
    """As much of a completion as likelihoods need."""

    text: str = ""
    logprobs: list[TokenLogprob] | None = None
    logprob: float | None = None
    raw: RawCompletion | None = None


def values_of(
    completions: Sequence[LikelihoodFields], prediction: str, stated: float | None, right: float | None
) -> dict[str, float]:
    """The columns of one attempt; empty without log-probabilities in its completions or a stated confidence."""
    values: dict[str, float] = {}
    scored = [completion for completion in completions if completion.logprob is not None]
    written = [completion for completion in completions if completion.logprobs]
    confidence = stated
    if written:
        logs = [token.logprob for token in written[-1].logprobs or () if token.logprob is not None]
        if logs:
            total = math.fsum(logs)
            values.update(log_likelihood=total, tokens=float(len(logs)), bytes=_bytes(written[-1].text))
            confidence = math.exp(total / len(logs)) if confidence is None else confidence
    elif len(scored) == 1 and scored[0].logprob is not None:
        values.update(log_likelihood=scored[0].logprob, bytes=_bytes(scored[0].text))
        if scored[0].raw is not None and isinstance(count := scored[0].raw.continuation_tokens, int):
            values["tokens"] = float(count)
    elif scored and confidence is None:
        confidence = _share_of_choices(scored, prediction)
    if confidence is not None and right in (0.0, 1.0) and -1e-9 <= confidence <= 1.0 + 1e-9:
        confidence = min(max(confidence, 0.0), 1.0)
        values.update(confidence=confidence, right=float(right), squared_error=(confidence - float(right)) ** 2)
    return values


def calibration_of(table: ScoreTable, level: float) -> Calibration | None:
    """Expected calibration error, Brier score and the bars of the reliability diagram; None without confidences."""
    numbers = table.numbers("confidence", "right")
    if not len(numbers):
        return None
    stated, right = numbers.rows.T
    [brier] = mean(table, field="squared_error", name="brier", bounds=(0.0, 1.0), level=level)
    return Calibration(
        answers=len(numbers),
        confidence="scorer's value `confidence`, else geometric mean of token probabilities",
        expected_error=_ece(stated, right, groups_of(numbers), level),
        brier=brier,
        bins=reliability_bins(stated, right, bins=BINS),
    )


def likelihood_of(table: ScoreTable, level: float) -> Likelihood | None:
    """Perplexity per token and bits per byte of the text that the model scored or wrote; None without any."""
    sized = table.numbers("log_likelihood", "bytes")
    if not len(sized) or sized.rows[:, 1].sum() <= 0:
        return None
    tokenised = table.numbers("log_likelihood", "tokens")
    nats = _ratio_interval(sized, level)
    return Likelihood(
        texts=len(sized),
        tokens=int(tokenised.rows[:, 1].sum()) if len(tokenised) else None,
        bytes=int(sized.rows[:, 1].sum()),
        bits_per_byte=_summary(
            "bits_per_byte", bits_per_byte(*sized.rows.T), _mapped(nats, lambda value: value / math.log(2.0))
        ),
        perplexity=_perplexity(tokenised, level) if len(tokenised) else None,
    )


def _perplexity(numbers: Numbers, level: float) -> Summary | None:
    try:
        # per token rather than per word: the formula is the same
        value = word_perplexity(*numbers.rows.T)
    except ValueError:
        return None
    interval = _ratio_interval(numbers, level)
    return _summary("perplexity", value, _mapped(interval, lambda nats: math.exp(min(nats, LARGEST))))


def _ratio_interval(numbers: Numbers, level: float) -> Interval:
    """Interval of −Σ log-likelihood / Σ size: a ratio of means, linearised, cluster-robust where texts have groups.

    No text is more likely than certain, so it does not reach below 0.
    """
    logs, sizes = numbers.rows.T
    ratio = -float(logs.sum() / sizes.sum())
    linear = ratio + (-logs - ratio * sizes) / float(sizes.mean())
    groups = groups_of(numbers)
    interval = mean_interval(linear, level) if groups is None else clustered_mean_interval(linear, groups, level)
    return replace(interval.clipped(0.0, math.inf), method=f"ratio-{interval.method}")


def _mapped(interval: Interval, change: Callable[[float], float]) -> Interval:
    if interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=change(interval.low), high=change(interval.high), standard_error=None)


def _ece(stated: Floats, right: Floats, groups: Codes | None, level: float) -> Summary:
    """The error with its interval, and the error of a calibrated model with these confidences."""
    test = calibration_test(stated, right, groups=groups, bins=BINS, level=level)
    summary = _summary("ece", expected_calibration_error(stated, right, bins=BINS), test.interval)
    return replace(summary, details={"if_calibrated": test.if_calibrated, "p_value": test.p_value})


def _summary(name: str, value: float, interval: Interval) -> Summary:
    return Summary(
        name=name,
        value=value,
        low=interval.low,
        high=interval.high,
        signature=interval.signature(name if name != "ece" else f"ece-{BINS}-equal-width"),
        details={"no_interval": interval.reason} if interval.reason else None,
    )


def _share_of_choices(scored: Sequence[LikelihoodFields], prediction: str) -> float | None:
    logs: dict[str, float] = {}
    for completion in scored:
        if completion.logprob is not None:
            # the same choice may have been scored again without its question; the first is the answer
            logs.setdefault(completion.text.strip(), completion.logprob)
    chosen = logs.get(prediction.strip())
    if chosen is None or len(logs) < 2:
        return None
    top = max(logs.values())
    return math.exp(chosen - top) / math.fsum(math.exp(log - top) for log in logs.values())


def _bytes(text: str) -> float:
    return float(len(text.encode("utf-8", "surrogatepass")))
