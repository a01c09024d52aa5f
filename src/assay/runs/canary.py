"""The canary: ten fixed prompts, asked greedily before the run, so that two runs can be held against each other.

They are short, have one natural answer or none that models agree on, and are ours: their answers say whether the same
model answers, not how good it is. Never change them: answers of other prompts cannot be compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from assay.core.errors import FailureError
from assay.core.model_stack import WithRunSettings
from assay.core.seams import Model
from assay.core.types import Request, Usage
from assay.core.usage import Account, usage_of
from assay.results.board.stretches import CanaryAnswer, canary_agreement
from assay.text.wording import count_of

MAX_TOKENS = 48
PROMPTS = (
    "Continue with the next ten words of a story: The lighthouse keeper opened the door and",
    "Write one sentence about a grey cat and a broken clock.",
    "Name five rivers, in the order they come to your mind.",
    "What is 487 times 36? Answer with the number only.",
    "List four adjectives for the taste of cold coffee.",
    "Translate into French: The train leaves at a quarter past seven from platform nine.",
    "Give a made-up name for a small town on an island, and nothing else.",
    "Write a Python function `f(n)` that returns the sum of the even digits of n.",
    "Which word does not fit: apple, hammer, pear, plum? Answer in one word.",
    "Complete the rhyme with one line: The winter sun went down at four,",
)


async def ask_canaries(model: Model) -> tuple[list[CanaryAnswer], list[Usage]]:
    """The answers to all prompts and what they used. A prompt that fails has its reason instead; nothing is raised."""
    with Account() as account:
        answers = await asyncio.gather(*(_ask(model, prompt) for prompt in PROMPTS))
    return list(answers), list(usage_of(account))


async def _ask(model: Model, prompt: str) -> CanaryAnswer:
    # never from the cache: what answers now is the question
    request = Request(prompt=prompt, temperature=0.0, max_tokens=MAX_TOKENS, fresh=True)
    try:
        completion = await WithRunSettings(model, {}).generate(request)
    except FailureError as error:
        return CanaryAnswer(prompt=prompt, failure=str(error))
    if not completion.text.strip():
        return CanaryAnswer(prompt=prompt, failure="the answer is empty")
    return CanaryAnswer(prompt=prompt, answer=completion.text)


def canary_sentence(answers: Sequence[CanaryAnswer], before: Sequence[CanaryAnswer]) -> str | None:
    """What there is to say: prompts that failed, and answers that are not those of the last stretch."""
    failed = [answer.failure for answer in answers if answer.failure is not None]
    sentences = [f"{count_of(len(failed), 'prompt')} of {len(answers)} failed ({failed[0]})"] if failed else []
    same, compared = canary_agreement(before, answers)
    if same < compared:
        sentences.append(f"{same} of {compared} answers agree with those of the earlier stretch")
    return f"canary: {'; '.join(sentences)}" if sentences else None
