"""The operations on patterns, and the program of the helper process that runs them: one line of JSON in, one out.

Run as a script, so it may import only the standard library.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

MEMORY_BYTES = 1 << 30
KILL_AFTER_SECONDS = 0.05
"""Time after the limit until a search that does not check for signals is killed with its process."""


def search(pattern: str, flags: int, text: str) -> bool:
    return re.search(pattern, text, flags) is not None


def select_match(pattern: str, flags: int, text: str, select: int) -> str | None:
    matches = re.findall(pattern, text, flags)
    if not -len(matches) <= select < len(matches):
        return None
    chosen = matches[select]
    if isinstance(chosen, tuple):
        chosen = next((group for group in chosen if group), None)
    return None if chosen is None else str(chosen).strip()


def substitute(pattern: str, flags: int, text: str, replacement: str, count: int, most: int) -> str:
    if not may_outgrow(text, replacement, most):
        return re.sub(pattern, replacement, text, count=count, flags=flags)
    size = len(text)

    def expand(match: re.Match[str]) -> str:
        nonlocal size
        piece = match.expand(replacement) if "\\" in replacement else replacement
        size += len(piece)
        if size > most:
            raise re.error(f"the text grew beyond {most:,} characters")
        return piece

    return re.sub(pattern, expand, text, count=count, flags=flags)


def may_outgrow(text: str, replacement: str, most: int) -> bool:
    """Whether the result of a substitution may have more than `most` characters: a group may be the whole text."""
    piece = len(replacement) + replacement.count("\\") * len(text)
    return len(text) + (len(text) + 1) * piece > most


OPERATIONS: dict[str, Callable[..., Any]] = {"search": search, "select": select_match, "substitute": substitute}


def line_of(value: Any) -> bytes:
    # no \u escapes: two adjacent lone surrogates would come back as one character
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def value_of(line: bytes) -> Any:
    return json.loads(line.decode("utf-8", "surrogatepass"))


class _TimeIsUpError(Exception):
    pass


def _time_is_up(*_: object) -> None:
    raise _TimeIsUpError


def _serve() -> None:
    """Answer every line of stdin."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGVTALRM, _time_is_up)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF, signal.SIGVTALRM})
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    except (ValueError, OSError):
        pass  # not every system limits address space
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line_of(_answer(*value_of(line))))
        sys.stdout.buffer.flush()


def _answer(seconds: float, operation: str, *arguments: Any) -> tuple[str, Any]:
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds + KILL_AFTER_SECONDS)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            return "answer", OPERATIONS[operation](*arguments)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _TimeIsUpError:
        return "timeout", None
    except MemoryError:
        return "broken", "out of memory"
    except (re.error, IndexError) as error:
        return "refused", str(error)


if __name__ == "__main__":
    _serve()
