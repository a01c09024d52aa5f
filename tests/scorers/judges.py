"""A scripted judge, and what it makes of an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.scripted import Context, Scripted

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Message, Sample, Score, Trace
from assay.scorers.judging.labeler import Labeler

TRACE = Trace(
    prediction="Rome",
    messages=(Message(role="user", content="Capital?"), Message(role="assistant", content="Rome")),
    completions=(Completion(text="Rome", tokens_in=5, tokens_out=1),),
)


PROMPTS: dict[str, Any] = {
    "model_key": "j",
    "system_prompt": "Judge.",
    "user_prompt": "{{ sample.gt }}: {{ model_output }}",
}


def labeler(model: Scripted, **options: Any) -> Any:
    return Labeler("l", **{**PROMPTS, **options}, context=Context({"j": model}))


def judge(scorer: Any) -> Score:
    score: Score = asyncio.run(scorer(Sample(id="1", row={"gt": "Paris"}), TRACE))
    return score


def refused(scorer: Any) -> Failure:
    with pytest.raises(FailureError) as caught:
        judge(scorer)
    return caught.value.failure
