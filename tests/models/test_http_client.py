"""Each HTTP client names every way a transport can fail, and leaves no connection behind."""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import os
import socket
import ssl
import subprocess
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.servers.fake_openai import FakeServer, fake_openai
from tests.servers.raw_server import http, raw_server

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.models import http_client
from assay.models.http_client import HttpAnswer

CLIENTS = ["aiohttp"] + ["lean"] * (importlib.util.find_spec("httptools") is not None)
clients: list[type[http_client.HttpClient]] = [http_client.HttpClient]


@pytest.fixture(params=CLIENTS, autouse=True)
def transport(request: pytest.FixtureRequest) -> None:
    """The whole suite once for each client."""
    if request.param == "lean":
        from assay.models.lean_http import LeanHttpClient

        clients[0] = LeanHttpClient
    else:
        clients[0] = http_client.HttpClient


def HttpClient(**options: Any) -> http_client.HttpClient:
    return clients[0](**options)


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
        ("behave: not_http", "connection", True),
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


async def asked(url: str, times: int) -> list[tuple[int, bytes]]:
    client = HttpClient()
    try:
        answers = [await client.post_json(url, b"{}", {}, 5) for _ in range(times)]
        return [(answer.status, answer.body) for answer in answers]
    finally:
        await client.aclose()


def test_go_on_and_the_answer_in_one_piece_are_told_apart() -> None:
    async def ask() -> list[tuple[int, bytes]]:
        async with raw_server(b"HTTP/1.1 100 Continue\r\n\r\n" + http(b"{}", status="200 OK")) as url:
            return await asked(url, 2)

    assert asyncio.run(ask()) == [(200, b"{}")] * 2


@pytest.mark.parametrize("surplus", [http(b"forged"), http(b"forged")[:-3], b"HTTP/1.1 200 OK\r\nX: "])
def test_what_follows_an_answer_unasked_is_in_no_later_answer(surplus: bytes) -> None:
    async def ask() -> list[tuple[int, bytes]]:
        async with raw_server(lambda number: http(b"%d" % number) + (surplus if number == 1 else b"")) as url:
            return await asked(url, 3)

    assert asyncio.run(ask()) == [(200, b"1"), (200, b"2"), (200, b"3")]


def test_one_connection_is_used_again_and_again() -> None:
    async def ask() -> int:
        open_ones: list[asyncio.StreamWriter] = []
        async with raw_server(lambda number: http(b"%d" % number), open_ones) as url:
            assert await asked(url, 20) == [(200, b"%d" % number) for number in range(1, 21)]
        return len(open_ones)

    assert asyncio.run(ask()) == 1


@pytest.mark.parametrize("surplus", [http(b"forged"), http(b"forged")[:-3], b"HTTP/1.1 200 OK\r\nX: ", b"x"])
@pytest.mark.parametrize("turns", [0, 1, 20])
def test_what_comes_late_and_unasked_is_in_no_later_answer(surplus: bytes, turns: int) -> None:
    """It has arrived when the next question is asked, and the loop may or may not have read it by then."""

    async def ask() -> list[tuple[int, bytes]]:
        open_ones: list[asyncio.StreamWriter] = []
        client = HttpClient()
        async with raw_server(lambda number: http(b"%d" % number), open_ones) as url:
            answers = []
            for _ in range(3):
                answer = await client.post_json(url, b"{}", {}, 5)
                answers.append((answer.status, answer.body))
                os.write(open_ones[-1].get_extra_info("socket").fileno(), surplus)  # on loopback it is there at once
                for _ in range(turns):
                    await asyncio.sleep(0)
            await client.aclose()
        return answers

    assert asyncio.run(ask()) == [(200, b"1"), (200, b"2"), (200, b"3")]


def test_a_connection_that_the_server_closed_while_idle_is_not_used_again() -> None:
    async def ask() -> list[bytes]:
        open_ones: list[asyncio.StreamWriter] = []
        client = HttpClient()
        async with raw_server(lambda number: http(b"%d" % number), open_ones) as url:
            answers = []
            for _ in range(3):
                answers.append((await client.post_json(url, b"{}", {}, 5)).body)
                open_ones[-1].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            await client.aclose()
        return answers

    assert asyncio.run(ask()) == [b"1", b"2", b"3"]


TEXT = b'{"text": "hello"}'
GZIP, ZLIB = gzip.compress(TEXT), zlib.compress(TEXT)
BARE = zlib.compress(TEXT)[2:-4]
UNPACKABLE, UNASKED, CUT, LONGER = "cannot be unpacked", "not asked for", "in the middle of what", "after its end"


def chunked(body: bytes, *trailers: str) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, "".join(f"{each}\r\n" for each in trailers).encode())


CODINGS: dict[str, tuple[bytes, bytes | str]] = {
    "gzip": (http(GZIP, "Content-Encoding: gzip"), TEXT),
    "x-gzip": (http(GZIP, "Content-Encoding: x-gzip"), TEXT),
    "GZIP and blanks": (http(GZIP, "Content-Encoding:  GZIP "), TEXT),
    "two members": (http(gzip.compress(TEXT[:8]) + gzip.compress(TEXT[8:]), "Content-Encoding: gzip"), TEXT),
    "empty members": (http(gzip.compress(b"") + GZIP + gzip.compress(b""), "Content-Encoding: gzip"), TEXT),
    "gzip and a tail": (http(GZIP + b"tail", "Content-Encoding: gzip"), UNPACKABLE),
    "gzip and zeros": (http(GZIP + bytes(8), "Content-Encoding: gzip"), UNPACKABLE),
    "gzip and half a member": (http(GZIP + GZIP[:12], "Content-Encoding: gzip"), CUT),
    "gzip cut in its check": (http(GZIP[:-4], "Content-Encoding: gzip"), CUT),
    "gzip cut in its text": (http(GZIP[:15], "Content-Encoding: gzip"), CUT),
    "gzip with a wrong check": (http(GZIP[:-8] + b"wrng" + GZIP[-4:], "Content-Encoding: gzip"), UNPACKABLE),
    "zlib called gzip": (http(ZLIB, "Content-Encoding: gzip"), UNPACKABLE),
    "plain text called gzip": (http(TEXT, "Content-Encoding: gzip"), UNPACKABLE),
    "deflate": (http(ZLIB, "Content-Encoding: deflate"), TEXT),
    "bare deflate": (http(BARE, "Content-Encoding: deflate"), TEXT),
    "deflate and a tail": (http(ZLIB + b"tail", "Content-Encoding: deflate"), LONGER),
    "bare deflate and a tail": (http(BARE + b"tail", "Content-Encoding: deflate"), LONGER),
    "deflate twice": (http(ZLIB + ZLIB, "Content-Encoding: deflate"), LONGER),
    "deflate cut": (http(ZLIB[:-2], "Content-Encoding: deflate"), CUT),
    "bare deflate cut": (http(BARE[:-3], "Content-Encoding: deflate"), CUT),
    "gzip called deflate": (http(GZIP, "Content-Encoding: deflate"), UNPACKABLE),
    "identity": (http(TEXT, "Content-Encoding: identity"), TEXT),
    "nothing": (http(TEXT, "Content-Encoding: "), TEXT),
    "brotli": (http(TEXT, "Content-Encoding: br"), UNASKED),
    "zstd": (http(TEXT, "Content-Encoding: zstd"), UNASKED),
    "unheard of": (http(TEXT, "Content-Encoding: rot13"), UNASKED),
    "packed twice": (http(gzip.compress(GZIP), "Content-Encoding: gzip, gzip"), UNASKED),
    "gzip, identity": (http(GZIP, "Content-Encoding: gzip, identity"), TEXT),
    "two lines": (http(GZIP, "Content-Encoding: identity", "Content-Encoding: gzip"), TEXT),
    "an empty body": (http(b"", "Content-Encoding: gzip"), b""),
    "a trailer that says gzip": (chunked(TEXT, "Content-Encoding: gzip"), TEXT),
    "a trailer that says br": (chunked(TEXT, "Content-Encoding: br"), TEXT),
    "a trailer of another kind": (chunked(TEXT, "X-Sum: 1", "Transfer-Encoding: gzip"), TEXT),
    "a bomb": (http(gzip.compress(bytes(5 << 20)), "Content-Encoding: gzip"), "more than"),
    "a bomb in members": (http(gzip.compress(bytes(700_000)) * 3, "Content-Encoding: gzip"), "more than"),
    "a bomb of deflate": (http(zlib.compress(bytes(5 << 20)), "Content-Encoding: deflate"), "more than"),
}


@pytest.mark.parametrize(("answer", "expected"), CODINGS.values(), ids=CODINGS)
def test_both_clients_unpack_the_same(answer: bytes, expected: bytes | str) -> None:
    async def ask() -> HttpAnswer:
        client = HttpClient(max_body_bytes=1 << 20)
        try:
            async with raw_server(answer) as url:
                return await client.post_json(url, b"{}", {}, 10)
        finally:
            await client.aclose()

    if isinstance(expected, bytes):
        assert asyncio.run(ask()).body == expected
        return
    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    assert expected in caught.value.failure.message
    large = expected == "more than"
    assert (caught.value.failure.kind, caught.value.failure.retryable) == (
        "bad_output" if large else "connection",
        not large,
    )


def test_a_trailer_is_no_header() -> None:
    async def ask() -> HttpAnswer:
        client = HttpClient()
        try:
            async with raw_server(chunked(TEXT, "Retry-After: 99", "X-Late: 1")) as url:
                return await client.post_json(url, b"{}", {}, 10)
        finally:
            await client.aclose()

    assert not {"Retry-After", "X-Late"} & set(asyncio.run(ask()).headers)


def test_a_header_without_end_is_cut_off() -> None:
    async def ask() -> None:
        async with raw_server(b"HTTP/1.1 200 OK\r\nX: " + b"a" * (4 << 20)) as url:
            await asked(url, 1)

    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    assert caught.value.failure.kind in ("connection", "bad_output")
