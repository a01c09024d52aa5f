"""An answer from the cache is the answer to the same draw."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.core.scripted import Scripted, broke

from assay.core.draws import Draws
from assay.core.errors import FailureError
from assay.core.model_stack import WithRunSettings
from assay.core.types import Completion, Request, Sample
from assay.models.completion_cache import CompletionCache
from assay.models.layers.cached import Cached

GREEDY = Request(prompt="q", temperature=0.0)
SAMPLED = Request(prompt="q", temperature=1.0)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CompletionCache]:
    opened = CompletionCache(tmp_path / "cache.sqlite", b"secret")
    yield opened
    opened.close()


class Attempts:
    """Attempts with a model that gives another answer each time."""

    def __init__(self, cache: CompletionCache) -> None:
        self._inner = Scripted([str(number) for number in range(1, 100)])
        self._model = Cached(self._inner, cache, "id")

    def answers(self, *requests: Request, sample: str = "a", repetition: int = 1) -> list[str]:
        return asyncio.run(self._answers(requests, sample, repetition))

    async def _answers(self, requests: tuple[Request, ...], sample: str, repetition: int) -> list[str]:
        with Draws("t", Sample(id=sample), repetition):
            model = WithRunSettings(self._model, {})
            return [(await model.generate(request)).text for request in requests]


def test_answers_are_cached_but_never_failures(cache: CompletionCache) -> None:
    inner = Scripted([broke(), "yes"])
    model = Cached(inner, cache, "id")

    async def go() -> list[Completion]:
        with pytest.raises(FailureError):
            await model.generate(GREEDY)
        return [await model.generate(GREEDY) for _ in range(2)]

    first, second = asyncio.run(go())
    assert (first.text, first.cached) == ("yes", False)
    assert (second.text, second.cached) == ("yes", True)
    assert len(inner.asked) == 2


def test_equal_sampled_requests_of_an_attempt_get_an_answer_each(cache: CompletionCache) -> None:
    attempts = Attempts(cache)
    assert attempts.answers(SAMPLED, SAMPLED, SAMPLED) == ["1", "2", "3"]


def test_another_sample_and_another_repetition_are_other_draws(cache: CompletionCache) -> None:
    attempts = Attempts(cache)
    assert attempts.answers(SAMPLED) == ["1"]
    assert attempts.answers(SAMPLED, sample="b") == ["2"]
    assert attempts.answers(SAMPLED, repetition=2) == ["3"]


def test_a_number_of_the_solver_s_own_is_combined_with_the_repetition(cache: CompletionCache) -> None:
    attempts, own = Attempts(cache), [Request(prompt="q", temperature=1.0, attempt=n) for n in (1, 2, 3)]
    answers = [attempts.answers(*own, repetition=repetition) for repetition in (1, 2, 3)]
    assert answers == [["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]]


def test_an_attempt_that_is_made_again_finds_its_draws(cache: CompletionCache) -> None:
    attempts = Attempts(cache)
    assert attempts.answers(SAMPLED, SAMPLED) == ["1", "2"]
    assert attempts.answers(SAMPLED, SAMPLED, SAMPLED) == ["1", "2", "3"]


def test_a_greedy_request_has_one_answer_for_all_samples_and_another_for_each_repetition(
    cache: CompletionCache,
) -> None:
    attempts = Attempts(cache)
    assert attempts.answers(GREEDY, GREEDY) == ["1", "1"]
    assert attempts.answers(GREEDY, sample="b") == ["1"]
    assert attempts.answers(GREEDY, repetition=2) == ["2"]


def test_a_sampled_request_outside_an_attempt_is_not_cached(cache: CompletionCache) -> None:
    model = Cached(Scripted(["1", "2"]), cache, "id")

    async def go() -> list[str]:
        return [(await model.generate(SAMPLED)).text for _ in range(2)]

    assert asyncio.run(go()) == ["1", "2"]
