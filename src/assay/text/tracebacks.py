"""What is recorded of an exception in user code: message, location and traceback; bounded, and without keys.

assay's own frames before it are left out, and files are named relative to the working directory, or to the folder that
Python found them in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import FrameSummary, TracebackException
from typing import NamedTuple

from assay.overriding import override

LONGEST_MESSAGE = 2000
LONGEST_TRACEBACK = 4000
MOST_FRAMES = 20
"""The innermost ones: an endless recursion has a thousand."""
_LONGEST_CHAIN = 4
_LOOKED_AT = 64 * 1024
"""Keys are removed before a text is cut, or half of one could remain."""

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_INSTALLED = (os.path.dirname(os.__file__) + os.sep, "<frozen ")


class ExceptionText(NamedTuple):
    """An exception as the journal stores it."""

    message: str
    """`ValueError: no digits`."""
    place: str
    """`loud.py:12`, the innermost line of user code; empty if there is none."""
    traceback: str

    @override
    def __str__(self) -> str:
        return f"{self.message} ({self.place})" if self.place else self.message


def describe_exception(error: BaseException) -> ExceptionText:
    """The exception's message, and where it was raised."""
    described = TracebackException(type(error), error, error.__traceback__, limit=-MOST_FRAMES, compact=True)
    own = [frame for frame in described.stack if not _is_ours(frame) and not _is_installed(frame)]
    innermost = (own or described.stack)[-1:]
    place = "".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in innermost)
    for item in _chain(described):
        _begin_with_the_author(item)
        for frame in item.stack:
            frame.filename = _shown(frame.filename)
    text = without_keys("".join(described.format())[-_LOOKED_AT:].rstrip()) if described.stack else ""
    message = without_keys(f"{type(error).__name__}: {_message(error)}"[:_LOOKED_AT])[:LONGEST_MESSAGE]
    return ExceptionText(message, place, shortened(text))


def shortened(text: str) -> str:
    """The traceback, shortened in the middle: the end matters most."""
    if len(text) <= LONGEST_TRACEBACK:
        return text
    return f"{text[: LONGEST_TRACEBACK // 4]}\n[…]\n{text[-LONGEST_TRACEBACK * 3 // 4 :]}"


def without_keys(text: str) -> str:
    """A text without the keys of this process's environment, and without what looks like one."""
    from assay.text.redaction import cut_keys  # only what broke needs it

    return cut_keys(text)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:
        return f"(its message cannot be had: {type(broken).__name__})"


def _chain(described: TracebackException | None) -> Iterator[TracebackException]:
    """The exception and its causes, up to a limit."""
    for _ in range(_LONGEST_CHAIN):
        if described is None:
            return
        yield described
        behind = described.__cause__ or (None if described.__suppress_context__ else described.__context__)
        last, described = described, behind
    last.__cause__ = last.__context__ = None


def _begin_with_the_author(described: TracebackException) -> None:
    """Leave out assay's own frames before user code, unless there are no others."""
    frames = enumerate(described.stack)
    first = next((place for place, frame in frames if not _is_ours(frame) and not _is_installed(frame)), 0)
    del described.stack[:first]


def _is_ours(frame: FrameSummary) -> bool:
    return frame.filename.startswith(_PACKAGE)


def _is_installed(frame: FrameSummary) -> bool:
    return frame.filename.startswith(_INSTALLED) or f"{os.sep}site-packages{os.sep}" in frame.filename


def _shown(filename: str) -> str:
    if not os.path.isabs(filename):
        return filename
    folders = [folder for folder in (os.getcwd(), *sys.path) if folder and filename.startswith(folder + os.sep)]
    if not folders:
        return f"…/{Path(filename).name}"
    return os.path.relpath(filename, max(folders, key=len))
