"""Packed bodies are unpacked within bounds."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import pytest
from tests.servers.raw_server import http, raw_server
from tests.transport.raw_answers import TEXT, chunked

from assay.core.errors import FailureError
from assay.transport.client import HttpClient
from assay.transport.connection import HttpAnswer
from assay.transport.content_coding import PackedTooWellError, unpacked

GZIP, ZLIB = gzip.compress(TEXT), zlib.compress(TEXT)


BARE = zlib.compress(TEXT)[2:-4]


UNPACKABLE, UNASKED, CUT, LONGER = "cannot be unpacked", "not requested", "in the middle of what", "after the end"


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
def test_packed_bodies_are_unpacked_in_bounds(answer: bytes, expected: bytes | str) -> None:
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
        not large and expected != UNASKED,
    )


def test_a_bomb_is_found_before_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(20 << 20))
    tracemalloc.start()
    with pytest.raises(PackedTooWellError):
        unpacked(bomb, "gzip", 64 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20


def test_a_long_answer_that_packs_well_is_unpacked() -> None:
    text = b"".join(b'{"token": "%d", "logprob": -0.5},' % number for number in range(150_000))
    assert unpacked(gzip.compress(text), "gzip", 64 << 20) == text
