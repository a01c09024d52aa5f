"""Answers byte by byte."""

from __future__ import annotations

TEXT = b'{"text": "hello"}'


def chunked(body: bytes, *trailers: str) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, "".join(f"{each}\r\n" for each in trailers).encode())
