"""HTTP evaluators: the payload as a JSON POST, one JSON object back. The only file here that knows aiohttp."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from assay.core.errors import UsageError
from assay.evaluators.payload import (
    Evaluation,
    EvaluatorError,
    ScoreRange,
    check_score_range,
    check_timeout,
    encode_payload,
    failed,
    read_answer,
    shortened,
)
from assay.redaction import Redactor, secrets_sent

if TYPE_CHECKING:
    import aiohttp

MAX_BODY_BYTES = 4 * 1024 * 1024


def http_evaluator(
    url: str,
    *,
    timeout_seconds: float = 30.0,
    headers: Mapping[str, str] | None = None,
    score_range: ScoreRange = "unit",
    task_model: str | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> HttpEvaluator:
    """An evaluator that is a service. Redirects are not followed."""
    return HttpEvaluator(
        url=_checked_url(url),
        timeout_seconds=check_timeout(timeout_seconds),
        headers=dict(headers or {}),
        score_range=check_score_range(score_range),
        task_model=task_model,
        max_body_bytes=max_body_bytes,
    )


class HttpEvaluator:
    """Keeps one session, and with it its connections, for as long as one event loop uses it."""

    def __init__(
        self,
        *,
        url: str,
        timeout_seconds: float,
        headers: dict[str, str],
        score_range: ScoreRange,
        task_model: str | None,
        max_body_bytes: int,
    ) -> None:
        self.name = f"evaluator {_shown_url(url)}"
        self.score_range: ScoreRange = score_range
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._headers = headers
        self._task_model = task_model
        self._max_body_bytes = max_body_bytes
        self._redactor = Redactor(secrets_sent(url, headers))
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The address and the range; headers may hold secrets and are no part of it."""
        return {"url": _shown_url(self._url), "score_range": self.score_range}

    async def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Evaluation:
        task_model = self._task_model if task_model is None else task_model
        payload = encode_payload(self.name, candidate, example, task_model)
        return read_answer(await self._post(payload), self.score_range, self.name, "the body")

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def with_timeout(self, timeout_seconds: float) -> HttpEvaluator:
        """The same evaluator with a shorter patience."""
        return HttpEvaluator(
            url=self._url,
            timeout_seconds=min(timeout_seconds, self._timeout_seconds),
            headers=self._headers,
            score_range=self.score_range,
            task_model=self._task_model,
            max_body_bytes=self._max_body_bytes,
        )

    async def _post(self, payload: bytes) -> bytes:
        import aiohttp

        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                (await self._connected()).post(self._url, data=payload, allow_redirects=False) as response,
            ):
                body = self._redactor.body(await self._body(response))
                if not 200 <= response.status < 300:
                    raise self._bad_status(response.status, response.headers.get("Location"), body)
                return body
        except TimeoutError as error:
            message = f"timed out after {self._timeout_seconds:g} s"
            raise failed(self.name, "timeout", message, retryable=True) from error
        except aiohttp.ClientConnectorError as error:
            message = f"cannot connect: {error.os_error.strerror or error.os_error}. Is the server running?"
            raise failed(self.name, "connection", message, retryable=True) from error
        except (aiohttp.ClientError, ValueError, OSError) as error:
            message = self._redactor.text(f"the request broke: {type(error).__name__}: {error}")
            raise failed(self.name, "connection", message, retryable=True) from error

    async def _connected(self) -> aiohttp.ClientSession:
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **self._headers}
            # our own deadline is the only one, and no cookie of one evaluation reaches the next
            self._session = aiohttp.ClientSession(
                headers=headers, timeout=aiohttp.ClientTimeout(total=None), cookie_jar=aiohttp.DummyCookieJar()
            )
            self._loop = loop
        return self._session

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._max_body_bytes:
                message = f"the body is longer than {self._max_body_bytes} bytes, which is all we read"
                raise failed(self.name, "bad_output", message)
        return bytes(body)

    def _bad_status(self, status: int, location: str | None, body: bytes) -> EvaluatorError:
        seen = shortened(body.decode("utf-8", "backslashreplace"))
        told = f": {seen}" if seen else ""
        if 300 <= status < 400:
            where = f" to {self._redactor.text(_shown_url(location))}" if location else ""
            return failed(
                self.name, "redirect", f"status {status}: redirects{where}, which is not followed", {"body": seen}
            )
        kind = "rate_limit" if status == 429 else "server_error" if status >= 500 else "bad_request"
        retryable = status == 429 or status >= 500
        return failed(self.name, kind, f"status {status}{told}", {"body": seen}, retryable=retryable)


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


def _shown_url(url: str) -> str:
    """The address without a login or a query, which may hold secrets."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
