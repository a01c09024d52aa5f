"""System calls that Python has no function for, through ctypes; each raises an OSError with its name."""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import sys
from typing import Any

LINUX = sys.platform.startswith("linux")
MACHINE = platform.machine()

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {"pivot_root": 155, "seccomp": 317, "capset": 126},
    "aarch64": {"pivot_root": 41, "seccomp": 277, "capset": 91},
}
"""Calls whose number differs between machines; those newer than 2019 have the same number everywhere."""
MOUNT_SETATTR = 442
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

libc = ctypes.CDLL(None, use_errno=True)


def version() -> tuple[int, int]:
    """The version of the running kernel; (0, 0) if it cannot be read."""
    try:
        major, minor = os.uname().release.split(".")[:2]
        return int(major), int("".join(itertools.takewhile(str.isdigit, minor)))
    except ValueError:
        return 0, 0


def number_of(name: str) -> int:
    """The number of a system call on this machine."""
    try:
        return NUMBERS[MACHINE][name]
    except KeyError:
        raise OSError(38, f"no system call table for {MACHINE}") from None


def syscall(what: str, number: int, *arguments: Any) -> int:
    """A raw system call; -1 becomes an OSError that names the call."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(what, int(libc.syscall(ctypes.c_long(number), *wide)))


def prctl(what: str, option: int, *arguments: Any) -> int:
    """prctl(2), with the four trailing arguments that the kernel requires."""
    values = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    values += [ctypes.c_ulong(0)] * (4 - len(values))
    return _checked(what, int(libc.prctl(ctypes.c_int(option), *values)))


def unshare(flags: int) -> None:
    _checked("unshare", int(libc.unshare(ctypes.c_int(flags))))


def set_hostname(name: str) -> None:
    _checked("sethostname", int(libc.sethostname(name.encode(), ctypes.c_size_t(len(name)))))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    result = libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    _checked(f"mount {target}", int(result))


def umount_lazily(target: str) -> None:
    _checked(f"umount {target}", int(libc.umount2(target.encode(), MNT_DETACH)))


def pivot_root_here() -> None:
    """Make the current directory the root; the old root stays stacked on it until it is unmounted."""
    syscall("pivot_root", number_of("pivot_root"), b".", b".")


def mount_setattr(path: str, set_flags: int) -> None:
    """Add attributes to every mount below a path at once (Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(set_flags, 0, 0, 0)
    at_fdcwd, at_recursive = -100, 0x8000
    syscall(
        f"mount_setattr {path}",
        MOUNT_SETATTR,
        at_fdcwd,
        path.encode(),
        at_recursive,
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )


def restrict_mount(path: str, flags: int) -> None:
    """Read-only and the like for a mount and all below it; before Linux 5.12 for the mount itself."""
    try:
        mount_setattr(path, flags)
    except OSError as error:
        if error.errno != 38:
            raise
        current = os.statvfs(path).f_flag & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
        mount("none", path, None, MS_REMOUNT | MS_BIND | flags | current)


def drop_capabilities() -> None:
    """Empty every capability set of this process, the bounding set included where that is allowed."""
    for capability in range(64):
        try:
            prctl("capbset_drop", PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last capability, or no right to drop it: the sets below are what counts
    try:
        prctl("cap_ambient", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # older than ambient capabilities
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    syscall("capset", number_of("capset"), ctypes.byref(header), ctypes.byref(data))


def _checked(what: str, result: int) -> int:
    if result == -1:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")
    return result
