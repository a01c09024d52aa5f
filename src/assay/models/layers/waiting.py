"""Tells the attempt how long its requests waited, so that its duration is that of its answers and their scoring.

A request waits for a place among those in flight, for a rate limit, for the end of an outage, and for its retries.
How long depends on how many others the run sends, not on the model.
"""

from __future__ import annotations

from time import perf_counter

from assay.core.model_stack import Wrapper
from assay.core.types import Completion, Request
from assay.core.usage import open_accounts
from assay.overriding import override


class WithoutWaiting(Wrapper):
    """Counts as waiting what is left of a request's time after the time that the answer itself took."""

    @override
    async def generate(self, request: Request) -> Completion:
        sent = perf_counter()
        completion = await self.model.generate(request)
        if completion.seconds:  # 0 where a model does not report it
            answered = perf_counter()
            for account in open_accounts.get():
                # requests that overlap wait once
                account.waited += max(0.0, answered - completion.seconds - max(sent, account.answered))
                account.answered = answered
        return completion
