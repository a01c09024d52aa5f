"""What an lm_eval task asks: requests as they were built, repetitions apart."""

from __future__ import annotations

import asyncio

import pytest

from assay.bridges.lm_eval.asking import lm_eval_requests, requests_of
from assay.catalog import describe
from assay.core.describe import SolverNeeds
from assay.core.errors import FailureError
from assay.core.types import Completion, Request, Sample


def sample(*requests: dict[str, object], repeats: int = 1) -> Sample:
    contexts = ["Q:", [{"role": "user", "content": "Q"}]]
    return Sample(id="0", row={}, extras={"contexts": contexts, "requests": list(requests), "repeats": repeats})


class Scripted:
    name = "scripted"

    def __init__(self, *answers: Completion) -> None:
        self._answers = iter(answers)

    async def generate(self, request: Request) -> Completion:
        return next(self._answers)


def test_each_type_of_request_is_sent_as_lm_eval_means_it() -> None:
    settings = {"max_tokens": 5, "temperature": 0.0, "stop": ["\n"]}
    likely, whole, written = requests_of(
        sample(
            {"type": "loglikelihood", "context": 1, "continuation": " a"},
            {"type": "loglikelihood_rolling", "text": "all of it"},
            {"type": "generate_until", "context": 0, "settings": settings},
        )
    )
    assert (likely.messages and likely.messages[0].content, likely.continuation) == ("Q", " a")
    assert (whole.prompt, whole.continuation, whole.rolling) == ("", "all of it", (0, 0))
    assert (written.prompt, written.max_tokens, written.stop) == ("Q:", 5, ("\n",))
    assert [each.plain for each in (likely, written)] == [False, True]
    assert [each.too_long for each in (likely, written)] == ["cut-left", "cut-left"]


def test_repetitions_are_requests_of_their_own() -> None:
    settings = {"max_tokens": 5, "temperature": 1.0, "stop": []}
    asked = requests_of(sample({"type": "generate_until", "context": 0, "settings": settings}, repeats=3))
    assert [each.attempt for each in asked] == [1, 2, 3]


def test_the_likeliest_continuation_is_shown_and_a_missing_likelihood_fails() -> None:
    solver = lm_eval_requests(likelihoods=True)
    assert describe("solver", "lm_eval", {"likelihoods": True}) == SolverNeeds(likelihoods=True)
    choices = sample(*({"type": "loglikelihood", "context": 0, "continuation": text} for text in (" a", " b")))
    told = (Completion(text="", logprob=-2.0), Completion(text="", logprob=-1.0))
    assert asyncio.run(solver(choices, Scripted(*told))).prediction == " b"
    with pytest.raises(FailureError, match="log-likelihood"):
        asyncio.run(solver(choices, Scripted(told[0], Completion(text=""))))
