"""Does a server tell the truth about likelihoods? What it writes must be as likely as it says it was.

Some servers ignore `echo`, and some give each token of a prompt the distribution behind it instead of before it:
numbers that look right and are not. Let the model write one token and ask how likely that token is in its place: both
numbers come from the same distribution, so they agree, or the server's likelihoods cannot be used.
"""

from __future__ import annotations

from collections.abc import Sequence

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
"""So many probes that agree; one that says nothing is passed over."""
TOLERANCE = 0.25
"""Quantised servers differ from themselves by less; a distribution one token off by far more."""
PROOF_OF_WRONG = ("unsupported", "bad_output", "bad_request")
"""Failures that the server would give every time."""


async def likelihood_problem(model: Model, probes: Sequence[str] = PROBES) -> str | None:
    """Why the model's likelihoods cannot be used; None when they can. Other failures (no connection, …) are raised."""
    agreed = 0
    try:
        for probe in probes:
            written = await model.generate(Request(prompt=probe, max_tokens=1, temperature=0.0, logprobs=1))
            said = _logprob(written)
            if said is None:
                continue
            told = await model.generate(Request(prompt=probe, continuation=written.text))
            if (told.raw or {}).get("continuation_tokens", 1) != 1:
                continue  # read together with the prompt it is cut into other tokens
            if told.logprob is None or abs(told.logprob - said) > TOLERANCE:
                return (
                    f"it wrote {written.text!r} after {probe!r} with a log-probability of {said:.2f}, and says "
                    f"{'nothing' if told.logprob is None else f'{told.logprob:.2f}'} when asked how likely that is: "
                    "its log-probabilities of prompts are not those of the tokens they stand beside"
                )
            agreed += 1
            if agreed == ENOUGH:
                return None
    except FailureError as error:
        if error.failure.kind not in PROOF_OF_WRONG:
            raise
        return error.failure.message
    return None if agreed else "it tells no log-probabilities of what it writes, so those of given texts are unproven"


def _logprob(written: Completion) -> float | None:
    """Of the one token that was written, where it is a text of its own."""
    entries = written.logprobs or []
    if len(entries) != 1 or not written.text or "\ufffd" in written.text:
        return None
    logprob = entries[0].get("logprob")
    return float(logprob) if isinstance(logprob, int | float) else None
