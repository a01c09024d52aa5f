"""Text a program wrote, made fit for terminals, files and people: capped, no control or escape characters."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean(text: str | bytes, limit: int = 4_000) -> str:
    """The text without what moves a cursor, hides letters or breaks an encoder; the middle left out if long."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    text = _CONTROLS.sub("�", _ESCAPES.sub("", text.replace("\r\n", "\n")))
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
