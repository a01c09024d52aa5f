"""Failures that may pass are retried, as often and as late as is allowed."""

from __future__ import annotations

import random

import pytest
from tests.core.scripted import Clock, Scripted, ask, broke

from assay.core.errors import FailureError
from assay.core.types import Completion
from assay.models.layers.retrying import Retrying


def test_retrying_asks_again_until_it_works_and_says_how_often() -> None:
    clock = Clock()
    model = Retrying(Scripted([broke(), broke("server_error"), "yes"]), sleep=clock.sleep, rng=random.Random(1))
    (completion,) = ask(model, "q")
    assert isinstance(completion, Completion)
    assert (completion.text, completion.retries) == ("yes", 2)
    assert 0 <= clock.slept[0] <= 0.5
    assert 0 <= clock.slept[1] <= 1.0


def test_retrying_waits_at_least_as_long_as_the_server_asked() -> None:
    clock = Clock()
    ask(Retrying(Scripted([broke(after=7.0), "yes"]), sleep=clock.sleep), "q")
    assert 7.0 <= clock.slept[0] <= 7.1


@pytest.mark.parametrize("after", [None, 2.0], ids=["of a back-off", "that the server asked for"])
def test_no_wait_is_longer_than_the_longest(after: float | None) -> None:
    clock = Clock()
    inner = Scripted([*(broke(after=after) for _ in range(30)), "yes"])
    ask(Retrying(inner, retries=30, longest_retry_after_seconds=2.0, sleep=clock.sleep, rng=random.Random(1)), "q")
    assert len(clock.slept) == 30
    assert max(clock.slept) <= 2.0


def test_what_cannot_be_retried_is_called_once() -> None:
    inner = Scripted([broke("auth", retryable=False)])
    (error,) = ask(Retrying(inner), "q")
    assert isinstance(error, FailureError)
    assert len(inner.asked) == 1


def test_retries_are_bounded_and_the_failure_says_how_many_there_were() -> None:
    clock = Clock()
    inner = Scripted([broke() for _ in range(9)])
    (error,) = ask(Retrying(inner, retries=3, sleep=clock.sleep), "q")
    assert isinstance(error, FailureError)
    assert error.failure.kind == "rate_limit"
    assert "after 3 retries" in error.failure.message
    assert len(inner.asked) == 4
