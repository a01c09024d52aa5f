"""Landlock: which files may be opened, and that no signal or socket leaves the process's own domain."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Mapping

from . import kernel

WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
_FILE_RIGHTS = WRITE_FILE | READ_FILE

_FS_BITS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_BIND_AND_CONNECT = 3
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3


def abi() -> int:
    """The Landlock version of the kernel; OSError if it has none."""
    return kernel.syscall("landlock", kernel.LANDLOCK_CREATE_RULESET, None, 0, 1)


def restrict(grants: Mapping[str, int]) -> int:
    """Restrict every right that this kernel knows, grant only these, and return the ABI. Missing paths are skipped."""
    version = abi()
    file_rights = (1 << _FS_BITS_BY_ABI.get(version, 16)) - 1
    ruleset = _create(version, file_rights, _TCP_BIND_AND_CONNECT, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
    try:
        for path, rights in grants.items():
            _grant(ruleset, path, rights)
        _enforce(ruleset)
    finally:
        os.close(ruleset)
    return version


def isolate_domain(version: int) -> None:
    """Add a layer for one child, so that its signals reach neither the zygote nor the verifier (ABI 6)."""
    if version < 6:
        return
    ruleset = _create(version, 0, 0, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
    try:
        _enforce(ruleset)
    finally:
        os.close(ruleset)


def _create(version: int, file_rights: int, net_rights: int, scopes: int) -> int:
    attributes = struct.pack("<Q", file_rights)
    if version >= 4:
        attributes += struct.pack("<Q", net_rights)
    if version >= 6:
        attributes += struct.pack("<Q", scopes)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    return kernel.syscall(
        "landlock_create_ruleset", kernel.LANDLOCK_CREATE_RULESET, ctypes.byref(buffer), len(attributes), 0
    )


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(target).st_mode):
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, target), 12)
        kernel.syscall(f"landlock_add_rule {path}", kernel.LANDLOCK_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
    finally:
        os.close(target)


def _enforce(ruleset: int) -> None:
    kernel.syscall("landlock_restrict_self", kernel.LANDLOCK_RESTRICT_SELF, ruleset, 0)
