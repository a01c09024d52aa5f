"""Datasets of recorded conversations: Inspect logs, GenAI spans of OpenTelemetry, and chats in JSON Lines.

Whatever wrote them, the rows have the same columns, so that one pass-through task scores them all: `sample_id`, `input`
(the first user message), `output` (the last text of the assistant), `trace` (the whole conversation), and
`model`, `target`, `scores`, `metadata` and `error` where the format knows them. A conversation that ended in an error
has the error and no trace: it cannot be mistaken for an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from assay.catalog import resolve
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.regular_file import open_regular, read_regular
from assay.datasets.json_lines import FileDataset
from assay.datasets.rows import Row
from assay.overriding import override
from assay.part_options import Doc, Named, PathOption, Words, part
from assay.reading.strict_json import read_lines
from assay.snippets.views import SolverTrace, trace_items

MAX_CONVERSATION_BYTES = 64 << 20
"""One line, or one sample of a log."""
MAX_DOCUMENT_BYTES = 512 << 20
"""A log that is one JSON document, which is held in memory while it is read."""
FORMATS = ("inspect", "opentelemetry", "chat")
_ENOUGH_TO_TELL = 1 << 16


@describes(DatasetInfo(recorded_models=True))
@part(
    "Recorded conversations: an Inspect log, spans of OpenTelemetry, or chats in JSON lines.",
    example="file_path: log.eval",
)
class TraceFile(FileDataset):
    """Conversations of a file; without a `file_format` it is detected from the name and the first bytes."""

    def __init__(
        self,
        *,
        path: Annotated[
            str,
            Meta(min_length=1),
            PathOption(".eval, .json or .jsonl, relative to the file that defines the dataset.", "file_path"),
        ],
        file_format: Annotated[
            str | None, Words(FORMATS), Named("format"), Doc("What wrote the file, where it does not show.")
        ] = None,
        operations: Annotated[
            list[Annotated[str, Meta(min_length=1)]] | None,
            Meta(min_length=1),
            Doc("Spans that are samples: `chat`, `text_completion` and `generate_content` when absent."),
        ] = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        """`operations` are the kinds of OpenTelemetry spans that are samples."""
        super().__init__(path=path, name=name, **options)
        if file_format is not None and file_format not in FORMATS:
            raise UsageError(f"dataset `{self.name}`: `format` is one of {', '.join(FORMATS)}, got `{file_format}`")
        self._format = file_format or _format_of(self.path)
        self._operations = operations

    @override
    def rows(self) -> Iterator[Row]:
        if self._format == "inspect":
            rows: Iterator[Row] = resolve("trace_file", self._format)(self.path)
            return rows
        if self._format == "opentelemetry":
            from assay.datasets.otel_spans import span_rows

            return span_rows(self.path, self._operations)
        return _chat_rows(self.path)


def conversation_columns(messages: list[dict[str, Any]]) -> Row:
    """`input`, `output` and `trace` of chat messages."""
    trace = SolverTrace(trace_items(messages))
    questions = trace.user_messages
    answer = trace.get_last_assistant_text()
    return {
        **({"input": str(questions[0].content)} if questions else {}),
        **({"output": answer} if answer is not None else {}),
        "trace": {"items": trace.to_json()["items"]},
    }


def numbered_id(name: object, number: int) -> str:
    """The id of the first repetition of a sample is its own; the others have their number after it."""
    return str(name) if number == 1 else f"{name}#{number}"


def _format_of(path: Path) -> str:
    if path.suffix.lower() == ".eval":
        return "inspect"
    with open_regular(path) as file:
        beginning = file.read(_ENOUGH_TO_TELL)
    if b'"resourceSpans"' in beginning or b'"resource_spans"' in beginning:
        return "opentelemetry"
    if path.suffix.lower() == ".json":
        return "inspect"
    return "chat"


def json_values(path: Path, decode: Callable[[bytes], Any]) -> Iterator[tuple[int, Any]]:
    """The values of a file with a JSON text on every line, each with its line; of a `.json` file, the one it holds."""
    if path.suffix.lower() == ".json":
        yield 1, _decoded(read_regular(path, MAX_DOCUMENT_BYTES), decode, f"{path}")
        return
    for line in read_lines(path, MAX_CONVERSATION_BYTES):
        if line.too_long:
            raise UsageError(f"{path}:{line.number}: has more than {MAX_CONVERSATION_BYTES >> 20} MB in one line")
        yield line.number, _decoded(line.content, decode, f"{path}:{line.number}")


def _decoded(text: bytes, decode: Callable[[bytes], Any], where: str) -> Any:
    try:
        return decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{where}: not valid for this format: {error}") from error


def _chat_rows(path: Path) -> Iterator[Row]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    for number, row in json_values(path, decode):
        messages = row.get("messages")
        if not is_conversation(messages):
            raise UsageError(f"{path}:{number}: `messages` must be a list of messages, each with a `role`")
        yield {**row, **conversation_columns(messages)}


def is_conversation(messages: Any) -> bool:
    """Whether these are chat messages."""
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages)
    )


def joined_texts(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)
