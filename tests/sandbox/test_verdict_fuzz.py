"""Whatever a candidate puts on its reply pipe: no pass for a program that returns nothing right, and no way out of
being judged.

The judge, the relay, the poll loop and the verifier are the real ones, connected by real pipes; only the two processes
are threads here, for ten thousand cases are wanted. A smaller number goes through real processes.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from tests.sandbox.replies import (
    CASES_EACH,
    DEEP,
    LIMITS,
    NAMES,
    PROGRAMS,
    REPLIES,
    RIGHT,
    SCRIPTS,
    SETTINGS,
)

from assay.sandbox import Outcome
from assay.sandbox.inside import frames, handles, verifier
from assay.sandbox.judge import judge, plan_of
from assay.sandbox.zygote import Ended

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


PLANS = [plan_of(program) for program in PROGRAMS]
SHARDS = 5

# --- what a candidate may say


for _ in range(300):
    DEEP = ["F", [DEEP, 1]]
TRUTH: st.SearchStrategy[dict[str, Any]] = st.just({})
FIRST_WORDS = TRUTH | TRUTH | TRUTH | TRUTH | st.builds(lambda found: {"values": found}, NAMES) | REPLIES
"""What it says about its names; mostly the truth, or no test would begin."""


def frame_of(word: dict[str, Any] | bytes, request: dict[str, Any]) -> bytes:
    data = word if isinstance(word, bytes) else json.dumps({"id": request["id"], **word}).encode()
    return struct.pack("<I", len(data)) + data


def about_names(word: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """As many as were asked for, or another number would be all that is ever tried."""
    if word:
        return {**word, "values": word["values"][: len(request["args"])]} if "values" in word else word
    return {"values": [{"tree": ["h", number, name]} for number, name in enumerate(request["args"])]}


# --- threads in place of processes


class Threads:
    """Stands for a zygote: its candidates say what the test wants, its verifiers are the real one."""

    def __init__(self, names: dict[str, Any], script: Sequence[dict[str, Any] | bytes]) -> None:
        self.plan = {"name": "threads"}
        self.cgroup = None
        self.control, self.other = socket.socketpair()
        self.ended: dict[int, Ended] = {}
        self.names, self.script = names, script
        self.running: list[threading.Thread] = []

    def spawn(self, role: str, descriptors: list[int], **_: object) -> tuple[int, int]:
        pid = len(self.running) + 1
        ours = [os.dup(descriptor) for descriptor in descriptors]
        serve: Callable[[int, int], None] = self.candidate if role == "candidate" else self.verifier
        thread = threading.Thread(target=self.live, args=(pid, ours, serve))
        self.running.append(thread)
        thread.start()
        return pid, -1

    def live(self, pid: int, descriptors: list[int], serve: Callable[[int, int], None]) -> None:
        status = 256
        try:
            os.write(descriptors[3], frame_of({}, {"id": "ready"}))
            serve(descriptors[2], descriptors[3])
            status = 0
        except (EOFError, BrokenPipeError):
            pass  # the session hung up
        finally:
            self.tell(pid, status)
            for descriptor in descriptors:
                os.close(descriptor)

    def candidate(self, requests: int, replies: int) -> None:
        said = 0
        while True:
            (length,) = struct.unpack("<I", read(requests, 4))
            request = json.loads(read(requests, length))
            if request["op"] == "load":
                word: dict[str, Any] | bytes = {"loaded": True}
            elif request["op"] == "names":
                word = about_names(self.names, request)
            else:
                word = self.script[said % len(self.script)]
                said += 1
            os.write(replies, frame_of(word, request))

    def verifier(self, requests: int, replies: int) -> None:
        frames.REQUESTS, frames.REPLIES = requests, replies
        for kept in (handles.EXCEPTIONS, handles.CLASSES, handles.SIZES, handles.CLOSED):
            kept.clear()
        verifier.conduct(frames.receive())

    def hear(self) -> None:
        self.control.recv(100)

    def ran_out_of_memory(self) -> bool:
        return False

    def kill(self, pid: int, pidfd: int) -> None:
        self.tell(pid, 9)

    def tell(self, pid: int, status: int) -> None:
        self.ended.setdefault(pid, Ended(status=status, cpu_seconds=0.0))
        self.other.send(b".")

    def close(self) -> None:
        for thread in self.running:
            thread.join()
        self.control.close()
        self.other.close()


def read(descriptor: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(descriptor, count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


@pytest.fixture(scope="module")
def wake() -> Iterator[int]:
    """Nobody cancels; and the verifier may register its tests as a module, as it does in its own process."""
    own, descriptors = sys.modules["tests"], (frames.REQUESTS, frames.REPLIES)
    inward, outward = os.pipe()
    yield inward
    os.close(inward)
    os.close(outward)
    sys.modules["tests"] = own
    frames.REQUESTS, frames.REPLIES = descriptors


def judged(number: int, names: dict[str, Any], script: Sequence[dict[str, Any] | bytes], wake: int) -> Outcome:
    zygote = Threads(names, script)
    try:
        return judge(PROGRAMS[number], PLANS[number], LIMITS, zygote, wake)  # type: ignore[arg-type]  # stands for one
    finally:
        zygote.close()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_reply_makes_a_pass_or_a_failure(wake: int, shard: int) -> None:
    """Ten thousand cases, the same every time."""

    @seed(shard)
    @settings(SETTINGS, max_examples=10_000 // SHARDS // CASES_EACH)
    @given(names=FIRST_WORDS, script=SCRIPTS, first=st.integers(0, len(PROGRAMS) - 1))
    def try_some(names: dict[str, Any], script: list[dict[str, Any] | bytes], first: int) -> None:
        for number in range(first, first + CASES_EACH):
            outcome = judged(number % len(PROGRAMS), names, script, wake)
            assert outcome.outcome != "pass", (PROGRAMS[number % len(PROGRAMS)], outcome)

    try_some()


def test_a_right_reply_would_pass_here(wake: int) -> None:
    outcome = judged(1, {}, [{"value": RIGHT}], wake)
    assert (outcome.outcome, outcome.grade) == ("pass", "strong")


# --- and with real processes
