"""Are a server's likelihoods correct? What it writes must be as likely as it reports.

Some servers ignore `echo`, and some give each token of a prompt the distribution behind it instead of before it:
numbers that look right and are not. Let the model write one token and ask how likely that token is in its place: both
numbers come from the same distribution, so they agree, or the server's likelihoods cannot be used.
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
"""So many probes that agree; one that says nothing is passed over."""
TOLERANCE = 0.25
"""Quantised servers differ from themselves by less; a distribution one token off by far more."""
PROOF_OF_WRONG = ("unsupported", "bad_output", "bad_request")
"""Failures that the server would give every time."""


async def likelihood_problem(model: Model) -> str | None:
    """Why the model's likelihoods cannot be used; None when they can. Other failures (no connection, …) are raised."""
    agreed = 0
    try:
        for probe in PROBES:
            written = await model.generate(Request(prompt=probe, max_tokens=1, temperature=0.0, logprobs=1))
            said = _logprob(written)
            if said is None:
                continue
            given = await model.generate(Request(prompt=probe, continuation=written.text))
            if (given.raw or {}).get("continuation_tokens", 1) != 1:
                continue  # read together with the prompt it is cut into other tokens
            if given.logprob is None or abs(given.logprob - said) > TOLERANCE:
                return (
                    f"it wrote {written.text!r} after {probe!r} with a log-probability of {said:.2f}, and says "
                    f"{'nothing' if given.logprob is None else f'{given.logprob:.2f}'} when asked how likely that is: "
                    "its log-probabilities of prompts are not those of the tokens they stand beside"
                )
            agreed += 1
            if agreed == ENOUGH:
                return None
    except FailureError as error:
        if error.failure.kind not in PROOF_OF_WRONG:
            raise
        return error.failure.message
    return (
        None
        if agreed
        else "it returns no log-probabilities of what it writes, so those of given texts cannot be verified"
    )


def _logprob(written: Completion) -> float | None:
    """Of the one token that was written, where it is a text of its own."""
    entries = written.logprobs or []
    if len(entries) != 1 or not written.text or "\ufffd" in written.text:
        return None
    logprob = entries[0].get("logprob")
    return float(logprob) if isinstance(logprob, int | float) else None
