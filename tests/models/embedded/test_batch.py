"""Jobs in a batch: company, order, size and memory change no answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models.embedded.batches import PROMPTS, finish, written

from assay.models.embedded import batch as embedded_batch
from assay.models.embedded.batch import Embedding, Reading, Writing
from assay.models.embedded.engine import Engine, Memory, Piece


@pytest.mark.parametrize("options", [{}, {"temperature": 0.9, "seed": 4}, {"temperature": 1.5, "top_p": 0.7}])
def test_answers_are_equal_at_every_batch_size(engine: Engine, options: dict[str, Any]) -> None:
    alone = written(engine, slots=1, **options)
    assert all(written(engine, slots=slots, **options) == alone for slots in (2, 3, 16))


def test_likelihoods_are_equal_at_every_batch_size(engine: Engine) -> None:
    def all_of(slots: int) -> list[float]:
        jobs = [Reading(key=n, prompt=PROMPTS[n % 5], continuation=[n + 1, n]) for n in range(20)]
        finish(engine, jobs, slots)
        return [sum(job.token_logprobs) for job in jobs]

    np.testing.assert_allclose(all_of(16), all_of(1), atol=1e-4)


def test_an_embedding_is_the_mean_of_the_states_whatever_the_company(engine: Engine) -> None:
    def all_of(slots: int) -> list[list[float]]:
        jobs = [Embedding(key=n, prompt=PROMPTS[n % 5]) for n in range(10)]
        finish(engine, [*jobs, Writing(key=99, prompt=PROMPTS[0], most_tokens=3)], slots)
        return [job.vector for job in jobs if job.vector is not None]

    alone = all_of(1)
    np.testing.assert_allclose(all_of(16), alone, atol=1e-4)
    states = engine.read([Piece(Memory(engine.shape, len(PROMPTS[0])), PROMPTS[0])])[0]
    np.testing.assert_allclose(alone[0], states.mean(axis=0), atol=1e-5)


def test_a_continuation_is_greedy_if_it_is_what_the_model_would_write(engine: Engine) -> None:
    said = written(engine, slots=1)[0]
    own, other = (
        Reading(key=0, prompt=PROMPTS[0], continuation=[*said[:-1], last]) for last in (said[-1], said[-1] + 1)
    )
    finish(engine, [own, other], slots=2)
    assert (own.is_greedy, other.is_greedy) == (True, False)


def test_a_text_ends_at_an_end_token_at_its_length_or_when_there_is_enough(engine: Engine) -> None:
    first = written(engine, slots=1)[0]
    ended = Writing(key=0, prompt=PROMPTS[0], most_tokens=6, ends=frozenset({first[2]}))
    enough = Writing(key=1, prompt=PROMPTS[0], most_tokens=6, enough=lambda tokens: len(tokens) == 2)
    full = Writing(key=2, prompt=PROMPTS[0], most_tokens=6)
    finish(engine, [ended, enough, full], slots=2)
    assert (ended.tokens, ended.finish_reason) == (first[: first.index(first[2])], "stop")
    assert (enough.tokens, enough.finish_reason) == (first[:2], "stop")
    assert (full.tokens, full.finish_reason) == (first, "length")


def test_jobs_that_need_much_memory_wait_for_their_turn(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_batch, "KEPT_TOKENS", 12)
    assert written(engine, slots=16) == written(engine, slots=1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    jobs=st.lists(
        st.tuples(st.lists(st.integers(0, 261), min_size=1, max_size=9), st.lists(st.integers(0, 261), min_size=1)),
        min_size=1,
        max_size=6,
    ),
    slots=st.integers(1, 5),
)
def test_any_company_gives_the_same_likelihood(
    engine: Engine, jobs: list[tuple[list[int], list[int]]], slots: int
) -> None:
    company = [Reading(key=n, prompt=prompt, continuation=rest[:9]) for n, (prompt, rest) in enumerate(jobs)]
    alone = [Reading(key=n, prompt=prompt, continuation=rest[:9]) for n, (prompt, rest) in enumerate(jobs)]
    finish(engine, company, slots)
    for job in alone:
        finish(engine, [job], 1)
    scores, alone_scores = ([sum(job.token_logprobs) for job in jobs] for jobs in (company, alone))
    np.testing.assert_allclose(scores, alone_scores, atol=1e-4)
