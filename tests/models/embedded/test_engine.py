"""The engine, on a tiny random model, against the plainest way to compute the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.embedded import tiny_llama
from tests.models.embedded.batches import PROMPTS, finish, written

from assay.models.embedded import batch as embedded_batch
from assay.models.embedded.batch import Batch, Reading, Writing
from assay.models.embedded.engine import Engine, Memory, Piece, load_weights, log_softmax


def test_logits_are_those_of_the_plain_computation(engine: Engine) -> None:
    tokens = [7, 250, 3, 3, 88, 121, 14, 9]
    hidden = engine.read([Piece(Memory(engine.shape, 20), tokens)])[0]
    np.testing.assert_allclose(engine.logits(hidden), tiny_llama.reference_logits(tokens), atol=2e-4)


def test_reading_in_pieces_next_to_others_changes_nothing(engine: Engine) -> None:
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
        assert sum(job.token_logprobs) == pytest.approx(expected, abs=1e-4)


def test_the_likeliest_token_is_written_each_time(engine: Engine) -> None:
    tokens = written(engine, slots=2)[0]
    said = list(PROMPTS[0])
    for token in tokens:
        assert token == int(np.argmax(tiny_llama.reference_logits(said)[-1]))
        said.append(token)


def test_a_long_prompt_is_read_in_chunks_with_the_same_result(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [int(n) for n in np.random.default_rng(1).integers(3, 250, 60)]
    whole = Reading(key=0, prompt=tokens, continuation=[4, 5, 6, 7])
    finish(engine, [whole], slots=1)
    monkeypatch.setattr(embedded_batch, "CHUNK_TOKENS", 7)
    monkeypatch.setattr(embedded_batch, "PASS_TOKENS", 11)
    cut = [Reading(key=n, prompt=tokens[n:], continuation=[4, 5, 6, 7]) for n in range(3)]
    finish(engine, cut, slots=4)
    assert sum(cut[0].token_logprobs) == pytest.approx(sum(whole.token_logprobs), abs=1e-4)


def test_a_seed_repeats_its_sample(engine: Engine) -> None:
    def sample(**options: Any) -> list[list[int]]:
        return written(engine, 16, temperature=1.0, **options)

    assert sample(seed=1) == sample(seed=1)
    assert sample(seed=1) != sample(seed=2)


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
        assert sum(job.token_logprobs) == pytest.approx(expected, abs=1e-4)
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
