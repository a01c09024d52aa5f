"""One HTTP client for every adapter that talks to a server: the only file that knows aiohttp.

It does one thing, POST bytes and hand back status, headers and body, and it names what went wrong on the way.
What a status means is the adapter's business. Messages name the host, never a header, so no key can be in them.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from assay.core.errors import FailureError, UsageError
from assay.core.types import Failure
from assay.env_file import setting

if TYPE_CHECKING:
    import aiohttp  # a quarter of a second of CPU, which the lean client need not pay

MAX_BODY_BYTES = 64 * 1024 * 1024
"""More than any honest answer; a server that sends more is stopped before it fills the memory."""


class HttpAnswer(NamedTuple):
    """What a server sent back. Header names compare without regard to case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Keeps connections alive and follows no redirects. How many requests run at once is the caller's to limit."""

    def __init__(self, *, part: str = "", max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._part = part
        self._max_body_bytes = max_body_bytes
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: ssl.SSLContext | None = None
        self._proxies: dict[str, str | None] = {}
        self._timeouts: dict[float | None, aiohttp.ClientTimeout] = {}

    async def post_json(
        self, url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float | None = None
    ) -> HttpAnswer:
        """POST a body that is JSON already. Any status is an answer; anything less is a `FailureError`."""
        import aiohttp

        session = self._session_of_this_loop()
        try:
            async with session.post(
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                timeout=self._timeout(timeout_seconds),
                proxy=self._proxy(url),
                ssl=self._tls_context(url),
            ) as response:
                content = await self._read(response, url)
                return HttpAnswer(response.status, response.headers, content)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._failure(error, url, timeout_seconds) from error

    async def aclose(self) -> None:
        """Close every connection. The client may be used again; it then opens new ones."""
        session, self._session = self._session, None
        if session is not None and not session.closed and self._loop is asyncio.get_running_loop():
            await session.close()

    def _session_of_this_loop(self) -> aiohttp.ClientSession:
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            # connections belong to the loop they were opened in; those of an older loop died with it
            self._loop = loop
            connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "assay"},
            )
        return self._session

    def _timeout(self, seconds: float | None) -> aiohttp.ClientTimeout:
        timeout = self._timeouts.get(seconds)
        if timeout is None:
            import aiohttp

            timeout = self._timeouts[seconds] = aiohttp.ClientTimeout(total=seconds)
        return timeout

    def _proxy(self, url: str) -> str | None:
        """The proxy the environment asks for, looked up once per URL, for reading it is slow."""
        if url not in self._proxies:
            self._proxies[url] = self._proxy_from_environment(url)
        return self._proxies[url]

    def _proxy_from_environment(self, url: str) -> str | None:
        parts = urlsplit(url)
        proxies = urllib.request.getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy is None or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
            return None
        if urlsplit(proxy).scheme not in ("http", "https"):
            scheme = urlsplit(proxy).scheme or "none"
            message = (
                f"the environment names a proxy for {place_of(url)} whose scheme is `{scheme}`; "
                "only http:// and https:// proxies can be used"
            )
            raise self._failed("connection", message, retryable=False)
        return proxy

    def _tls_context(self, url: str) -> ssl.SSLContext | bool:
        if not url.startswith("https:"):
            return True
        if self._tls is None:
            # made here rather than at import, so that SSL_CERT_FILE and SSL_CERT_DIR count whenever they were set
            self._tls = ssl.create_default_context()
        return self._tls

    async def _read(self, response: aiohttp.ClientResponse, url: str) -> bytes:
        length = response.content_length
        if length is not None and length <= self._max_body_bytes and "Content-Encoding" not in response.headers:
            return await response.read()
        chunks: list[bytes] = []
        size = 0
        # a length is a promise at best, and says nothing about a compressed body
        while size <= self._max_body_bytes and (length is None or length <= self._max_body_bytes):
            chunk = await response.content.readany()
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
            size += len(chunk)
        response.close()
        message = f"{place_of(url)} sent more than {self._max_body_bytes:,} bytes in one answer"
        raise self._failed("bad_output", message, retryable=False)

    def _failure(self, error: Exception, url: str, timeout_seconds: float | None) -> FailureError:
        import aiohttp

        place = place_of(url)
        if isinstance(error, TimeoutError):
            limit = "" if timeout_seconds is None else f" within {timeout_seconds:g} s"
            return self._failed("timeout", f"no full answer from {place}{limit}", retryable=True)
        if isinstance(error, aiohttp.InvalidURL):
            return self._failed("bad_request", f"`{place}` is not an address that can be called", retryable=False)
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            reason = getattr(error.certificate_error, "verify_message", "") or type(error.certificate_error).__name__
            message = f"the certificate of {place} was not accepted: {reason}. SSL_CERT_FILE may name a file of CAs"
            return self._failed("connection", message, retryable=False)
        if isinstance(error, aiohttp.ClientHttpProxyError):
            message = f"the proxy in front of {place} answered {error.status}"
            return self._failed("connection", message, retryable=error.status >= 500)
        unreachable = isinstance(error, aiohttp.ClientConnectorError)
        return self._failed("connection", f"{place}: {_what_broke(error)}", retryable=True, unreachable=unreachable)

    def _failed(self, kind: str, message: str, *, retryable: bool, unreachable: bool = False) -> FailureError:
        failure = Failure(stage="model", part=self._part, kind=kind, message=message, retryable=retryable)
        return FailureError(failure, away="unreachable" if unreachable else None)


def place_of(url: str) -> str:
    """Host and port: enough to find the server, and nothing of a URL that could be secret."""
    return urlsplit(url).netloc.rpartition("@")[2] or "the server"


def _what_broke(error: Exception) -> str:
    import aiohttp

    for kind, sentence in (
        (aiohttp.ClientConnectorDNSError, "the host name could not be resolved"),
        (aiohttp.ServerDisconnectedError, "the server closed the connection without an answer"),
        (aiohttp.ClientPayloadError, "the connection ended in the middle of the answer"),
        (aiohttp.ClientResponseError, "what came back is not an HTTP answer"),
    ):
        if isinstance(error, kind):
            return sentence
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return f"cannot connect ({os.strerror(number) if number else type(error.os_error).__name__})"
    return f"the connection broke ({reason_of(error)})"


def reason_of(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def make_client(*, part: str = "") -> HttpClient:
    """The client that `--http` or the setting ASSAY_HTTP asks for: `aiohttp` unless it says `lean`."""
    wanted = setting("ASSAY_HTTP") or "aiohttp"
    if wanted == "lean":
        from assay.models.lean_http import LeanHttpClient

        return LeanHttpClient(part=part)
    if wanted != "aiohttp":
        raise UsageError(f"ASSAY_HTTP is `{wanted}`; known transports: aiohttp, lean")
    return HttpClient(part=part)
