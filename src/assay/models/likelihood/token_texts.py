"""Converts between text and token numbers, and finds the offset of each token in the text.

For byte-level vocabularies. A token may be part of a character: its text is then written as `bytes:\\xe2\\x82`, and it
begins where its character does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

_PRINTABLE = (range(33, 127), range(161, 173), range(174, 256))


class TokenTexts:
    """A tokenizer read from a file."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        self._special = {number: token.content for number, token in self._tokenizer.get_added_tokens_decoder().items()}
        self._bytes: dict[int, bytes] = {}
        self.size = self._tokenizer.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def number(self, token: str) -> int | None:
        return self._tokenizer.token_to_id(token)

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.bytes_of, tokens)).decode("utf-8", "replace")

    def text(self, token: int) -> str:
        """The text of one token."""
        raw = self.bytes_of(token)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)

    def bytes_of(self, token: int) -> bytes:
        if token not in self._bytes:
            written = self._special.get(token) or self._tokenizer.id_to_token(token) or ""
            self._bytes[token] = written.encode() if token in self._special else _decode_symbols(written)
        return self._bytes[token]

    def offsets(self, tokens: Sequence[int], begin: int = 0) -> list[int]:
        """Where each token begins, in characters."""
        offsets, characters = [], begin
        for token in tokens:
            raw = self.bytes_of(token)
            offsets.append(characters - 1 if raw and _continues(raw[0]) and characters > begin else characters)
            characters += sum(not _continues(byte) for byte in raw)
        return offsets


def _continues(byte: int) -> bool:
    """Whether a byte continues a UTF-8 character of several bytes."""
    return byte & 0xC0 == 0x80


def _decode_symbols(written: str) -> bytes:
    symbols = _symbols()
    return b"".join(bytes([symbols[c]]) if c in symbols else c.encode() for c in written)


@cache
def _symbols() -> dict[str, int]:
    """The character that stands for each byte: printable bytes stand for themselves, the others follow from 256 on."""
    printable = [byte for span in _PRINTABLE for byte in span]
    unprintable = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(unprintable)}
