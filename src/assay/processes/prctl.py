"""The one system call by which a process changes what the Linux kernel does with it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache


def prctl(option: int, value: int) -> None:
    """Ask the kernel; nothing is done elsewhere than on Linux, nor where the kernel does not know the option."""
    if sys.platform == "linux":
        _system_call()(option, value, 0, 0, 0)


@cache
def _system_call() -> Callable[..., int]:
    import ctypes  # a command that starts no process need not load it

    call = ctypes.CDLL(None).prctl
    call.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    found: Callable[..., int] = call
    return found
