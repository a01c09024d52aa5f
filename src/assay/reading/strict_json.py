"""JSON written by people, read strictly: one text at a time, or the lines of a file in bounded memory.

What most decoders accept is refused here, each with its own rule: keys given twice at any depth (the last one would
silently win), NaN and Infinity, bytes that are not UTF-8, unbounded nesting, and lines of unbounded length.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular

MAX_LINE_BYTES = 8 * 1024 * 1024
"""The longest line that is read; a longer one is skipped without being held in memory."""

MAX_DEPTH = 64
"""The deepest nesting of lists and objects; programs that read our files fail beyond it."""

BOM = b"\xef\xbb\xbf"
"""The byte order mark with which Windows programs begin a text."""
_CONTAINERS = (dict, list)
_decode = msgspec.json.Decoder().decode


class StrictJsonError(ValueError):
    """A text that is not strict JSON: the rule it breaks, and how."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(detail)
        self.rule = rule
        """`bad_json`, `not_utf8`, `too_deep` or `duplicate_key`."""
        self.detail = detail


def decode_strictly(text: bytes) -> Any:
    """The value of a JSON text; `StrictJsonError` names the rule that a text breaks."""
    try:
        value = _decode(text)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _why_not(text, error) from error
    if _is_too_deep(text, value):
        raise _too_deep()
    if _may_hide_keys(text, count_keys(value)):
        _refuse_duplicate_keys(text)
    return value


def is_plain(text: bytes, keys: int) -> bool:
    """Whether a JSON text in which a decoder found so many keys surely breaks no rule; else `decode_strictly` decides.

    A caller that decodes into records needs only this one step.
    """
    return text.count(b"[") + text.count(b"{") <= MAX_DEPTH and not _may_hide_keys(text, keys)


def decode_mended(text: bytes) -> Any:
    """The value of JSON as many programs write it; `ValueError` if it is not even that.

    NaN and infinities become strings, a lone surrogate becomes a replacement character. The other rules apply.
    """
    try:
        # of bytes, json would guess the encoding
        value = json.loads(text.decode(), parse_constant=str, object_pairs_hook=object_without_duplicates)
        whole = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise _too_deep() from None
    return decode_strictly(whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())


MAX_CHARACTERS_READ = 2_000_000
"""Characters that may be read in search of objects, some of them repeatedly: each `{` may begin one."""
_BRACE = re.compile("[{}]")


def objects_in(text: str) -> list[str]:
    """The JSON objects inside prose as they are written; `ValueError` when too much has to be read.

    Not those inside another one, nor inside braces that are no JSON object: of an object that is cut off, or that has a
    comma too many, a part would pass for the whole.
    """
    decoder = json.JSONDecoder()
    objects: list[str] = []
    depth = read = end = 0
    for brace in _BRACE.finditer(text):
        at = brace.start()
        if at < end:
            continue
        if text[at] == "}":
            depth = max(depth - 1, 0)
        elif depth:
            depth += 1
        else:
            try:
                _, end = decoder.raw_decode(text, at)
                objects.append(text[at:end])
            except (ValueError, RecursionError) as error:
                depth = 1
                read += (error.pos if isinstance(error, json.JSONDecodeError) else len(text)) - at
                if read > MAX_CHARACTERS_READ:
                    raise ValueError("too many objects that have no end") from error
    return objects


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a file without its line ending."""

    number: int
    content: bytes
    """The whole line, or its beginning when it is too long."""
    too_long: bool = False
    offset: int = 0
    """Where in the file it begins, after a byte order mark."""


def read_lines(path: Path, max_bytes: int = MAX_LINE_BYTES, *, offset: int = 0, number: int = 0) -> Iterator[Line]:
    """The lines of a file, blank ones left out; a byte order mark at the start is skipped.

    Line endings may be LF or CRLF. No more than one line is held, and of a line longer than `max_bytes` only its
    beginning. `UsageError` when the file cannot be read. With an `offset` the reading begins there, after so many
    lines.
    """
    try:
        with open_regular(path) as file:
            file.seek(offset)
            yield from _lines_of(file, max_bytes, offset, number)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_given_lines(path: Path) -> Iterator[Line]:
    """`read_lines` of what a person named: also `-`, `/dev/stdin` or `<(…)`, a pipe that this process was given.

    It can be read once. A named pipe would keep its reader waiting for a writer, and is refused.
    """
    descriptor = given_descriptor(path)
    if descriptor is None:
        yield from read_lines(path)
        return
    try:
        with open(os.dup(descriptor), "rb", buffering=1 << 20) as file:
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: is a terminal or a device; give a file, or a pipe that ends")
            yield from _lines_of(file, MAX_LINE_BYTES, 0, 0)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def given_descriptor(path: Path) -> int | None:
    """The number of the open file that `-`, `/dev/stdin` and `/dev/fd/N` stand for; None for any other path."""
    if str(path) in ("-", "/dev/stdin"):
        return 0
    match = _DESCRIPTOR.fullmatch(str(path))
    return None if match is None else int(match[1])


_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,6})")


def read_lines_at(path: Path, offsets: Iterable[int]) -> Iterator[bytes]:
    """The lines that begin at these places, as returned by `read_lines`; nothing between them is read."""
    try:
        with open_regular(path) as file:
            after = 0
            for offset in offsets:
                if offset != after:
                    file.seek(offset)
                content = file.readline(MAX_LINE_BYTES + 2)
                after = offset + len(content)
                yield content
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _lines_of(file: BinaryIO, max_bytes: int, offset: int, number: int) -> Iterator[Line]:
    readline = file.readline
    while content := readline(max_bytes + 2):  # the longest line that is read, and CRLF
        number += 1
        begin, offset = offset, offset + len(content)
        if begin == 0 and content.startswith(BOM):
            content, begin = content[len(BOM) :], len(BOM)
        complete = content.endswith(b"\n")
        content = content.removesuffix(b"\n").removesuffix(b"\r")
        if len(content) > max_bytes:
            if not complete:
                offset += _length_of_rest(file)
            yield Line(number, content[:1024], True, begin)
        elif content and not content.isspace():
            yield Line(number, content, False, begin)


def _length_of_rest(file: BinaryIO) -> int:
    """Skip the rest of a line; its length."""
    length = 0
    while part := file.readline(1024 * 1024):
        length += len(part)
        if part.endswith(b"\n"):
            break
    return length


def _why_not(text: bytes, error: Exception) -> StrictJsonError:
    """A slow second pass over a text that could not be decoded, for a helpful message."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as bad:
        if text.startswith((b"\xff\xfe", b"\xfe\xff")):
            return StrictJsonError("not_utf8", "begins like a UTF-16 file; save it as UTF-8")
        return StrictJsonError("not_utf8", f"byte {bad.start + 1} (0x{text[bad.start]:02x}) is not UTF-8")
    try:
        json.loads(decoded, parse_constant=_refuse_constant)
    except RecursionError:
        return _too_deep()
    except json.JSONDecodeError as bad_json:
        return StrictJsonError("bad_json", f"{bad_json.msg[:1].lower()}{bad_json.msg[1:]} (column {bad_json.colno})")
    except ValueError as bad_value:
        return StrictJsonError("bad_json", str(bad_value).partition(";")[0])
    return StrictJsonError("bad_json", str(error))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _is_too_deep(text: bytes, value: Any) -> bool:
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    level: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        level = [child for container in level for child in _children(container) if isinstance(child, _CONTAINERS)]
    return bool(level)


def _children(container: Any) -> Any:
    return container.values() if type(container) is dict else container


def count_keys(value: Any) -> int:
    """How many keys all objects in a value have together."""
    keys = 0
    containers: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    for container in containers:  # grows while it is walked
        children: Iterable[Any] = container
        if type(container) is dict:
            keys += len(container)
            children = container.values()
        for child in children:
            if type(child) is not str and isinstance(child, _CONTAINERS):
                containers.append(child)
    return keys


def _may_hide_keys(text: bytes, keys: int) -> bool:
    """Whether a text may hold more keys than were decoded from it: a cheap test that errs only towards yes.

    Each key ends in `":` unless there is space before its colon, so a text without such space holds at most as many
    keys as it has `":`. Text inside strings can only add to the count.
    """
    return text.count(b'":') != keys or b" :" in text or b"\t:" in text or b"\n:" in text or b"\r:" in text


def _refuse_duplicate_keys(text: bytes) -> None:
    try:
        json.loads(text.decode("utf-8"), object_pairs_hook=object_without_duplicates)
    except RecursionError:
        raise _too_deep() from None


def object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The `object_pairs_hook` of a reader in which a key may be given once; else a `StrictJsonError` names it."""
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise StrictJsonError("duplicate_key", f"the key {twice!r} is given twice in one object")
    return value


def _too_deep() -> StrictJsonError:
    return StrictJsonError("too_deep", f"lists and objects are nested more than {MAX_DEPTH} deep")
