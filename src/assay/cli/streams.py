"""Makes the standard streams safe to talk on: closed, full or narrow ones must not decide how a command ends.

Everything a command prints goes through here, so it is here that nothing of a stranger's reaches a terminal as a
control character: a task file, a key, a file name or an answer is shown with escapes (`printable.py`).
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from assay.printable import escape, printable

CLEAR_LINE = "\r\x1b[K"


def make_usable() -> None:
    """Open what is closed, show what cannot be encoded as an escape, and let nothing said on stderr break the work."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # or the next file we open, a journal say, would be somebody's output
    codecs.register_error("as JSON escapes", _escaped)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
        getattr(sys, name).reconfigure(errors="as JSON escapes")
    sys.stdout, sys.stderr = _Results(sys.stdout), _Talk(sys.stderr)


@contextmanager
def only_printable() -> Iterator[None]:
    """The same for somebody else's streams, for as long as a command runs."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Results(sys.stdout), _Talk(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def give_up_stdout() -> None:
    """Nobody reads it any more, so that the interpreter's own last flush has nothing to complain of."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def clear_line(stream: TextIO) -> None:
    """Empty the line that the cursor is on: the one thing that progress may do to a terminal."""
    if isinstance(stream, _Talk):
        stream.clear_line()
    else:
        stream.write(CLEAR_LINE)


class _Results:
    """The stream of results: one that cannot be written is told in a sentence, a reader that went away is no error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _told():
            self._stream.write(printable(text))
        return len(text)

    def flush(self) -> None:
        with _told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        from assay.core.errors import UsageError

        give_up_stdout()
        raise UsageError(f"standard output could not be written: {error.strerror}") from error


class _Talk:
    """A stream whose reader may have gone away; what was to be said is then lost and nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(printable(text))
        return len(text)

    def clear_line(self) -> None:
        with suppress(OSError):
            self._stream.write(CLEAR_LINE)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(escape, error.object[error.start : error.end])), error.end
