"""One HTTP client for every adapter that talks to a server: the only file that knows aiohttp.

It does one thing, POST bytes and hand back status, headers and body, and it names what went wrong on the way.
What a status means is the adapter's business. Messages name the host, never a header, so no key can be in them.
"""

from __future__ import annotations

import asyncio
import os
import select
import ssl
import urllib.request
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from assay import os_errors
from assay.core.errors import FailureError, UsageError
from assay.core.types import Failure
from assay.env_file import setting
from assay.models.content_coding import ACCEPTED, CannotUnpackError, TooLargeError, unpacked

if TYPE_CHECKING:
    import aiohttp  # a quarter of a second of CPU, which the lean client need not pay
    from aiohttp.client_proto import ResponseHandler

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
                if "Content-Encoding" in response.headers:
                    content = unpacked(content, response.headers.getall("Content-Encoding"), self._max_body_bytes)
                return HttpAnswer(response.status, response.headers, content)
        except TooLargeError as error:
            raise self._too_large(url) from error
        except CannotUnpackError as error:
            raise self._failed("connection", f"{place_of(url)}: {error}", retryable=True) from error
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
            # aiohttp has no other place for it; a test holds that it still counts
            connector._factory = partial(_connection(), loop=loop)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "assay", "Accept-Encoding": ACCEPTED},
                auto_decompress=False,
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
        if length is not None and length <= self._max_body_bytes:
            return await response.read()
        chunks: list[bytes] = []
        size = 0
        # a length is a promise at best
        while size <= self._max_body_bytes and (length is None or length <= self._max_body_bytes):
            chunk = await response.content.readany()
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
            size += len(chunk)
        response.close()
        raise self._too_large(url)

    def _too_large(self, url: str) -> FailureError:
        message = f"{place_of(url)} sent more than {self._max_body_bytes:,} bytes in one answer"
        return self._failed("bad_output", message, retryable=False)

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


@cache
def _connection() -> type[ResponseHandler]:
    from aiohttp.client_proto import ResponseHandler

    class Connection(ResponseHandler):
        """One that is not used again after something came unasked, which aiohttp would take for the next answer."""

        _socket: select.poll | None = None
        _whole = False
        _surplus = False

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self._socket = polled(transport)

        def set_response_params(self, **options: Any) -> None:
            self._whole = self._surplus = False
            super().set_response_params(**options)

        def data_received(self, data: bytes) -> None:
            self._surplus = self._surplus or bool(data and self._whole)  # aiohttp calls it with nothing, to go on
            super().data_received(data)
            self._whole = self._payload is not None and self._payload.is_eof()

        def is_connected(self) -> bool:
            """Asked before a connection is used again, and when those that were idle for long are closed."""
            if not super().is_connected():
                return False
            return self._payload is None or not (self._surplus or self.should_close or has_arrived(self._socket))

    return Connection


def polled(transport: asyncio.BaseTransport) -> select.poll | None:
    """A look at the socket itself: what has arrived there, the loop may not have read yet."""
    connected = transport.get_extra_info("socket")
    if connected is None or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(connected.fileno(), select.POLLIN)
    return poll


def has_arrived(connected: select.poll | None) -> bool:
    """Whether a connection that nobody is waiting on has something to read: an answer too many, or its end."""
    return connected is not None and bool(connected.poll(0))


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
        reason = os_errors.reason(OSError(number, os.strerror(number))) if number else type(error.os_error).__name__
        return f"cannot connect ({reason})"
    return f"the connection broke ({reason_of(error)})"


def reason_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return os_errors.reason(error)
    return type(error).__name__


def make_client(*, part: str = "") -> HttpClient:
    """The client that `--http` or the setting ASSAY_HTTP asks for: `aiohttp` unless it says `lean`."""
    wanted = setting("ASSAY_HTTP") or "aiohttp"
    if wanted == "lean":
        from assay.models.lean_http import LeanHttpClient

        return LeanHttpClient(part=part)
    if wanted != "aiohttp":
        raise UsageError(f"ASSAY_HTTP is `{wanted}`; known transports: aiohttp, lean")
    return HttpClient(part=part)
