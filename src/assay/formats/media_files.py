"""Images and sounds in files next to a task: read when a request is made, sent as data, never from outside the project.

A part of a message names a file by a relative path: `{"type": "image_url", "image_url": {"url": "cats/1.png"}}`, or
`{"type": "input_audio", "input_audio": {"file": "speech.wav"}}`. What leaves here holds its bytes, so the completion
cache distinguishes pictures, and the journal can be read without the files.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import FailureError, UsageError
from assay.core.model_stack import Wrapper
from assay.core.regular_file import irregular, read_regular
from assay.core.seams import Model, Solver
from assay.core.types import Completion, Failure, Message, Request, Sample, TaskDefinition, Trace
from assay.overriding import override
from assay.trust.project import out_of_bounds, root_of

MAX_FILE_BYTES = 5 << 20
"""Of one file; the strictest of the large vendors takes no larger image."""
MAX_REQUEST_BYTES = 20 << 20
FILE = "file"
"""The key of a part in a trace that names its file; no request contains it."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"ID3", "audio/mp3"),
    (b"\xff\xfb", "audio/mp3"),
    (b"\xff\xf3", "audio/mp3"),
    (b"\xff\xf2", "audio/mp3"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_IN_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def content_type(data: bytes) -> str | None:
    """What a file is by its first bytes, whatever its name; None if it is not a known image or audio format."""
    if data[:4] == b"RIFF":
        return _IN_RIFF.get(data[8:12])
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)


class MediaFiles:
    """The files that a task in this folder may name."""

    def __init__(self, task_file: Path) -> None:
        self._file = task_file

    @cached_property
    def _root(self) -> Path:
        return root_of(self._file)

    def around(self, solver: Solver) -> Solver:
        """The solver, whose requests and traces hold the content of the files that they name."""

        async def solve(sample: Sample, model: Model) -> Trace:
            trace: object = await solver(sample, ReadsMedia(model, self))
            if not isinstance(trace, Trace):
                message = f"the solver returned a {type(trace).__name__}, not a Trace"
                raise FailureError(Failure(stage="solver", kind="bad_output", message=message))
            return trace if trace.messages is None else self.filled(trace)

        return solve

    def filled(self, trace: Trace) -> Trace:
        """The trace with the content as it was sent to the model; each part keeps the name of its file."""
        try:
            messages = self.messages(trace.messages, keep_names=True)
        except UsageError:  # of a message that was never sent: custom solvers may keep what they like
            return trace
        return trace if messages is trace.messages else msgspec.structs.replace(trace, messages=messages)

    def messages(self, messages: tuple[Message, ...] | None, *, keep_names: bool = False) -> tuple[Message, ...] | None:
        if messages is None or not any(
            isinstance(message.content, list) and any(map(file_of, message.content)) for message in messages
        ):
            return messages
        size = 0
        filled = []
        for message in messages:
            if isinstance(message.content, list):
                parts = [self._part(part, keep_names=keep_names) for part in message.content]
                size += sum(len(str(part)) for part in parts)
                message = msgspec.structs.replace(message, content=parts)  # noqa: PLW2901 - the same, with its files
            filled.append(message)
        if size > MAX_REQUEST_BYTES:
            raise UsageError(f"a request's images and sounds are larger than {MAX_REQUEST_BYTES >> 20} MiB together")
        return tuple(filled)

    def _part(self, part: Any, *, keep_names: bool) -> Any:
        if (named := file_of(part)) is None:
            return part
        part = {**part, FILE: named} if keep_names else part
        kind, data = self.read(named, "image" if "image_url" in part else "audio")
        encoded = base64.b64encode(data).decode()
        if "image_url" not in part:
            return {**part, "input_audio": {"data": encoded, "format": kind.partition("/")[2]}}
        url = f"data:{kind};base64,{encoded}"
        given = part["image_url"]
        return {**part, "image_url": {**given, "url": url} if isinstance(given, dict) else {"url": url}}

    def read(self, named: str, wanted: str) -> tuple[str, bytes]:
        """Content type and content of a file; `UsageError` says why it cannot be sent."""
        target = self._file.parent / named
        try:
            path = target.resolve()
            problem = irregular(path)
            there = path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # too long, a null byte, links that lead in a circle
            raise UsageError(f"{named!r} cannot be read: {error}") from error
        if Path(named).is_absolute():
            raise UsageError(f"{named} is an absolute path; write it relative to the task's folder")
        if reason := out_of_bounds(path, self._root):
            raise UsageError(f"{named} {reason}; files lie next to the task")
        if problem or not there:
            raise UsageError(f"{target}: {f'is {problem}' if problem else 'there is no such file'}")
        data = read_regular(path, MAX_FILE_BYTES)
        kind = content_type(data[:16])
        if kind is None or not kind.startswith(wanted):
            known = "PNG, JPEG, GIF or WebP" if wanted == "image" else "WAV, MP3, Ogg or FLAC"
            raise UsageError(f"{named}: its first bytes are not those of {known}")
        return kind, data

    def digest(self, extras: Mapping[str, Any]) -> str:
        """The sha256 of all files that an example names, in its order; empty where it names none."""
        digests = [hashlib.sha256(self.read(name, kind)[1]).digest() for kind, name in named_files(extras)]
        return hashlib.sha256(b"".join(digests)).hexdigest() if digests else ""


class ReadsMedia(Wrapper):
    """Asks with the content of files where a request names them."""

    def __init__(self, model: Model, files: MediaFiles) -> None:
        super().__init__(model)
        self._files = files

    @override
    async def generate(self, request: Request) -> Completion:
        if request.messages is None:  # a text names no files
            return await self.model.generate(request)
        try:
            messages = self._files.messages(request.messages)
        except UsageError as error:
            raise FailureError(Failure(stage="prompt", part="media", kind="bad_input", message=str(error))) from error
        if messages is not request.messages:
            request = msgspec.structs.replace(request, messages=messages)
        return await self.model.generate(request)


def media_files_of(definition: TaskDefinition) -> MediaFiles:
    return MediaFiles(Path(definition.source or "task"))


def file_of(part: Any) -> str | None:
    """The file that a content part names; None for one that holds its data, or an address."""
    if not isinstance(part, dict):
        return None
    image, sound = part.get("image_url"), part.get("input_audio")
    if isinstance(sound, dict) and isinstance(sound.get("file"), str):
        return str(sound["file"])
    url = image.get("url") if isinstance(image, dict) else image
    return url if isinstance(url, str) and not url.startswith("data:") and "://" not in url else None


def named_files(extras: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """`image` or `audio`, and the file, of everything that an example of a task folder names."""
    for kind, field in (("image", "images"), ("audio", "audio")):
        if isinstance(extras.get(field), list):
            yield from ((kind, str(name)) for name in extras[field])
    messages = extras.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            if (name := file_of(part)) is not None:
                yield "image" if "image_url" in part else "audio", name
