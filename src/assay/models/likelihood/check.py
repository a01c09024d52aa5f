"""Checks whether a server's likelihoods are correct.

Some servers ignore `echo`, and some give each token of a prompt the distribution after it instead of the one before it:
numbers that look right and are not. So the model generates one token, and then scores that token as a continuation:
both numbers come from the same distribution, so they agree, or the server's likelihoods cannot be used.
"""

from __future__ import annotations

from assay.core.errors import FailureError
from assay.core.seams import Model
from assay.core.types import Completion, Request

PROBES = (
    "The capital of France is",
    "Monday, Tuesday, Wednesday,",
    "One, two, three, four, five,",
    "The opposite of hot is",
)
ENOUGH = 2
"""How many probes must agree; an inconclusive one is skipped."""
TOLERANCE = 0.25
"""Quantised servers differ from themselves by less; a distribution that is one token off differs by far more."""
PERMANENT_FAILURES = ("unsupported", "bad_output", "bad_request")
"""Failures that the server would repeat."""


async def likelihood_problem(model: Model) -> str | None:
    """Why the model's likelihoods cannot be used; None when they can. Other failures (no connection, …) are raised."""
    agreed = 0
    try:
        for probe in PROBES:
            generated = await model.generate(Request(prompt=probe, max_tokens=1, temperature=0.0, logprobs=1))
            expected = _logprob(generated)
            if expected is None:
                continue
            scored = await model.generate(Request(prompt=probe, continuation=generated.text))
            if (scored.raw or {}).get("continuation_tokens", 1) != 1:
                continue  # after the prompt, the text is split into other tokens
            if scored.logprob is None or abs(scored.logprob - expected) > TOLERANCE:
                return (
                    f"it generated {generated.text!r} after {probe!r} with a log-probability of {expected:.2f}, but "
                    f"scored the same continuation with {'none' if scored.logprob is None else f'{scored.logprob:.2f}'}"
                    ": it assigns the log-probabilities of a prompt to the wrong tokens"
                )
            agreed += 1
            if agreed == ENOUGH:
                return None
    except FailureError as error:
        if error.failure.kind not in PERMANENT_FAILURES:
            raise
        return error.failure.message
    if agreed:
        return None
    return "it returns no log-probabilities of the text it generates, so those of given texts cannot be verified"


def _logprob(generated: Completion) -> float | None:
    """The log-probability of the one token that was generated, where it is whole characters."""
    entries = generated.logprobs or []
    if len(entries) != 1 or not generated.text or "\ufffd" in generated.text:
        return None
    logprob = entries[0].get("logprob")
    return float(logprob) if isinstance(logprob, int | float) else None
