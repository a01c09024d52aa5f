"""A file of a server is written whole or not at all, hashed on the way, and fetched from nowhere it should not be."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest
from tests.servers.file_server import file_server
from tests.servers.raw_server import raw_server

from assay.core.errors import UsageError
from assay.transport import download as module
from assay.transport.download import download


def test_a_file_is_written_and_its_sha256_answered(tmp_path: Path) -> None:
    body = bytes(range(256)) * 5000
    with file_server({"/a.bin": body}) as server:
        sha256 = download(f"{server.address}/a.bin", tmp_path / "sub" / "a.bin")
    assert (tmp_path / "sub" / "a.bin").read_bytes() == body
    assert sha256 == hashlib.sha256(body).hexdigest()


def test_it_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def fetch() -> str:
        with file_server({"/a": b"x"}) as server:
            return download(f"{server.address}/a", tmp_path / "a")

    assert asyncio.run(fetch()) == hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize(
    ("path", "told"),
    [("/none", "there is no file at this address: 127.0.0.1:.* answered 404"), ("/round", "more than 5 redirects")],
)
def test_what_is_not_there_is_reported_and_leaves_nothing(path: str, told: str, tmp_path: Path) -> None:
    with file_server({"/round": "/round"}) as server, pytest.raises(UsageError, match=told):
        download(f"{server.address}{path}", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_too_large_is_stopped(tmp_path: Path) -> None:
    with file_server({"/a": b"x" * 100_000}) as server, pytest.raises(UsageError, match="more than 1,000 bytes"):
        download(f"{server.address}/a", tmp_path / "a", most=1000)
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_length_is_stopped_all_the_same(tmp_path: Path) -> None:
    async def fetch() -> None:
        endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"
        async with raw_server(endless * 1) as address:
            await asyncio.to_thread(download, address, tmp_path / "a", most=1000)

    with pytest.raises(UsageError, match="more than 1,000 bytes"):
        asyncio.run(fetch())


def test_a_file_that_comes_packed_is_refused(tmp_path: Path) -> None:
    with file_server({"/a": b"x"}) as server:
        server.headers["Content-Encoding"] = "gzip"
        with pytest.raises(UsageError, match="an encoding that was not requested"):
            download(f"{server.address}/a", tmp_path / "a")


def test_a_server_that_falls_silent_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STALL_SECONDS", 0.2)

    async def fetch() -> None:
        async with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf") as address:
            await asyncio.to_thread(download, address, tmp_path / "a")

    with pytest.raises(UsageError, match=r"no full answer from 127.0.0.1:\d+ within 0.2 s"):
        asyncio.run(fetch())
    assert list(tmp_path.iterdir()) == []


def test_redirects_are_followed(tmp_path: Path) -> None:
    with file_server({"/b": b"found"}) as other, file_server({"/a": f"{other.address}/b", "/c": "a"}) as server:
        download(f"{server.address}/c", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"found"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_no_redirect_leads_out_of_http(target: str, tmp_path: Path) -> None:
    with file_server({"/a": target}) as server, pytest.raises(UsageError, match="not followed"):
        download(f"{server.address}/a", tmp_path / "a")


def test_no_redirect_leads_from_a_public_host_to_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first server stands in for a public one, whose name is another than that of this machine."""
    real = module._is_local
    monkeypatch.setattr(module, "_is_local", lambda host: host != "localhost" and real(host))
    with file_server({"/secret": b"x"}) as inner, file_server({"/a": f"{inner.address}/secret"}) as server:
        public = server.address.replace("127.0.0.1", "localhost")
        with pytest.raises(UsageError, match="of this machine or its network; not followed"):
            download(f"{public}/a", tmp_path / "a")
        assert inner.asked == []


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with file_server({"/a": b"x"}) as server, pytest.raises(UsageError, match="could not write"):
        download(f"{server.address}/a", tmp_path / "file" / "a")
