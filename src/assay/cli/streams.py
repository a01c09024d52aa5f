"""Makes the standard streams safe to talk on: closed, full or narrow ones must not decide how a command ends.

Everything a command prints goes through here, so it is here that nothing of a stranger's reaches a terminal as a
control character: a task file, a key, a file name or an answer is shown with escapes (`printable.py`).
"""

from __future__ import annotations

import codecs
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from assay.core.errors import UsageError
from assay.overriding import override
from assay.text.printable import escape, printable

if TYPE_CHECKING:
    from assay.pages.document import Span

NARROWEST = 20
"""Columns that every terminal has: a shorter text fits."""
CLEAR_LINE = "\r\x1b[K"
STYLES = {"strong": "1", "key": "1", "good": "32", "bad": "31", "quiet": "2"}
"""Weight and colour as terminals know them (SGR); other styles look like plain text."""


def make_usable() -> None:
    """Open what is closed, show what cannot be encoded as an escape, and let nothing said on stderr break the work."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # or the next file we open, a journal say, would be our stdout
    codecs.register_error("as JSON escapes", _escaped)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
        getattr(sys, name).reconfigure(errors="as JSON escapes")
    sys.stdout, sys.stderr = _Results(sys.stdout), _Talk(sys.stderr)


@contextmanager
def only_printable() -> Iterator[None]:
    """The same for the streams of a calling program, for as long as a command runs."""
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
        stream.write_sequences(CLEAR_LINE)
    else:
        stream.write(CLEAR_LINE)


def write_lines(stream: TextIO, lines: Iterable[Sequence[Span]], *, styled: bool) -> None:
    """Lines of styled text: apart from progress, the only way an escape sequence reaches a terminal.

    The sequences are ours, and every text between them is made printable.
    """
    text = "".join(f"{''.join(_span(span, styled=styled) for span in line)}\n" for line in lines)
    if isinstance(stream, _Results):
        stream.write_sequences(text)
    else:
        stream.write(text)


def draw(stream: TextIO, lines: Sequence[Sequence[Span]], *, styled: bool) -> None:
    """Lines in place of those drawn before; they stay below whatever is written meanwhile."""
    if isinstance(stream, _Talk):
        from assay.pages.text_width import width_of

        stream.draw(
            [sum(width_of(printable(span.text)) for span in line) for line in lines],
            "".join(f"{''.join(_span(span, styled=styled) for span in line)}\x1b[K\n" for line in lines),
        )


def erase(stream: TextIO) -> None:
    """Take away what was drawn."""
    if isinstance(stream, _Talk):
        stream.write_sequences("")
        stream.flush()


def lines_said() -> int:
    """How many lines the command has written to both streams, but for what was drawn and is gone."""
    return sum(stream.lines for stream in (sys.stdout, sys.stderr) if isinstance(stream, _Results))


def _span(span: Span, *, styled: bool) -> str:
    text, code = printable(span.text), STYLES.get(span.style)
    return f"\x1b[{code}m{text}\x1b[0m" if styled and code and text else text


class _Results:
    """The stream of results: a write error becomes one sentence, a closed pipe is not an error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lines = 0
        """Lines that were written and stay."""

    def write(self, text: str) -> int:
        self.write_sequences(printable(text))
        return len(text)

    def write_sequences(self, text: str) -> None:
        """Write the text unchanged: only for text that this file has made safe."""
        self.lines += text.count("\n")
        with _write_errors_as_usage_errors():
            self._stream.write(text)

    def flush(self) -> None:
        with _write_errors_as_usage_errors():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _write_errors_as_usage_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # the reader closed our output (`assay … | head`): the command ends as it would have, with its exit code
        give_up_stdout()
    except OSError as error:
        give_up_stdout()
        raise UsageError(f"standard output could not be written: {error.strerror}") from error


class _Talk(_Results):
    """A stream whose reader may have gone away; what was to be said is then lost and nothing else."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._drawn: list[int] = []
        """How wide the lines are that are drawn right above the cursor."""
        self._lock = threading.RLock()

    @override
    def write(self, text: str) -> int:
        """Text, whose lines are broken at words on a terminal."""
        self.write_sequences(self._fitted(printable(text)))
        return len(text)

    def _fitted(self, text: str) -> str:
        if len(text) < NARROWEST or not self._stream.isatty():
            return text
        from assay.cli.output import width_of_stream
        from assay.pages.text_width import broken_at_words

        width = width_of_stream(self._stream)
        return "\n".join(broken_at_words(line, width) for line in text.split("\n"))

    @override
    def write_sequences(self, text: str) -> None:
        """Write the text unchanged, in place of what was drawn: only for text that this file has made safe."""
        self.lines += text.count("\n")
        with self._lock, suppress(OSError):
            self._stream.write(f"{self._back()}\x1b[J{text}" if self._drawn else text)
            self._drawn = []

    def draw(self, widths: list[int], text: str) -> None:
        with self._lock, suppress(OSError):
            self._stream.write(f"{self._back()}{text}\x1b[J")
            self._drawn = widths
            self._stream.flush()

    def _back(self) -> str:
        """To the beginning of what was drawn, whose lines may wrap by now: a terminal can be made narrower."""
        if not self._drawn:
            return ""
        columns = os.get_terminal_size(self._stream.fileno()).columns or 80
        return f"\r\x1b[{sum(max(1, -(-width // columns)) for width in self._drawn)}A"

    @override
    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(escape, error.object[error.start : error.end])), error.end
