"""HTTP evaluators: the payload as a JSON POST, one JSON object back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from assay.core.errors import FailureError, UsageError
from assay.evaluators.batches import Batches, Results, check_batch
from assay.evaluators.payload import (
    Evaluation,
    EvaluatorError,
    ScoreRange,
    build_batch,
    build_payload,
    check_score_range,
    check_task_model,
    check_timeout,
    encode_payload,
    failed,
    read_answer,
    read_batch,
    shortened,
)
from assay.text.redaction import redactor_of_given, secrets_sent
from assay.transport.client import HttpClient
from assay.transport.route import basic_login

MAX_BODY_BYTES = 4 * 1024 * 1024

REACH_SECONDS = 10.0
"""How long connecting may take before a run."""


class HttpEvaluator:
    """An evaluator that is a service. Redirects are not followed.

    It is spoken to through the client that models have: proxies and certificates of the environment count here too.
    `batch`: it is sent up to so many evaluations at once, and has so many times its time limit for them.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float = 30.0,
        headers: Mapping[str, str] | None = None,
        score_range: ScoreRange = "unit",
        task_model: str | None = None,
        batch: int | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._url = _checked_url(url)
        self.name = f"evaluator {_shown_url(self._url)}"
        self.batch = check_batch(batch)
        self._timeout_seconds = check_timeout(timeout_seconds)
        self._headers = _checked_headers(headers or {})
        self.score_range = check_score_range(score_range)
        self._task_model = check_task_model(task_model)
        self._max_body_bytes = max_body_bytes
        sent = [*secrets_sent(self._url, self._headers), *secrets_sent("", _login_in(self._url))]
        self._redactor = redactor_of_given(sent)
        self._batches = None if batch is None else Batches(batch, self.send_batch)
        self._client = HttpClient(part=self.name, max_body_bytes=max_body_bytes)

    @property
    def identity(self) -> dict[str, Any]:
        """The address and the range; headers may hold secrets and are left out."""
        return {"url": _shown_url(self._url), "score_range": self.score_range}

    @property
    def ways(self) -> list[str]:
        """How it is called, in words, where that is not the default."""
        return [] if self.batch is None else [f"sent up to {self.batch} evaluations at once"]

    async def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Evaluation:
        payload = self.payload(candidate, example, task_model)
        encode_payload(self.name, payload)  # what cannot be written fails alone
        if self._batches is not None:
            return await self._batches.evaluate(payload)
        body = await self._post(payload, self._timeout_seconds)
        return read_answer(body, self.score_range, self.name, "the body")

    def payload(self, candidate: str, example: Mapping[str, Any] | None, task_model: str | None) -> dict[str, Any]:
        return build_payload(candidate, example, self._task_model if task_model is None else task_model)

    async def reach(self) -> None:
        """Connect, without an evaluation: `EvaluatorError` where it cannot be reached."""
        seconds = min(self._timeout_seconds, REACH_SECONDS)
        try:
            await self._client.connect(self._url, seconds)
        except FailureError as error:
            raise self._broken(error, seconds) from error

    async def close(self) -> None:
        """Close the connections."""
        if self._batches is not None:
            await self._batches.close()
        await self._client.aclose()

    async def send_batch(self, payloads: Sequence[dict[str, Any]]) -> Results:
        """A result for each payload; what is wrong with all of them is raised."""
        count = len(payloads)
        body = await self._post(build_batch(payloads), self._timeout_seconds * count)
        return read_batch(body, count, self.score_range, self.name, "the body")

    async def _post(self, payload: Mapping[str, Any], timeout_seconds: float) -> bytes:
        headers = {"Content-Type": "application/json", **self._headers}
        try:
            answer = await self._client.post_json(
                self._url, encode_payload(self.name, payload), headers, timeout_seconds
            )
        except FailureError as error:
            raise self._broken(error, timeout_seconds) from error
        body = self._redactor.body(answer.body)
        if not 200 <= answer.status < 300:
            bad = self._bad_status(answer.status, answer.headers.get("location"), body)
            raise EvaluatorError(bad.failure, bad.side_info, status=answer.status, headers=answer.headers)
        return body

    def _broken(self, error: FailureError, timeout_seconds: float) -> EvaluatorError:
        broken = error.failure
        message = self._redactor.text(broken.message)
        if broken.kind == "timeout":
            message = f"timed out after {timeout_seconds:g} s: {message}"
        elif error.away == "unreachable":
            message = f"{message}. Is the server running?"
        made = failed(self.name, broken.kind, message, retryable=broken.retryable)
        return EvaluatorError(made.failure, away=error.away)

    def _bad_status(self, status: int, location: str | None, body: bytes) -> EvaluatorError:
        seen = shortened(body.decode("utf-8", "backslashreplace"))
        detail = f": {seen}" if seen else ""
        if 300 <= status < 400:
            where = f" to {self._redactor.text(_shown_target(location))}" if location else ""
            return failed(
                self.name, "redirect", f"status {status}: redirects{where}, which is not followed", {"body": seen}
            )
        kind = "rate_limit" if status == 429 else "server_error" if status >= 500 else "bad_request"
        retryable = status == 429 or status >= 500
        return failed(self.name, kind, f"status {status}{detail}", {"body": seen}, retryable=retryable)


http_evaluator = HttpEvaluator
"""What the protocol calls it."""


def _checked_url(url: str) -> str:
    shown = re.sub(r"//[^/]*@", "//", url).partition("?")[0]  # no login, no query
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises when the port is not a number
    except ValueError as error:
        raise UsageError(f"evaluator URL `{shown}`: not an address, such as http://localhost:8000/score") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"evaluator URL `{shown}`: must begin with http:// or https:// and name a host")
    return url


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that can be sent; a value is not shown, for it may be a key."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise UsageError(f"evaluator header {name!r}: letters, digits and hyphens make the name of a header")
        if not value.replace("\t", " ").isprintable():
            raise UsageError(f"evaluator header `{name}`: a header is one line without control characters")
    return dict(headers)


def _login_in(url: str) -> dict[str, str]:
    """The header that a login in the address is sent as."""
    parts = urlsplit(url)
    return {"Authorization": basic_login(parts)} if "@" in parts.netloc else {}


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def _shown_target(location: str) -> str:
    try:
        return _shown_url(location)
    except ValueError:
        return "an address that cannot be read"


def _shown_url(url: str) -> str:
    """The address without a login or a query, which may hold secrets."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
