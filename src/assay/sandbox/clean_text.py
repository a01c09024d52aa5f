"""Cleans the output of programs for terminals, files and people: capped, no control or escape characters."""

from __future__ import annotations

import re

from assay.text.printable import printable

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")


def clean(text: str | bytes, limit: int = 4_000) -> str:
    """The text without characters that move a cursor, hide letters or break an encoder; the middle left out if long."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    text = printable(_ESCAPES.sub("", text))
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
