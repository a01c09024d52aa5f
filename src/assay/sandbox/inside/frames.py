"""Frames on a pipe: four bytes of length, then JSON."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

MAX_FRAME = 1 << 20
SETUP_FAILED = 211
"""Exit status of a child that could not be confined; it counts only until the child is ready."""
REQUESTS = 3
REPLIES = 4
"""The descriptors over which every child communicates with the harness."""


class FrameTooLargeError(Exception):
    """The reply would not fit into one frame."""


def send(message: dict[str, Any]) -> None:
    # a lone surrogate, as in the text of an exception, would make the whole frame unreadable for the harness
    data = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    if len(data) > MAX_FRAME:
        raise FrameTooLargeError
    data = struct.pack("<I", len(data)) + data
    while data:
        data = data[os.write(REPLIES, data) :]


def receive() -> dict[str, Any]:
    """The next request; EOFError when the harness has closed the pipe."""
    (length,) = struct.unpack("<I", _read(4))
    message: dict[str, Any] = json.loads(_read(length))
    return message


def _read(count: int) -> bytes:
    parts = []
    while count:
        part = os.read(REQUESTS, min(count, 1 << 16))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
