"""macOS: the profile of the reduced tier, and the CPU time and memory of another process. Not tested on macOS by us.

The profile allows by default: one that denies by default ends a process before its first line, because the loader's
own reads are denied. So it denies what matters by name: new processes, network, writes, and reads outside the stdlib.
"""

from __future__ import annotations

import ctypes
import os
import struct


def profile() -> str:
    """The Seatbelt profile that a child applies to itself before it runs a candidate."""
    stdlib = os.path.dirname(os.path.realpath(os.__file__))
    readable = [
        "/usr/lib",
        "/System/Library",
        "/usr/share/zoneinfo",
        "/dev/null",
        "/dev/random",
        "/dev/urandom",
        stdlib,
    ]
    rules = "\n".join(f'(allow file-read* (subpath "{path}"))' for path in sorted(readable))
    return f"""(version 1)
(allow default)
(deny process-fork)
(deny process-exec*)
(deny network*)
(deny signal (target others))
(deny mach-lookup)
(deny sysctl-write)
(deny file-write*)
(deny file-read*)
{rules}
(deny file-read* (subpath "{stdlib}/site-packages"))
"""


def usage(pid: int) -> tuple[float, int] | None:
    """(seconds of CPU time, bytes of memory) of a process of ours; None when it cannot be read."""
    try:
        library = ctypes.CDLL("/usr/lib/libproc.dylib")
        buffer = ctypes.create_string_buffer(512)
        if library.proc_pid_rusage(ctypes.c_int(pid), ctypes.c_int(2), ctypes.byref(buffer)) != 0:
            return None
    except OSError:
        return None
    fields = struct.unpack_from("<16x8Q", buffer)
    ticks, footprint = fields[0] + fields[1], fields[7]
    return ticks * _seconds_per_tick(), footprint


def _seconds_per_tick() -> float:
    base = (ctypes.c_uint32 * 2)()
    ctypes.CDLL(None).mach_timebase_info(ctypes.byref(base))
    return base[0] / base[1] / 1e9
