"""Too little memory, reported as such: not as a bug in assay, a gate that was not met, or an interrupt by the user.

Python raises `MemoryError` only where it allocates itself. A shared library that cannot be mapped is an `ImportError`,
a thread that cannot start a `RuntimeError`, and the library behind numpy ends the process or sends it Ctrl-C.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from typing import Any

SENTENCE = "out of memory, or of threads; raise the limits (`ulimit -v`, `ulimit -u`) or ask for less (`--concurrency`)"
NUMPY_MB, THREAD_MB = 80, 40
"""Address space that numpy takes when it is loaded, and each thread of its library in addition."""
LITTLE_MB = 16
"""Where not even this is left, an error is one of memory, whatever it says."""
_WORDS = ("can't start new thread", "failed to map segment", "cannot allocate memory")


def look_for_room() -> None:
    """Where address space is limited, look for room before numpy is loaded."""
    if _is_limited():
        sys.meta_path.insert(0, _RoomForNumpy())


def ran_out(error: BaseException) -> bool:
    """Whether too little memory caused an error."""
    if any(map(_names_memory, _chain(error))):
        return True
    return _is_limited() and not _has_room(LITTLE_MB)


class _RoomForNumpy:
    """Finds no module: it is on the path of Python's search to see that numpy is searched for."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "numpy":
            from assay.processes.start import cores

            chosen = os.environ.get("OPENBLAS_NUM_THREADS", "")
            threads = int(chosen) if chosen.isdecimal() else cores()
            if not _has_room(NUMPY_MB + THREAD_MB * threads):
                raise MemoryError("no room for numpy")


def _is_limited() -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _has_room(megabytes: int) -> bool:
    import mmap

    try:
        mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError):
        return False
    return True


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _names_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    return isinstance(error, RuntimeError | ImportError) and any(words in str(error).lower() for words in _WORDS)
