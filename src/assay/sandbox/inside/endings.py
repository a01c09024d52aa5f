"""Reports how a child ended without creating Python objects for it.

A number that was once an object stays readable in the zygote's freed memory, of which every later child is a copy:
exit status and CPU time would be a message from one candidate to the next. So the kernel writes them into one buffer,
which is sent unchanged and then wiped.
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import kernel

LAYOUT = struct.Struct("=8xii18q")
"""Eight empty bytes, which no line of JSON begins with; process id; status; the kernel's rusage, times first."""
MARK = 0


class Endings:
    """Reaps children and reports each to the other end of a socket as one record."""

    def __init__(self, control: int) -> None:
        self._control = control
        self._record = ctypes.create_string_buffer(LAYOUT.size)
        start = ctypes.addressof(self._record)
        self._pid, self._status, self._usage = start + 8, ctypes.c_void_p(start + 12), ctypes.c_void_p(start + 16)

    def next(self) -> int:
        """Reap and report a child that has ended; return its pid, 0 when none has ended, -1 when there is no child."""
        try:
            pid = int(kernel.libc.wait4(-1, self._status, os.WNOHANG, self._usage))
            if pid > 0:
                ctypes.memmove(self._pid, pid.to_bytes(4, "little"), 4)
                self._send()
            return pid
        finally:
            ctypes.memset(self._record, 0, len(self._record))

    def _send(self) -> None:
        length = ctypes.c_size_t(len(self._record))
        if kernel.libc.send(self._control, self._record, length, 0) != len(self._record):
            os._exit(0)  # the harness is gone


def read(record: bytes) -> tuple[int, int, float]:
    """(process id, wait status, seconds of CPU time) of a record."""
    pid, status, user, user_part, system, system_part = LAYOUT.unpack(record)[:6]
    return pid, status, user + system + (user_part + system_part) / 1e6
