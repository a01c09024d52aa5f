"""How an lm_eval task asks: every request that it built from a document, as often as it repeats them."""

from __future__ import annotations

import asyncio
from typing import Any

from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Capabilities, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Trace

ROLLING = "loglikelihood_rolling"
LIKELIHOODS = ("loglikelihood", ROLLING)


class LmEvalRequests:
    """Asks what was built for the sample; the trace holds the answers in the order of the requests."""

    def __init__(self, *, likelihoods: bool) -> None:
        self.capabilities = Capabilities(needs_continuations=likelihoods)

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        asked = requests_of(sample)
        completions = await asyncio.gather(*(model.generate(request) for request in asked))
        for request, completion in zip(asked, completions, strict=True):
            if request.continuation is not None and completion.logprob is None:
                message = "the model answered without the log-likelihood it was asked for"
                raise FailureError(Failure(stage="model", part=model.name, kind="bad_output", message=message))
        return Trace(
            prediction=_prediction(asked, completions),
            prompt=asked[0].prompt,
            messages=asked[0].messages,
            completions=tuple(completions),
        )


def lm_eval_requests(*, likelihoods: bool, turns: bool = False, context: BuildContext = NO_CONTEXT) -> LmEvalRequests:
    """The requests of a task of lm-evaluation-harness, as its own code made them of each document.

    `likelihoods` says whether any of them asks how likely a given text is, `turns` whether they are conversations.
    """
    del context, turns
    return LmEvalRequests(likelihoods=likelihoods)


def requests_of(sample: Sample) -> list[Request]:
    """Every request, each as often as the task repeats it: repetitions are kept apart by their number."""
    extras = sample.extras
    found = []
    for each in extras["requests"]:
        for repetition in range(1, extras["repeats"] + 1):
            found.append(_request(each, extras["contexts"], repetition))
    return found


def _request(said: dict[str, Any], contexts: list[Any], repetition: int) -> Request:
    if said["type"] == ROLLING:
        return Request(prompt="", continuation=said["text"], rolling=(0, 0), attempt=repetition)
    context = contexts[said["context"]]
    asked: dict[str, Any] = {"prompt": context}
    if not isinstance(context, str):
        asked = {"messages": tuple(Message(role=turn["role"], content=turn["content"]) for turn in context)}
    if said["type"] in LIKELIHOODS:
        return Request(**asked, continuation=said["continuation"], attempt=repetition)
    settings = said["settings"]
    return Request(**asked, attempt=repetition, **{**settings, "stop": tuple(settings["stop"])})


def _prediction(asked: list[Request], completions: list[Completion]) -> str:
    """For a reader: the text that was written first, or the likeliest of the continuations."""
    written = [each.text for each, request in zip(completions, asked, strict=True) if request.continuation is None]
    if written:
        return written[0]
    scored = [(each.logprob or 0.0, place) for place, each in enumerate(completions)]
    return asked[max(scored, key=lambda each: (each[0], -each[1]))[1]].continuation or ""
