"""Journal lines as the viewer's index needs them, decoded as far as needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.core.types import Usage


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
    from_earlier_run: bool = False
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
    scorer: str = ""


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


_decode_mapping = msgspec.json.Decoder(dict[str, Any]).decode


def mapping_in(data: bytes) -> dict[str, Any] | None:
    """A JSON object as plain data; None for anything else."""
    try:
        return _decode_mapping(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_at(path: Path, offset: int, length: int) -> bytes:
    with open_regular(path) as file:
        return os.pread(file.fileno(), length, offset)


def as_record(line: bytes) -> dict[str, Any]:
    """A journal line as plain data, for showing."""
    record = mapping_in(line)
    if record is None:
        raise UsageError("this line of the journal is not a record, though its checksum matches")
    return record
