"""Log-probabilities become confidences and likelihoods; without any there is nothing, rather than a zero."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.results.runs import Adder, number, run_into, write_sums

from assay.core.types import Completion, Request
from assay.pages.documents.more_tables import calibration_table, likelihood_table
from assay.pages.markdown import markdown
from assay.results.board.leaderboard import build_leaderboard
from assay.results.board.likelihood import (
    LikelihoodFields,
    RawCompletion,
    TokenLogprob,
    calibration_of,
    likelihood_of,
    values_of,
)
from assay.stats.score_table import ScoreTable


class Sure:
    """Right for every number that does not end in 0 or 1, and 80 % sure of everything."""

    name = "sure"

    async def generate(self, request: Request) -> Completion:
        n = number(request.text())
        text = str(n + 1) if n % 10 > 1 else "no"
        half = {"token": "x", "logprob": math.log(0.8)}
        return Completion(text=text, logprobs=[half, half])


def test_a_calibrated_model_has_no_calibration_error(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 100), Sure())
    board = build_leaderboard(tmp_path / "run")
    found = board.tasks[0].calibration
    assert found is not None
    assert found.answers == 100
    assert found.expected_error.value == pytest.approx(0.0, abs=1e-9)
    assert found.brier.value == pytest.approx(0.8 * 0.04 + 0.2 * 0.64)
    assert found.brier.low is not None
    assert found.expected_error.high is not None
    filled = [each for each in found.bins if each.count]
    assert [(each.count, each.accuracy) for each in filled] == [(100, pytest.approx(0.8))]
    assert found.expected_error.low == 0.0
    assert found.expected_error.details is not None
    assert 0.02 < found.expected_error.details["if_calibrated"] < 0.05
    assert found.expected_error.details["p_value"] == 1.0
    assert "(p = 1)" in (markdown(calibration_table(board)) or "")


def test_likelihoods_are_per_token_and_per_byte(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 10), Sure())
    board = build_leaderboard(tmp_path / "run")
    found = board.tasks[0].likelihood
    assert found is not None
    assert (found.texts, found.tokens) == (10, 20)
    assert found.perplexity is not None
    assert found.perplexity.value == pytest.approx(1 / 0.8)
    assert found.bits_per_byte.value == pytest.approx(-20 * math.log2(0.8) / found.bytes)
    assert "| sums" in (markdown(likelihood_table(board)) or "")


def test_without_log_probabilities_there_is_nothing(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 5), Adder())
    row = build_leaderboard(tmp_path / "run").tasks[0]
    assert (row.calibration, row.likelihood) == (None, None)


def test_the_share_of_the_chosen_continuation_is_its_confidence() -> None:
    choices = [LikelihoodFields(text="A", logprob=math.log(0.2)), LikelihoodFields(text="B", logprob=math.log(0.6))]
    assert values_of(choices, "B", None, 1.0)["confidence"] == pytest.approx(0.75)
    assert values_of(choices, "C", None, 1.0) == {}


def test_a_scored_text_has_a_likelihood_but_no_confidence() -> None:
    found = values_of([LikelihoodFields(text="ab", logprob=-3.0)], "ab", None, None)
    assert found == {"log_likelihood": -3.0, "bytes": 2.0}


def test_a_scored_text_has_as_many_tokens_as_the_model_told() -> None:
    told = LikelihoodFields(text="ab", logprob=-3.0, raw=RawCompletion(continuation_tokens=2))
    assert values_of([told], "ab", None, None)["tokens"] == 2.0
    table = ScoreTable()
    table.add(values_of([told], "ab", None, None), sample=0)
    found = likelihood_of(table, 0.95)
    assert found is not None
    assert found.perplexity is not None
    assert found.perplexity.value == pytest.approx(math.exp(1.5))


def test_intervals_of_few_answers_stay_within_what_is_possible() -> None:
    table = ScoreTable()
    for sample, (right, log) in enumerate(((1.0, -0.01), (0.0, -9.0))):
        said = [LikelihoodFields(text="abc", logprobs=[TokenLogprob(logprob=log)])]
        table.add(values_of(said, "abc", None, right), sample=sample)
    calibration, likelihood = calibration_of(table, 0.95), likelihood_of(table, 0.95)
    assert calibration is not None
    assert likelihood is not None
    assert likelihood.perplexity is not None
    assert calibration.brier.low is not None
    assert calibration.brier.low >= 0.0
    assert likelihood.bits_per_byte.low == 0.0
    assert likelihood.perplexity.low == 1.0


def test_a_scorers_confidence_comes_first_and_graded_scores_have_no_calibration() -> None:
    said = [LikelihoodFields(text="x", logprobs=[TokenLogprob(logprob=-1.0)])]
    assert values_of(said, "x", 0.0, 1.0)["confidence"] == 0.0
    assert "confidence" not in values_of(said, "x", 0.5, 0.3)
    assert "confidence" not in values_of(said, "x", 7.0, 1.0)


def test_the_interval_of_bits_per_byte_covers_what_it_says() -> None:
    random = np.random.default_rng(6)
    covered = 0
    for _ in range(2000):
        table = ScoreTable()
        sizes = random.integers(5, 50, 60)
        logs = -sizes * 0.7 + random.normal(0, 3, 60)
        for sample, (size, log) in enumerate(zip(sizes, logs, strict=True)):
            table.add({"log_likelihood": float(log), "bytes": float(size)}, sample=sample)
        found = likelihood_of(table, 0.95)
        assert found is not None
        low, high = found.bits_per_byte.low, found.bits_per_byte.high
        assert low is not None
        assert high is not None
        covered += low <= 0.7 / math.log(2.0) <= high
    assert 0.93 <= covered / 2000 <= 0.97
