"""Our own environment, which holds keys, is not for the processes we start: `/proc/PID/environ` and memory are shut.

On Linux any process of the same user may read another's environment and memory, unless the other is not *dumpable*. The
harness makes itself so before it starts its first child. It loses core dumps and debuggers that attach as the same user
(`py-spy dump`, `gdb -p`); ASSAY_DEBUGGABLE=1 keeps them. Root with its capabilities reads it all the same. Elsewhere
than on Linux nothing is done.
"""

from __future__ import annotations

import os
import sys

from assay.processes.prctl import prctl

DEBUGGABLE = "ASSAY_DEBUGGABLE"
_PR_SET_DUMPABLE = 4

_private: set[int] = set()
"""Processes in which that is done: this one, and perhaps the one it was forked from."""


def keep_environment_private() -> None:
    """From now on no other process of this user can read what this one has in memory."""
    if os.getpid() in _private or sys.platform != "linux" or os.environ.get(DEBUGGABLE) == "1":
        return
    prctl(_PR_SET_DUMPABLE, 0)  # needs no privilege
    _private.add(os.getpid())
