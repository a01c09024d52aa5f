"""How a child ended is reported in one record that is wiped afterwards."""

from __future__ import annotations

import os
import signal
import socket
import sys

import pytest
from tests.forked import forked

from assay.sandbox.inside.endings import LAYOUT, MARK, Endings, read

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def ended(*endings: str) -> list[tuple[int, int, float]]:
    """Records of children that ended so, told by a process that has no others."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def tell() -> None:
        teller = Endings(theirs.fileno())
        for ending in endings:
            if os.fork() == 0:
                os.kill(os.getpid(), signal.SIGKILL) if ending == "killed" else os._exit(int(ending))
        while (pid := teller.next()) >= 0:
            assert pid == 0 or bytes(teller._record) == b"\0" * LAYOUT.size

    assert forked(tell) == 0
    theirs.close()
    with ours:
        records = []
        while data := ours.recv(LAYOUT.size + 1):
            assert data[0] == MARK
            records.append(read(data))
    return records


def test_every_child_is_reported_once_with_its_status_and_time() -> None:
    found = ended("0", "7", "killed")
    assert len({pid for pid, _, _ in found}) == 3
    assert sorted(os.waitstatus_to_exitcode(status) for _, status, _ in found) == [-signal.SIGKILL, 0, 7]
    assert all(0.0 <= seconds < 60.0 for _, _, seconds in found)


def test_no_child_has_no_record() -> None:
    assert ended() == []
