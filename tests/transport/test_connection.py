"""One connection: what comes early, late, unasked or endlessly is in no later answer."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest
from tests.servers.raw_server import http, raw_server
from tests.transport.raw_answers import TEXT, chunked

from assay.core.errors import FailureError
from assay.transport.client import HttpClient
from assay.transport.connection import HttpAnswer


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


def test_a_trailer_is_no_header() -> None:
    async def ask() -> HttpAnswer:
        client = HttpClient()
        try:
            async with raw_server(chunked(TEXT, "Retry-After: 99", "X-Late: 1")) as url:
                return await client.post_json(url, b"{}", {}, 10)
        finally:
            await client.aclose()

    assert not {"retry-after", "x-late"} & set(asyncio.run(ask()).headers)


def test_an_endless_header_is_cut_off() -> None:
    async def ask() -> None:
        async with raw_server(b"HTTP/1.1 200 OK\r\nX: " + b"a" * (4 << 20)) as url:
            await asked(url, 1)

    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    assert caught.value.failure.kind in ("connection", "bad_output")
