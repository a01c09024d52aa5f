"""The engine, on a tiny random model, against the plainest way to compute the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models import tiny_llama

from assay.models import embedded_batch
from assay.models.embedded_batch import Batch, Job, Reading, Writing
from assay.models.embedded_engine import Engine, Memory, Piece, load_weights, log_softmax

PROMPTS = [[5, 9, 17], [200], [40, 41, 42, 43, 44, 45, 46], [5, 9, 17, 18], [99, 3, 99, 3]]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(load_weights(tiny_llama.write_folder(tmp_path_factory.mktemp("tiny"))))


def finish(engine: Engine, jobs: Iterable[Job], slots: int) -> None:
    batch = Batch(engine, slots)
    for job in jobs:
        batch.add(job)
    finished: list[Job] = []
    while batch.busy:
        finished += batch.step()
    assert len(finished) == len(set(map(id, finished)))


def written(engine: Engine, slots: int, **options: Any) -> list[list[int]]:
    jobs = [Writing(key=n, prompt=prompt, most_tokens=6 + n, **options) for n, prompt in enumerate(PROMPTS)]
    finish(engine, jobs, slots)
    return [job.tokens for job in jobs]


def test_logits_are_those_of_the_plain_computation(engine: Engine) -> None:
    tokens = [7, 250, 3, 3, 88, 121, 14, 9]
    hidden = engine.read([Piece(Memory(engine.shape, 20), tokens)])[0]
    np.testing.assert_allclose(engine.logits(hidden), tiny_llama.reference_logits(tokens), atol=2e-4)


def test_reading_in_pieces_beside_others_changes_nothing(engine: Engine) -> None:
    first, second = Memory(engine.shape, 20), Memory(engine.shape, 20)
    engine.read([Piece(first, [7, 250, 3]), Piece(second, [1])])
    hidden = engine.read([Piece(second, [2, 9, 9, 4]), Piece(first, [3, 88])])[1]
    np.testing.assert_allclose(engine.logits(hidden), tiny_llama.reference_logits([7, 250, 3, 3, 88])[3:], atol=2e-4)


def test_a_continuation_has_the_likelihood_of_the_plain_computation(engine: Engine) -> None:
    jobs = [Reading(key=n, prompt=prompt, continuation=[8, 1, 30][: 1 + n % 3]) for n, prompt in enumerate(PROMPTS)]
    finish(engine, jobs, slots=3)
    for job in jobs:
        scores = log_softmax(tiny_llama.reference_logits([*job.prompt, *job.continuation]))
        places = range(len(job.prompt) - 1, len(job.prompt) + len(job.continuation) - 1)
        expected = sum(scores[place, token] for place, token in zip(places, job.continuation, strict=True))
        assert job.logprob == pytest.approx(expected, abs=1e-4)


def test_the_likeliest_token_is_written_each_time(engine: Engine) -> None:
    tokens = written(engine, slots=2)[0]
    said = list(PROMPTS[0])
    for token in tokens:
        assert token == int(np.argmax(tiny_llama.reference_logits(said)[-1]))
        said.append(token)


@pytest.mark.parametrize("options", [{}, {"temperature": 0.9, "seed": 4}, {"temperature": 1.5, "top_p": 0.7}])
def test_answers_are_equal_at_every_batch_size(engine: Engine, options: dict[str, Any]) -> None:
    alone = written(engine, slots=1, **options)
    assert all(written(engine, slots=slots, **options) == alone for slots in (2, 3, 16))


def test_likelihoods_are_equal_at_every_batch_size(engine: Engine) -> None:
    def all_of(slots: int) -> list[float]:
        jobs = [Reading(key=n, prompt=PROMPTS[n % 5], continuation=[n + 1, n]) for n in range(20)]
        finish(engine, jobs, slots)
        return [job.logprob for job in jobs if job.logprob is not None]

    np.testing.assert_allclose(all_of(16), all_of(1), atol=1e-4)


def test_a_long_prompt_is_read_in_chunks_with_the_same_result(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [int(n) for n in np.random.default_rng(1).integers(3, 250, 60)]
    whole = Reading(key=0, prompt=tokens, continuation=[4, 5, 6, 7])
    finish(engine, [whole], slots=1)
    monkeypatch.setattr(embedded_batch, "CHUNK_TOKENS", 7)
    monkeypatch.setattr(embedded_batch, "PASS_TOKENS", 11)
    cut = [Reading(key=n, prompt=tokens[n:], continuation=[4, 5, 6, 7]) for n in range(3)]
    finish(engine, cut, slots=4)
    assert cut[0].logprob == pytest.approx(whole.logprob, abs=1e-4)


def test_a_seed_repeats_its_sample_and_an_attempt_has_its_own(engine: Engine) -> None:
    def sample(**options: Any) -> list[list[int]]:
        return written(engine, 16, temperature=1.0, **options)

    assert sample(seed=1) == sample(seed=1)
    assert sample(seed=1) != sample(seed=2)
    assert sample(seed=1) != sample(seed=1, attempt=2)


def test_samples_follow_the_shares(engine: Engine) -> None:
    jobs = [
        Writing(key=n, prompt=[5, 9, 17], most_tokens=1, temperature=1.0, seed=n, alternatives=1) for n in range(400)
    ]
    finish(engine, jobs, slots=64)
    shares = np.exp(log_softmax(tiny_llama.reference_logits([5, 9, 17])[-1]))
    likeliest = int(np.argmax(shares))
    observed = np.mean([job.tokens[0] == likeliest for job in jobs])
    spread = (shares[likeliest] * (1 - shares[likeliest]) / 400) ** 0.5
    assert abs(observed - shares[likeliest]) < 4 * spread
    assert jobs[0].logprobs[0][1][0][0] == likeliest


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
    np.testing.assert_allclose([job.logprob for job in company], [job.logprob for job in alone], atol=1e-4)


def test_weights_are_mapped_and_not_copied(tmp_path: Path) -> None:
    weights = load_weights(tiny_llama.write_folder(tmp_path))
    assert isinstance(weights.embedding.base, np.ndarray)
    assert not weights.embedding.flags.writeable


class Counting(Engine):
    """Counts the tokens that go through the layers."""

    tokens = 0

    def read(self, pieces: Any) -> Any:
        self.tokens += sum(len(piece.tokens) for piece in pieces)
        return super().read(pieces)


BEGINNING = [int(n) for n in np.random.default_rng(2).integers(3, 250, 40)]


@pytest.mark.parametrize("slots", [1, 16])
def test_prompts_that_begin_alike_are_read_from_where_they_part(engine: Engine, slots: int) -> None:
    counting = Counting(engine.weights)
    readings = [Reading(key=n, prompt=[*BEGINNING, n, n + 1], continuation=[8, n]) for n in range(5)]
    writings = [Writing(key=n, prompt=[*BEGINNING, n, n + 2], most_tokens=2) for n in range(5)]
    finish(counting, [*readings, *writings], slots)
    each_time = len(BEGINNING) + 2 + 1
    assert counting.tokens < 2 * each_time + 8 * 4  # read whole: 10 times
    for job in readings:
        scores = log_softmax(tiny_llama.reference_logits([*job.prompt, *job.continuation]))
        expected = sum(scores[len(job.prompt) - 1 + n, token] for n, token in enumerate(job.continuation))
        assert job.logprob == pytest.approx(expected, abs=1e-4)
    for writing in writings:
        said = [*writing.prompt, *writing.tokens]
        likeliest = np.argmax(tiny_llama.reference_logits(said), axis=-1)
        assert writing.tokens == [int(token) for token in likeliest[len(writing.prompt) - 1 : -1]]


def test_what_a_writer_added_is_no_part_of_the_prompt_for_others(engine: Engine) -> None:
    first = Writing(key=0, prompt=BEGINNING, most_tokens=8)
    same = Writing(key=1, prompt=BEGINNING, most_tokens=8)
    longer = Writing(key=2, prompt=[*BEGINNING, 7], most_tokens=8)
    batch = Batch(engine, 16)
    batch.add(first)
    batch.step()
    batch.step()
    batch.add(same)
    batch.add(longer)
    while batch.busy:
        batch.step()
    assert first.tokens == same.tokens
    alone = Writing(key=3, prompt=[*BEGINNING, 7], most_tokens=8)
    finish(engine, [alone], 1)
    assert longer.tokens == alone.tokens


def test_only_so_much_is_remembered(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_batch, "REMEMBERED_TOKENS", 50)
    batch = Batch(engine, 2)
    for n in range(6):
        batch.add(Reading(key=n, prompt=[n, *BEGINNING], continuation=[1]))
    while batch.busy:
        batch.step()
    assert sum(map(len, batch._remembered)) <= 50
