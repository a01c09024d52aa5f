"""Makes the standard streams safe to talk on: closed, full or narrow ones must not decide how a command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


def make_usable() -> None:
    """Open what is closed, show what cannot be encoded as an escape, and let nothing said on stderr break the work."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # or the next file we open, a journal say, would be somebody's output
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
        getattr(sys, name).reconfigure(errors="backslashreplace")
    sys.stdout = _Results(sys.stdout)
    sys.stderr = _Talk(sys.stderr)


def give_up_stdout() -> None:
    """Nobody reads it any more, so that the interpreter's own last flush has nothing to complain of."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Results:
    """The stream of results: one that cannot be written is told in a sentence, a reader that went away is no error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _told():
            return self._stream.write(text)

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
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
