"""TLS through a proxy: what it carries, what it refuses, and what a bad proxy can do."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.transport.certificates import authority, certificate_of

from assay.core.errors import FailureError
from assay.transport.client import HttpClient
from assay.transport.connection import HttpAnswer


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ca")
    authority(folder)
    certificate_of(folder, "localhost")
    return folder


def server_context(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "localhost.pem", certificates / "localhost.key")
    return context


@contextlib.asynccontextmanager
async def listening(
    respond: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """The port of a server whose connections end with it."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            await respond(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def server(certificates: Path) -> AsyncIterator[int]:
    """Answers every request over TLS with `{}`."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n{}")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    async with listening(respond, server_context(certificates)) as port:
        yield port


@contextlib.asynccontextmanager
async def proxy(heads: list[bytes], *, says: bytes = b"", tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Passes bytes on to where it is asked to; with `says`, says that instead and hangs up."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        if says:
            writer.write(says)
            writer.close()
            return
        port = int(heads[-1].split()[1].decode().rpartition(":")[2])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\nX-Via: us\r\n\r\n")
            await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))
        finally:
            far_writer.transport.abort()

    async with listening(respond, tls) as port:
        yield port


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


async def asked(url: str, times: int = 1, seconds: float = 30) -> list[HttpAnswer]:
    client = HttpClient()
    try:
        return [await client.post_json(url, b"{}", {"X-Key": "secret"}, seconds) for _ in range(times)]
    finally:
        await client.aclose()


@pytest.fixture(autouse=True)
def surroundings(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    monkeypatch.setenv("no_proxy", "nowhere.example")


@pytest.mark.parametrize("over_tls", [False, True])
def test_requests_go_through_one_tunnel_and_the_proxy_sees_none_of_them(
    over_tls: bool, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads: list[bytes] = []

    async def ask() -> tuple[int, list[HttpAnswer]]:
        tls = server_context(certificates) if over_tls else None
        async with server(certificates) as port, proxy(heads, tls=tls) as via:
            scheme, host = ("https", "localhost") if over_tls else ("http", "127.0.0.1")
            monkeypatch.setenv("https_proxy", f"{scheme}://u:p@{host}:{via}")
            return port, await asked(f"https://localhost:{port}/v1", times=3)

    port, answers = asyncio.run(ask())
    assert [answer.status for answer in answers] == [200] * 3
    (head,) = heads
    assert head.startswith(b"CONNECT localhost:%d HTTP/1.1\r\nHost: localhost:%d\r\n" % (port, port))
    assert b"Proxy-Authorization: Basic dTpw" in head
    assert b"secret" not in head


@pytest.mark.parametrize(
    ("says", "message", "retryable"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno", "answered 407", False),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "answered 502", True),
        (b"HTTP/1.0 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "sent more data after its answer", False),
        (b"SSH-2.0-hello\r\n\r\n", "a response that is not HTTP", True),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, "an endless header", False),
        (b"HTTP/1.1 200", "closed the connection without an answer", True),
    ],
)
def test_a_proxy_that_does_not_make_the_tunnel(
    says: bytes, message: str, retryable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> None:
        async with proxy([], says=says) as via:
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{via}")
            await asked("https://model.example/v1")

    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    failure = caught.value.failure
    assert failure.message.startswith("the proxy in front of model.example ")
    assert message in failure.message
    assert (failure.kind, failure.retryable) == ("connection", retryable)


def test_the_certificate_behind_a_tunnel_is_checked(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        async with server(certificates) as port, proxy([]) as via:
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{via}")
            await asked(f"https://127.0.0.1:{port}/")  # which is not the name on it

    with pytest.raises(FailureError, match="certificate of 127") as caught:
        asyncio.run(ask())
    assert not caught.value.failure.retryable


def test_a_proxy_that_says_nothing_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def ask() -> None:
        async with listening(say_nothing) as via:
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{via}")
            await asked("https://model.example/v1", seconds=0.05)

    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    assert caught.value.failure.kind == "timeout"
