"""The HTTP client names every way a transport can fail, and leaves no connection behind."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.servers.fake_openai import FakeServer, fake_openai

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.transport.client import HttpClient
from assay.transport.connection import HttpAnswer


def body_asking(prompt: str) -> bytes:
    import msgspec

    return msgspec.json.encode({"model": "m", "prompt": prompt})


async def post(server: FakeServer, prompt: str, *, max_body_bytes: int = 1 << 20, seconds: float = 10) -> HttpAnswer:
    client = HttpClient(part="fake", max_body_bytes=max_body_bytes)
    try:
        return await client.post_json(f"{server.base_url}/completions", body_asking(prompt), {}, seconds)
    finally:
        await client.aclose()


def failure_of(prompt: str, **options: float) -> Failure:
    async def ask() -> None:
        async with fake_openai() as server:
            await post(server, prompt, **options)  # type: ignore[arg-type]

    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    return caught.value.failure


def test_an_answer_carries_status_headers_and_body() -> None:
    async def ask() -> HttpAnswer:
        async with fake_openai() as server:
            return await post(server, "compute: 2 + 3")

    answer = asyncio.run(ask())
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert b'"text": "5"' in answer.body


def test_any_status_is_an_answer() -> None:
    async def ask() -> HttpAnswer:
        async with fake_openai() as server:
            return await post(server, "behave: status 503 1")

    assert asyncio.run(ask()).status == 503


def test_redirects_are_not_followed() -> None:
    async def ask() -> HttpAnswer:
        async with fake_openai() as server:
            return await post(server, "behave: redirect")

    assert asyncio.run(ask()).status == 307


@pytest.mark.parametrize(
    ("prompt", "kind", "retryable"),
    [
        ("behave: cut", "connection", True),
        ("behave: hang_up", "connection", True),
        ("behave: not_http", "connection", False),
        ("behave: huge 3000000", "bad_output", False),
        ("behave: huge 3000000 chunked", "bad_output", False),
    ],
)
def test_a_broken_transport_is_a_failure(prompt: str, kind: str, retryable: bool) -> None:
    failure = failure_of(prompt)
    assert (failure.stage, failure.part, failure.kind, failure.retryable) == ("model", "fake", kind, retryable)
    assert "127.0.0.1" in failure.message


def test_a_body_of_exactly_the_cap_is_read() -> None:
    async def ask() -> HttpAnswer:
        async with fake_openai() as server:
            return await post(server, "behave: huge 131072 chunked", max_body_bytes=131072)

    assert len(asyncio.run(ask()).body) == 131072


def test_a_slow_server_is_a_timeout() -> None:
    failure = failure_of("behave: slow 30", seconds=0.05)
    assert (failure.kind, failure.retryable) == ("timeout", True)
    assert "0.05 s" in failure.message


def test_a_refused_connection_is_a_failure_that_names_the_host() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        async def ask() -> None:
            client = HttpClient()
            try:
                await client.post_json(f"http://127.0.0.1:{port}/", b"{}", {}, 5)
            finally:
                await client.aclose()

        with pytest.raises(FailureError) as caught:
            asyncio.run(ask())
    assert caught.value.failure.kind == "connection"
    assert caught.value.failure.retryable
    assert f"127.0.0.1:{port}" in caught.value.failure.message


def test_connections_are_kept_alive_and_closed_at_the_end() -> None:
    async def ask() -> tuple[int, int]:
        async with fake_openai() as server:
            client = HttpClient()
            for number in range(5):
                await client.post_json(f"{server.base_url}/completions", body_asking(str(number)), {}, 5)
            during = len(server.open_connections)
            await client.aclose()
            await server.until(lambda: not server.open_connections)
            return during, len(server.open_connections)

    assert asyncio.run(ask()) == (1, 0)


def test_many_requests_at_once_get_their_own_answers_over_few_connections() -> None:
    async def ask() -> int:
        async with fake_openai() as server:
            client = HttpClient()
            numbers = iter(range(600))

            async def worker() -> None:
                for number in numbers:
                    body = body_asking(f"compute: {number} + 1")
                    answer = await client.post_json(f"{server.base_url}/completions", body, {}, 20)
                    assert f'"text": "{number + 1}"'.encode() in answer.body

            await asyncio.gather(*(worker() for _ in range(30)))
            during = len(server.open_connections)
            await client.aclose()
            return during

    assert asyncio.run(asyncio.wait_for(ask(), 60)) <= 30


def test_a_cancelled_request_closes_its_connection() -> None:
    async def ask() -> None:
        async with fake_openai() as server:
            client = HttpClient()
            url = f"{server.base_url}/completions"
            task = asyncio.create_task(client.post_json(url, body_asking("behave: slow 30"), {}, 60))
            await server.until(lambda: bool(server.seen))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.until(lambda: not server.open_connections)
            await client.aclose()

    asyncio.run(asyncio.wait_for(ask(), 20))


def test_a_client_may_be_used_in_one_loop_after_another() -> None:
    client = HttpClient()

    async def ask() -> int:
        async with fake_openai() as server:
            answer = await client.post_json(f"{server.base_url}/completions", body_asking("hi"), {}, 5)
            await client.aclose()
            return answer.status

    assert [asyncio.run(ask()), asyncio.run(ask())] == [200, 200]


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> list[str]:
        async with fake_openai() as proxy:
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
            monkeypatch.delenv("no_proxy", raising=False)
            client = HttpClient()
            await client.post_json("http://model.example/v1/completions", body_asking("hi"), {}, 5)
            await client.aclose()
            return proxy.headers

    heads = asyncio.run(ask())
    assert heads[0].startswith("POST http://model.example/v1/completions ")


def test_no_proxy_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    async def ask() -> int:
        async with fake_openai() as server:
            return (await post(server, "hi")).status

    assert asyncio.run(ask()) == 200


def test_a_proxy_of_another_kind_is_a_failure_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://user:hidden@127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    failure = failure_of("hi")
    assert (failure.kind, failure.retryable) == ("connection", False)
    assert "socks5" in failure.message
    assert "hidden" not in failure.message


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem"
    )
    try:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("needs the openssl program to make a certificate")
    return folder


async def post_over_tls(certificate: Path) -> HttpAnswer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0, ssl=context)
    client = HttpClient()
    try:
        port = server.sockets[0].getsockname()[1]
        return await client.post_json(f"https://localhost:{port}/", b"{}", {}, 10)
    finally:
        await client.aclose()
        server.close()


def test_ssl_cert_file_is_honoured(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    assert asyncio.run(post_over_tls(certificate)).status == 200


@pytest.mark.filterwarnings("default")
def test_an_unknown_certificate_is_refused_and_not_tried_again(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(FailureError) as caught:
        asyncio.run(post_over_tls(certificate))
    assert (caught.value.failure.kind, caught.value.failure.retryable) == ("connection", False)
    assert "certificate" in caught.value.failure.message
    assert urlsplit("https://localhost").hostname in caught.value.failure.message
