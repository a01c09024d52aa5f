"""Errors of the operating system as messages that say what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

TOO_MANY_FILES = "raise the limit (`ulimit -n 4096`) or ask for less at once (`--concurrency`)"
_ADVICE = {
    errno.EMFILE: TOO_MANY_FILES,
    errno.ENFILE: TOO_MANY_FILES,
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "choose a place that can be written",
}


def is_file(path: Path) -> bool:
    """Whether a file of this name exists; a text that is too long for a name does not."""
    try:
        return path.is_file()
    except OSError:
        return False


def reason(error: OSError) -> str:
    """Why it failed and, where there is something to do, what."""
    message = error.strerror or str(error) or type(error).__name__
    advice = _ADVICE.get(error.errno or 0)
    return f"{message}; {advice}" if advice else message


def sentence(error: OSError) -> str:
    """The same with the file concerned, if there is one."""
    named = [os.fsdecode(item) for item in (error.filename, error.filename2) if isinstance(item, str | bytes)]
    return f"{' -> '.join(named)}: {reason(error)}" if named else reason(error)
