"""Packed bodies of answers, unpacked in bounds.

`gzip` is a series of members (RFC 9110, 8.4.1.3; RFC 1952, 2.2); `deflate` is the zlib format, and the bare data that
some servers send instead (8.4.1.2). A body that ends too early, or goes on after its end, is no answer.
"""

from __future__ import annotations

import zlib

ACCEPTED = "gzip, deflate"
_BARE, _ZLIB, _GZIP = -zlib.MAX_WBITS, zlib.MAX_WBITS, zlib.MAX_WBITS | 16

FIRST_BYTES = 4 << 20
"""Unpacked before the rest is: a bomb shows by then, and costs no more memory than this."""
MAX_RATIO = 500


class CannotUnpackError(Exception):
    """Why, in words."""


class UnaskedEncodingError(CannotUnpackError):
    """The server packs its answers in a way that was not requested, and will do so the next time."""


class BodyTooLargeError(Exception):
    """More than any honest answer."""


class PackedTooWellError(BodyTooLargeError):
    """Packed smaller than any text can be."""


def unpacked(body: bytes, header: str, most: int) -> bytes:
    """The body without its compression, at most so many bytes; `header` is the value of `Content-Encoding`."""
    codings = [coding for part in header.split(",") if (coding := part.strip().lower())]
    codings = [coding for coding in codings if coding != "identity"]
    if not codings or not body:
        return body
    if codings[0] not in ("gzip", "x-gzip", "deflate") or len(codings) > 1:
        raise UnaskedEncodingError("the answer has an encoding that was not requested")
    try:
        return _inflated(body, most) if codings == ["deflate"] else _gunzipped(body, most)
    except zlib.error as error:
        raise CannotUnpackError("the answer cannot be unpacked") from error


def _gunzipped(body: bytes, most: int) -> bytes:
    parts: list[bytes] = []
    left = most
    while body:
        part, body = _unpack(body, _GZIP, left)
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _inflated(body: bytes, most: int) -> bytes:
    is_zlib = len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    plain, rest = _unpack(body, _ZLIB if is_zlib else _BARE, most)
    if rest:
        raise CannotUnpackError("there are bytes after the end of the answer")
    return plain


def _unpack(body: bytes, window: int, most: int) -> tuple[bytes, bytes]:
    """One packed piece, and what follows it."""
    unpacker = zlib.decompressobj(window)
    plain = unpacker.decompress(body, min(most + 1, FIRST_BYTES))
    if rest := unpacker.unconsumed_tail:
        if len(plain) > MAX_RATIO * (len(body) - len(rest)):
            raise PackedTooWellError
        plain += unpacker.decompress(rest, max(most + 1 - len(plain), 1))
    if len(plain) > most:
        raise BodyTooLargeError
    if not unpacker.eof:
        raise CannotUnpackError("the answer ends in the middle of what was packed")
    return plain, unpacker.unused_data
