"""Untrusted text made safe to show: it cannot control a terminal, hide characters or reverse a line.

The one rule for terminals, Markdown, JUnit, HTML and failure messages. Line breaks and tabs stay; other control
characters, direction marks and invisible characters become escapes such as `\\u001b`, which JSON and Python share, so
that JSON stays the same JSON.
"""

from __future__ import annotations

import re

# C0 but tab and newline, DEL, C1, soft hyphen, direction marks and overrides, zero widths but the joiners that emoji
# and Indic scripts need, line and paragraph separators, interlinear annotations, tags, half characters, no characters
INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
FEW = 32
"""Up to so many kinds are replaced kind by kind: a match for each character of a megabyte would take a second."""


def printable(text: str) -> str:
    """The text with every character that cannot be seen written as an escape."""
    if text.isascii() and text.isprintable():  # as most short texts are
        return text
    text = text.replace("\r\n", "\n")
    if not _INVISIBLE.search(text):
        return text
    escapes = {character: escape(character) for character in set(text) if _INVISIBLE.match(character)}
    if len(escapes) > FEW:
        return "".join(map(escapes.get, text, text))
    for character, escaped in escapes.items():
        text = text.replace(character, escaped)
    return text


def one_line(text: str, longest: int = 300) -> str:
    """The text without line breaks, cut to a length."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def escape(character: str) -> str:
    """A character as JSON writes it in ASCII."""
    code = ord(character)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
