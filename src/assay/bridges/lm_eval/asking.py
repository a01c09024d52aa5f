"""The solver of an lm_eval task: sends every request that the task built from a document, with its repetitions."""

from __future__ import annotations

import asyncio
from typing import Any

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Trace
from assay.models.prompt_fit import scored_with_whitespace

ROLLING = "loglikelihood_rolling"
LIKELIHOODS = ("loglikelihood", ROLLING)


class LmEvalRequests:
    """Sends the requests built for the sample; the trace holds the answers in the order of the requests."""

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        requests = requests_of(sample)
        completions = await asyncio.gather(*(model.generate(request) for request in requests))
        for request, completion in zip(requests, completions, strict=True):
            if request.continuation is not None and completion.logprob is None:
                message = "the model answered without the log-likelihood it was asked for"
                raise FailureError(Failure(stage="model", part=model.name, kind="bad_output", message=message))
        return Trace(
            prediction=_prediction(requests, completions),
            prompt=requests[0].prompt,
            messages=requests[0].messages,
            completions=tuple(completions),
        )


@describes(lambda options, _: SolverNeeds(likelihoods=bool(options.get("likelihoods"))))
def lm_eval_requests(*, likelihoods: bool, turns: bool = False, context: BuildContext = NO_CONTEXT) -> LmEvalRequests:
    """The requests of a task of lm-evaluation-harness, as its own code built them from each document.

    `likelihoods`: some of them ask for the log-likelihood of a given text; `turns`: they are conversations.
    """
    del likelihoods, turns, context  # which its descriptions and the run read
    return LmEvalRequests()


def requests_of(sample: Sample) -> list[Request]:
    """Every request, as often as the task repeats it; the number of the repetition is its `attempt`."""
    extras = sample.extras
    return [
        _request(request, extras["contexts"], repetition)
        for request in extras["requests"]
        for repetition in range(1, extras["repeats"] + 1)
    ]


def _request(description: dict[str, Any], contexts: list[Any], repetition: int) -> Request:
    if description["type"] == ROLLING:
        return Request(prompt="", continuation=description["text"], rolling=(0, 0), attempt=repetition)
    context = contexts[description["context"]]
    # as lm_eval sends it: text unless it is a conversation, and from the left no more than the model can read
    how: dict[str, Any] = {"prompt": context, "plain": True, "too_long": "cut-left", "attempt": repetition}
    if not isinstance(context, str):
        turns = tuple(Message(role=turn["role"], content=turn["content"]) for turn in context)
        how |= {"prompt": None, "plain": False, "messages": turns}
    if description["type"] in LIKELIHOODS:
        continuation = description["continuation"]
        if isinstance(context, str):
            how["prompt"], continuation = scored_with_whitespace(context, continuation)
        return Request(**how, continuation=continuation)
    settings = description["settings"]
    return Request(**how, **{**settings, "stop": tuple(settings["stop"])})


def _prediction(requests: list[Request], completions: list[Completion]) -> str:
    """For display: the first generated text, or the likeliest of the continuations."""
    generated = [each.text for each, request in zip(completions, requests, strict=True) if request.continuation is None]
    if generated:
        return generated[0]
    scored = [(each.logprob or 0.0, place) for place, each in enumerate(completions)]
    return requests[max(scored, key=lambda each: (each[0], -each[1]))[1]].continuation or ""
