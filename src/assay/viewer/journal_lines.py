"""Journal lines as the viewer's index needs them: whole lines from a byte offset on, decoded as far as needed.

A line is never dropped silently: one with bytes that are not UTF-8 is read with replacement characters, and one that
is not a record at all becomes a row that says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from assay.core.regular_file import open_regular
from assay.core.types import Usage

BLOCK_BYTES = 4 << 20
_T = TypeVar("_T")


class ScorePart(Struct, gc=False):
    name: str
    values: dict[str, Any] = {}
    answer: Any = None
    extracted: bool = True


class CompletionPart(Struct, gc=False):
    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cached: bool = False
    retries: int = 0
    tool_calls: Any = None


class PromptTrace(Struct, gc=False):
    """With the prompt as it was written: it is compared, not shown."""

    prediction: str = ""
    completions: tuple[CompletionPart, ...] = ()
    prompt: Any = None
    messages: Raw = Raw(b"null")


class FailurePart(Struct, gc=False):
    stage: str = ""
    kind: str = ""


class IndexLine(Struct, gc=False):
    """What the columns are made of; the decoder skips the rest."""

    key: str
    task: str
    sample_id: str
    index: int
    attempt: int = 1
    targets: Any = ()
    metadata: Raw = Raw(b"{}")
    trace: PromptTrace | None = None
    scores: tuple[ScorePart, ...] = ()
    failures: tuple[FailurePart, ...] = ()
    excluded: tuple[str, ...] = ()
    seconds: float = 0.0
    finished: float | None = None
    usage: tuple[Usage, ...] = ()


class _SearchCompletion(Struct, gc=False):
    reasoning: Any = None
    refusal: Any = None
    tool_calls: Any = None


class _SearchTrace(Struct, gc=False):
    prediction: str = ""
    prompt: Any = None
    messages: Any = None
    completions: tuple[_SearchCompletion, ...] = ()
    items: Any = None


class _SearchScore(Struct, gc=False):
    answer: Any = None
    reason: Any = None
    metadata: Any = None


class _SearchFailure(FailurePart, gc=False):
    message: Any = None


class SearchLine(Struct, gc=False):
    """Everything in words about a sample: the text that search looks through."""

    sample_id: Any = ""
    targets: Any = ()
    metadata: Any = None
    trace: _SearchTrace | None = None
    last_request: Any = None
    scores: tuple[_SearchScore, ...] = ()
    failures: tuple[_SearchFailure, ...] = ()


class Lenient(Generic[_T]):
    """Decodes lines of one kind; None stands for a line that is not a record."""

    def __init__(self, kind: type[_T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def __call__(self, line: bytes) -> _T | None:
        try:
            return self._decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
        try:
            return self._decode(line.decode("utf-8", "replace"))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None


mapping_in = Lenient(dict[str, Any])
"""A JSON object as plain data; None for anything else."""


def whole_lines(path: Path, offset: int) -> Iterator[tuple[int, list[bytes]]]:
    """Blocks of whole lines (without their newline) and where each block begins; a torn last line is left for later."""
    with open_regular(path) as file:
        file.seek(offset)
        pending: list[bytes] = []
        while block := file.read(BLOCK_BYTES):
            end = block.rfind(b"\n")
            if end < 0:
                pending.append(block)
                continue
            data = b"".join([*pending, block[:end]])
            yield offset, data.split(b"\n")
            offset += len(data) + 1
            pending = [block[end + 1 :]] if end + 1 < len(block) else []


def read_at(path: Path, offset: int, length: int) -> bytes:
    with open_regular(path) as file:
        return os.pread(file.fileno(), length, offset)


def as_record(line: bytes) -> dict[str, Any]:
    """A journal line as plain data, for showing; what cannot be read is shown as the text it is."""
    record = mapping_in(line)
    return {"unreadable": line.decode("utf-8", "replace")} if record is None else record
