"""The client against servers that others wrote: aiohttp, uvicorn, Node, HTTP/1.0, nginx, llama.cpp, tinyproxy.

What cannot be had on a machine is skipped with its reason; Debian has `nginx-light`, `nodejs` and `tinyproxy-bin`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.transport.certificates import authority, certificate_of

from assay.core.errors import FailureError
from assay.transport.client import HttpClient
from assay.transport.connection import HttpAnswer

REPOSITORY = Path(__file__).parents[2]
PYTHON = [sys.executable, "-m", "tests.servers.cases"]
COMMANDS = {
    **{name: [*PYTHON, name] for name in ("aiohttp", "uvicorn-h11", "uvicorn-httptools", "http.server-1.0")},
    "node": ["node", str(REPOSITORY / "tests" / "servers" / "cases.cjs")],
}
BODY = b'{"prompt": "hello"}'
ECHO = {"bytes": len(BODY), "method": "POST", "type": "application/json"}


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[str]:
    """The address of a server that prints its port, and ends with its input."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    process = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


@contextlib.contextmanager
def listening(command: list[str], port: int) -> Iterator[None]:
    """A server that says nothing when it listens."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr
    try:
        for _ in range(3000):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        yield
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


async def post(client: HttpClient, url: str, body: bytes = BODY) -> HttpAnswer:
    return await client.post_json(url, body, {"Content-Type": "application/json"}, 60)


def answers(*urls: str, body: bytes = BODY, **options: int) -> list[HttpAnswer]:
    async def ask() -> list[HttpAnswer]:
        client = HttpClient(**options)  # type: ignore[arg-type]
        try:
            return [await post(client, url, body) for url in urls]
        finally:
            await client.aclose()

    return asyncio.run(ask())


def failure(url: str, body: bytes = BODY, **options: int) -> FailureError:
    with pytest.raises(FailureError) as caught:
        answers(url, body=body, **options)
    return caught.value


@pytest.mark.parametrize("name", COMMANDS)
def test_every_case_of_every_server(name: str) -> None:
    cases = ["echo", "chunked", "close", "echo", "redirect", "nothing", "headers", "large", "gzip", "continue", "echo"]
    with running(COMMANDS[name]) as url:
        found = dict(zip(enumerate(cases), answers(*(f"{url}/{case}" for case in cases)), strict=True))
        big = b'"' + b"x" * (4 << 20) + b'"'
        (echoed,) = answers(f"{url}/echo", body=big)
        too_large = failure(f"{url}/large", max_body_bytes=1 << 20)
        early = early_answer(f"{url}/early") if name != "http.server-1.0" else None
        together = asyncio.run(many(f"{url}/echo"))
    statuses = [answer.status for answer in found.values()]
    assert statuses == [200, 200, 200, 200, 307, 204, 200, 200, 200, 200, 200]
    by_case = {case: answer for (_, case), answer in found.items()}
    assert [json.loads(by_case[case].body) for case in ("echo", "close", "headers", "continue")] == [ECHO] * 4
    assert by_case["chunked"].body == b"one,two"
    assert by_case["redirect"].headers["location"] == "/echo"
    assert by_case["nothing"].body == b""
    assert by_case["headers"].headers["x-99"] == "v" * 100
    assert by_case["large"].body == b"x" * (2 << 20)
    assert by_case["gzip"].body == b"packed"
    assert json.loads(echoed.body)["bytes"] == len(big)
    assert (too_large.failure.kind, too_large.failure.retryable) == ("bad_output", False)
    assert early in (413, "connection", None)  # what the server said, unless its reset came before our reading
    assert together == [ECHO] * 200


def early_answer(url: str) -> int | str:
    """A server that answers before it has read the request, and hangs up."""
    try:
        return answers(url, body=b"x" * (8 << 20))[0].status
    except FailureError as error:
        return error.failure.kind


async def many(url: str) -> list[object]:
    client = HttpClient()
    places = iter(range(200))

    async def worker() -> list[object]:
        return [json.loads((await post(client, url)).body) for _ in places]

    try:
        return [each for found in await asyncio.gather(*(worker() for _ in range(16))) for each in found]
    finally:
        await client.aclose()


@contextlib.contextmanager
def nginx(folder: Path, servers: str) -> Iterator[None]:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    temporary = "".join(f"{each}_temp_path {folder}/{each};" for each in ("client_body", "proxy"))
    others = "".join(f"{each}_temp_path {folder}/{each};" for each in ("fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log stderr crit; events {{}}"
        f"http {{ access_log off; {temporary} {others} default_type application/json; {servers} }}"
    )
    port = int(servers.partition("listen 127.0.0.1:")[2].split()[0].rstrip(";"))
    with listening(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"], port):
        yield


def test_nginx_in_front_of_a_server(tmp_path: Path) -> None:
    port = free_port()
    closed = free_port()
    with running(COMMANDS["uvicorn-h11"]) as url:
        servers = f"""server {{
            listen 127.0.0.1:{port}; keepalive_requests 3; client_max_body_size 1m;
            gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;
            location / {{ proxy_pass {url}; }}
            location /said {{ return 200 '{{"said": "{"so " * 100}"}}'; }}
            location /down {{ proxy_pass http://127.0.0.1:{closed}; }}
        }}"""
        with nginx(tmp_path, servers):
            here = f"http://127.0.0.1:{port}"
            names = ["echo", "chunked", "said", "large", "redirect", "down", "echo", "echo", "echo", "echo"]
            found = answers(*(f"{here}/{name}" for name in names))
            too_much = early_answer(f"{here}/echo")
    assert [answer.status for answer in found] == [200, 200, 200, 200, 307, 502, 200, 200, 200, 200]
    assert found[1].body == b"one,two"
    assert found[2].headers["content-encoding"] == "gzip"
    assert json.loads(found[2].body) == {"said": "so " * 100}
    assert found[3].body == b"x" * (2 << 20)
    assert too_much in (413, "connection")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ca")
    authority(folder)
    certificate_of(folder, "localhost")
    return folder


@pytest.fixture
def tls_port(tmp_path: Path, certificates: Path) -> Iterator[int]:
    port = free_port()
    servers = f"""server {{
        listen 127.0.0.1:{port} ssl; ssl_certificate {certificates}/localhost.pem;
        ssl_certificate_key {certificates}/localhost.key; location / {{ return 200 '{{}}'; }}
    }}"""
    with nginx(tmp_path, servers):
        yield port


def test_nginx_with_tls_and_an_authority_of_our_own(
    tls_port: int, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = failure(f"https://localhost:{tls_port}/")
    assert not refused.failure.retryable
    assert "SSL_CERT_FILE" in refused.failure.message
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    found = answers(*[f"https://localhost:{tls_port}/"] * 3)
    assert [answer.status for answer in found] == [200] * 3
    wrong_name = failure(f"https://127.0.0.1:{tls_port}/")
    assert "certificate" in wrong_name.failure.message


def test_tinyproxy_passes_requests_and_tunnels_on(
    tls_port: int, certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("tinyproxy") is None:
        pytest.skip("tinyproxy is not installed")
    port = free_port()
    (tmp_path / "tinyproxy.conf").write_text(
        f"Port {port}\nListen 127.0.0.1\nTimeout 60\nAllow 127.0.0.1\nLogLevel Critical\nBasicAuth mole hill\n"
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    monkeypatch.setenv("no_proxy", "nowhere.example")
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, f"http://mole:hill@127.0.0.1:{port}")
    with (
        running(COMMANDS["http.server-1.0"]) as url,
        listening(["tinyproxy", "-d", "-c", str(tmp_path / "tinyproxy.conf")], port),
    ):
        plain = answers(f"{url}/echo", f"{url}/chunked", f"{url}/echo")
        tunnelled = answers(*[f"https://localhost:{tls_port}/"] * 3)
        monkeypatch.setenv("https_proxy", f"http://mole:wrong@127.0.0.1:{port}")
        refused = failure(f"https://localhost:{tls_port}/")
    assert json.loads(plain[0].body) == ECHO
    assert plain[1].body == b"one,two"
    assert [answer.status for answer in (*plain, *tunnelled)] == [200] * 6
    assert "the proxy in front of localhost" in refused.failure.message
    assert not refused.failure.retryable


def test_llama_cpps_own_server(tmp_path: Path) -> None:
    for package in ("xllamacpp", "gguf"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    from tests.models.embedded.tiny_llama import write_gguf

    gguf = write_gguf(tmp_path / "tiny.gguf")
    command = [sys.executable, "-m", "assay.models.adapters.local_server", str(gguf), "--slots", "2"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    try:
        url = process.stdout.readline().strip()
        good = b'{"prompt": "a", "max_tokens": 3}'
        found = answers(*[f"{url}/v1/completions"] * 3, f"{url}/v1/nowhere", f"{url}/v1/completions", body=good)
        (bad,) = answers(f"{url}/v1/completions", body=b"{")
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
    assert [answer.status for answer in found] == [200, 200, 200, 404, 200]
    assert "choices" in json.loads(found[0].body)
    assert bad.status in (400, 500)
