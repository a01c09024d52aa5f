"""Assertions that a service of the author's decides: promptfoo's `webhook`, with its payload and its answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.scorers.assertions.graded_assertions import Graded
from assay.transport.client import HttpClient

TIMEOUT_SECONDS = 5.0


class Webhooks:
    """Calls the addresses that the task lists, and no others."""

    def __init__(self, part: str, addresses: Collection[str]) -> None:
        self._part = part
        self._addresses = addresses
        self._client = HttpClient(part=part)

    async def check(self, url: str, output: Any, prompt: str, variables: Mapping[str, Any]) -> Graded:
        """Its verdict. An answer that is none is a failure, never a zero."""
        if url not in self._addresses:
            raise self._failure("untrusted", f"this task does not say that it connects to {url}")
        body = msgspec.json.encode({"output": output, "context": {"prompt": prompt, "vars": variables}})
        try:
            answer = await self._client.post_json(url, body, {"Content-Type": "application/json"}, TIMEOUT_SECONDS)
        except FailureError as error:
            failure = msgspec.structs.replace(error.failure, stage="scorer")
            raise FailureError(failure, error.retry_after_seconds) from error
        if not 200 <= answer.status < 300:
            overloaded = answer.status == 429 or answer.status >= 500
            hint = ", and redirects are not followed" if 300 <= answer.status < 400 else ""
            raise self._failure("server_error", f"the webhook answered with status {answer.status}{hint}", overloaded)
        try:
            verdict = msgspec.json.decode(answer.body, type=_Verdict)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            message = f"the webhook must answer with a JSON object with `pass`: {error}"
            raise self._failure("bad_output", message) from error
        score = float(verdict.passed) if verdict.score is None else verdict.score
        return Graded(verdict.passed, score, verdict.reason or "")

    async def aclose(self) -> None:
        await self._client.aclose()

    def _failure(self, kind: str, message: str, retryable: bool = False) -> FailureError:
        failure = Failure(stage="scorer", part=self._part, kind=kind, message=message, retryable=retryable)
        return FailureError(failure)


class _Verdict(msgspec.Struct, rename={"passed": "pass"}):
    passed: bool
    score: float | None = None
    reason: str | None = None
