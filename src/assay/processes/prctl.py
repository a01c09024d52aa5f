"""The one system call by which a process changes what the Linux kernel does with it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import cache

_PR_SET_PDEATHSIG = 1


def prctl(option: int, value: int) -> None:
    """Ask the kernel; nothing is done elsewhere than on Linux, nor where the kernel does not know the option."""
    if sys.platform == "linux":
        _system_call()(option, value, 0, 0, 0)


def end_with_parent() -> Callable[[], None] | None:
    """What a child does before it becomes its program, so that it is killed when the thread that started it ends, as it
    does when our process is killed. None elsewhere than on Linux, where such a child lives on.
    """
    if sys.platform != "linux":
        return None
    call, parent = _system_call(), os.getpid()  # nothing is loaded in the child

    def before_its_program() -> None:
        call(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended meanwhile
            os._exit(0)

    return before_its_program


@cache
def _system_call() -> Callable[..., int]:
    import ctypes  # a command that starts no process need not load it

    call = ctypes.CDLL(None).prctl
    call.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    found: Callable[..., int] = call
    return found
