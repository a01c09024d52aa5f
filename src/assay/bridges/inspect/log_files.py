"""Logs of Inspect, sample by sample and as rows: `.eval` archives, one sample in memory, and `.json` documents.

Archives are untrusted: nothing is unpacked to the disk, whatever its names say; how much comes out of each
sample and of the whole is bounded by what is read, not by what the archive claims.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
from msgspec import Struct, field

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.datasets.rows import Row
from assay.datasets.traces import (
    MAX_CONVERSATION_BYTES,
    conversation_columns,
    joined_texts,
    json_values,
    numbered_id,
)

MAX_INDEX_BYTES = 128 << 20
"""The archive's list of its own files: more than half a million of them."""
MAX_UNPACKED_BYTES = 64 << 30
"""All samples of one archive."""
ZSTANDARD = 93
"""The compression of current logs (APPNOTE.TXT, 4.4.5)."""
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_ATTACHMENT = "attachment://"
_T = TypeVar("_T")


class LogDataset(Struct):
    """How the log names its samples, in their order."""

    sample_ids: list[str | int] | None = None


class LogEval(Struct):
    """The task and the model."""

    task: str = ""
    model: str = ""
    created: str = ""
    dataset: LogDataset = field(default_factory=LogDataset)
    config: dict[str, Any] = {}
    model_generate_config: dict[str, Any] = {}
    task_args: dict[str, Any] = {}
    packages: dict[str, str] = {}
    revision: dict[str, Any] | None = None
    scorers: list[dict[str, Any]] | None = None


class LogPlan(Struct):
    """The settings of the task and of the model's requests."""

    steps: list[dict[str, Any]] = []
    config: dict[str, Any] = {}


class LogResult(Struct):
    """Inspect's own metrics of one value of one scorer, for one reducer of epochs."""

    name: str = ""
    scorer: str = ""
    reducer: str | None = None
    metrics: dict[str, dict[str, Any]] = {}


class LogResults(Struct):
    """Inspect's own numbers."""

    scores: list[LogResult] = []
    headline: dict[str, Any] | None = None


class LogHeader(Struct):
    """A log without its samples."""

    eval: LogEval = field(default_factory=LogEval)
    plan: LogPlan = field(default_factory=LogPlan)
    results: LogResults | None = None


class LogSample(Struct):
    """The part of a sample that rows and records are made of; its events are passed over."""

    id: str | int
    epoch: int = 1
    input: Any = ""
    target: str | list[str] = ""
    messages: list[dict[str, Any]] = []
    output: dict[str, Any] = {}
    scores: dict[str, Any] | None = None
    metadata: dict[str, Any] = {}
    error: dict[str, Any] | None = None
    limit: dict[str, Any] | None = None
    choices: list[str] | None = None
    model_usage: dict[str, dict[str, Any]] = {}
    total_time: float | None = None
    working_time: float | None = None
    completed_at: str | None = None
    attachments: dict[str, str] = {}


class _Log(LogHeader):
    samples: list[LogSample] | None = None


def inspect_rows(path: Path) -> Iterator[Row]:
    """A row for each sample and epoch."""
    header = log_header(path)
    return (_row(sample, header) for sample in log_samples(path))


def log_header(path: Path) -> LogHeader:
    """What a log says about all of its samples; a log whose program was killed has only its first part."""
    if path.suffix.lower() == ".json":
        headers: Iterator[tuple[int, LogHeader]] = json_values(path, partial(_decoded, kind=LogHeader))
        return next(header for _, header in headers)
    with closing(open_regular(path)) as file:
        archive = _Archive(file, path)
        header = archive.decoded("header.json", LogHeader) or archive.decoded("_journal/start.json", LogHeader)
        return header or LogHeader()


def log_samples(path: Path) -> Iterator[LogSample]:
    """Every sample and epoch, as the log has them one after the other."""
    if path.suffix.lower() == ".json":
        for _, log in json_values(path, partial(_decoded, kind=_Log)):
            if log.samples is None:
                raise UsageError(f"{path}: holds no samples: it is not an Inspect log, or was written without them")
            yield from log.samples
        return
    with closing(open_regular(path)) as file:
        archive = _Archive(file, path)
        for name in archive.samples:
            if (sample := archive.decoded(name, LogSample)) is not None:
                yield sample


def _decoded(data: bytes, kind: type[_T]) -> _T:
    """A piece of a log. Inspect writes NaN, which is not JSON, for a score that it could not give: read as no score."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        try:
            return msgspec.convert(json.loads(data, parse_constant=lambda _: None), kind)
        except ValueError:
            raise error from None


class _Archive:
    """A zip file whose members are read one at a time, each up to the size limit of a sample."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        _refuse_large_index(file, path)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise UsageError(f"{path}: not an .eval log: {error}") from error
        _refuse_overlaps(self._zip, path)
        self._left = MAX_UNPACKED_BYTES
        # a sample that was written twice counts as it was written last
        self.samples = [name for name in self._zip.NameToInfo if name.startswith("samples/") and name.endswith(".json")]

    def decoded(self, name: str, kind: type[Any]) -> Any:
        """One member as a record; None where there is none."""
        info = self._zip.NameToInfo.get(name)
        if info is None:
            return None
        where = f"{self._path}: {name}"
        try:
            data = self._read(info)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise UsageError(f"{where}: cannot be unpacked: {error}") from error
        self._left -= len(data)
        if len(data) > MAX_CONVERSATION_BYTES or self._left < 0:
            limit = MAX_CONVERSATION_BYTES if self._left >= 0 else MAX_UNPACKED_BYTES
            raise UsageError(f"{where}: unpacks to more than {limit >> 20:,} MB, the limit for a log")
        try:
            return _decoded(data, kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{where}: not a valid Inspect log: {error}") from error

    def _read(self, info: zipfile.ZipInfo) -> bytes:
        """Reads one byte more than the limit, to see that there is too much."""
        if info.compress_type != ZSTANDARD:
            with self._zip.open(info) as member:
                return member.read(MAX_CONVERSATION_BYTES + 1)
        packed = _packed(self._file, info)
        unpacked = _without_zstandard(packed, self._path)
        if len(unpacked) <= MAX_CONVERSATION_BYTES and len(unpacked) != info.file_size:
            raise ValueError(f"it has {len(unpacked):,} bytes where {info.file_size:,} are announced")
        return unpacked


def _refuse_large_index(file: BinaryIO, path: Path) -> None:
    """The list of an archive's files is read whole, so its length is checked first."""
    end = file.seek(0, 2)
    start = max(0, end - (1 << 16) - 98)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise UsageError(f"{path}: not an .eval log: it is not a zip archive, or it is cut off")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    large = tail.rfind(b"PK\x06\x06", 0, at)
    if size == 0xFFFFFFFF and large >= 0 and len(tail) >= large + 48:
        (size,) = struct.unpack_from("<Q", tail, large + 40)
    if size > MAX_INDEX_BYTES:
        raise UsageError(f"{path}: lists more files than a log has; it is refused")
    file.seek(0)


def _refuse_overlaps(archive: zipfile.ZipFile, path: Path) -> None:
    """Members that share their bytes let a small file unpack to anything."""
    end = 0
    for info in sorted(archive.infolist(), key=lambda each: each.header_offset):
        if info.header_offset < end or info.flag_bits & 1:
            reason = "is encrypted" if info.flag_bits & 1 else "shares its bytes with another file"
            raise UsageError(f"{path}: {info.filename[:200]!r} {reason}; the archive is refused")
        end = info.header_offset + _LOCAL_HEADER.size + info.compress_size


def _packed(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    file.seek(info.header_offset)
    fields = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if fields[0] != b"PK\x03\x04":
        raise ValueError("the archive is damaged")
    file.seek(fields[9] + fields[10], 1)
    if info.compress_size > MAX_CONVERSATION_BYTES:
        raise ValueError(f"it has more than {MAX_CONVERSATION_BYTES >> 20} MB packed")
    return file.read(info.compress_size)


def _without_zstandard(packed: bytes, path: Path) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        raise UsageError(
            f"{path}: the log is packed with Zstandard; install the reader with: pip install 'assay-eval[inspect]'"
        ) from error
    reading = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed, read_across_frames=True)
    try:
        pieces: list[bytes] = []
        left = MAX_CONVERSATION_BYTES + 1
        while left and (piece := reading.read(min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def _row(sample: LogSample, header: LogHeader) -> Row:
    messages = chat_messages(sample)
    row: Row = {
        "sample_id": numbered_id(sample.id, sample.epoch),
        **conversation_columns(messages),
        "target": sample.target,
        "scores": {name: _score(score) for name, score in (sample.scores or {}).items()},
        "metadata": sample.metadata,
        "model": str(sample.output.get("model") or header.eval.model),
        "task": header.eval.task,
        "epoch": sample.epoch,
    }
    if isinstance(sample.input, str):
        row["input"] = attached(sample.input, sample.attachments)
    if sample.error is not None:
        row |= {"error": str(sample.error.get("message") or "the sample failed"), "trace": None}
    return row


def _score(score: Any) -> Any:
    """The value of a score; its explanation and metadata stay in the log."""
    return score.get("value") if isinstance(score, dict) else score


def chat_messages(sample: LogSample) -> list[dict[str, Any]]:
    """The conversation in the shape chat servers speak."""
    return [_chat_message(message, sample.attachments) for message in sample.messages]


def _chat_message(message: dict[str, Any], attachments: dict[str, str]) -> dict[str, Any]:
    """A message of Inspect in the shape chat servers speak."""
    made: dict[str, Any] = {
        "role": str(message.get("role")),
        "content": _text(message.get("content"), attachments),
    }
    calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    if calls:
        made["tool_calls"] = [
            {
                "id": call.get("id"),
                "type": "function",
                "function": {
                    "name": call.get("function"),
                    "arguments": msgspec.json.encode(call.get("arguments") or {}).decode(),
                },
            }
            for call in calls
        ]
    if message.get("role") == "tool":
        made["tool_call_id"] = message.get("tool_call_id")
    return made


def _text(content: Any, attachments: dict[str, str]) -> str:
    """The text of a message; images, audio and reasoning are not part of an answer's text."""
    if isinstance(content, str):
        return attached(content, attachments)
    parts = content if isinstance(content, list) else []
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return joined_texts(attached(text, attachments) for text in texts)


def input_text(sample: LogSample) -> str:
    """The input, which may be a conversation."""
    if isinstance(sample.input, str):
        return attached(sample.input, sample.attachments)
    messages = sample.input if isinstance(sample.input, list) else []
    return joined_texts(
        _text(message.get("content"), sample.attachments) for message in messages if isinstance(message, dict)
    )


def attached(text: str, attachments: dict[str, str]) -> str:
    """Long texts of a log are stored separately, with a reference in their place."""
    return attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text
