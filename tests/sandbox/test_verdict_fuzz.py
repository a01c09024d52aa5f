"""Whatever a candidate puts on its reply pipe: no pass for a program that returns nothing right, and no way out of
being judged.

The judge, the relay, the poll loop and the verifier are the real ones, connected by real pipes; only the two processes
are threads here, for ten thousand cases are wanted. A smaller number goes through real processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from assay.sandbox import Expressions, IoPairs, Limits, Outcome, Program, Sandbox, TestProgram
from assay.sandbox.inside import frames, verifier
from assay.sandbox.judge import judge, plan_of
from assay.sandbox.zygote import Ended

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

RIGHT = 918_273_645
"""What the tests want, and no strategy below makes."""

OBJECTS = "type(p).__name__ == type(q).__name__ == 'Handle'"
"""Any constant is equal to itself: where two answers are compared, only objects must not be."""

TESTS = [
    "x = [70313, 11, 40077]\nassert f(x) == sorted(x)",
    f"r = f(7)\nassert r == {RIGHT}, r",
    f"r = f(3)\nassert len(r) == 3\nassert list(r) == [{RIGHT}] * 3",
    f"r = f(3)\nassert len(r) == 2\nassert (r[0], r[1]) == ({RIGHT}, {RIGHT})",
    f"p, q = P(1), P(2)\nassert {OBJECTS} and (p == q or p + q == P(3))",
    f"p, q = P(1), P(2)\nassert {OBJECTS} and ([p] == [q] or p in {{q: 1}} or p in [q])",
    f"try:\n    f(-1)\nexcept ValueError as e:\n    assert e.args == ({RIGHT},), e\nelse:\n    assert False, f(1)",
    f"try:\n    f(1)\nexcept E:\n    assert g(2) == {RIGHT}\nelse:\n    assert g(3) == {RIGHT}",
    f"assert g(f(1), k=f(2)) == {RIGHT}, f(3)",
    f"r = f(1)\nassert g(r.pop) == {RIGHT}",
    "x = [1]\nf(x)\nassert type(x[0]).__name__ == 'Handle'",
    f"x = {{'a': 1}}\nf(x)\nassert x == {{'a': {RIGHT}}}, x",
    f"assert f(**g(1)) == {RIGHT}",
    f"r = f(1)\nassert str(r) == '{RIGHT}' or float(r) == {RIGHT} or r.real.value == {RIGHT}",
]
PROGRAMS: list[Program] = [
    *(TestProgram(code="", tests=tests) for tests in TESTS),
    TestProgram(code="", tests=f"r = f(1)\nassert g(r) == {RIGHT} and r == f(2)", unsplittable="weak"),
    Expressions(code="", targets=(f"f(2) + 1 == {RIGHT + 1}", f"g(3) is f(4) and f(5) == {RIGHT}")),
    IoPairs(code="", pairs=((1, RIGHT), (2, [RIGHT, {"a": 1.5}]), (3, {"a": [RIGHT]}))),
    IoPairs(code="", pairs=((1, float(RIGHT)), ([1], [float(RIGHT)])), tolerance=1e-6),
    Expressions(code="", targets=(f"f(1) == {{{RIGHT}, 2}}", f"f(2) == ({RIGHT}, b'x', 1j)")),
]
PLANS = [plan_of(program) for program in PROGRAMS]
LIMITS = Limits(cpu_seconds=5, wall_seconds=60, calls=40)
SHARDS = 5
CASES_EACH = 8
"""Programs that one generated script is tried on."""
SETTINGS = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)

# --- what a candidate may say


def tagged(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(inner, max_size=3)
    pairs = st.lists(st.tuples(inner, inner).map(list), max_size=2)
    return (
        st.tuples(st.sampled_from(["l", "t", "s", "z", "q"]), items).map(list)
        | pairs.map(lambda found: ["d", found])
        | items
        | st.dictionaries(st.sampled_from(["a", "value", "id"]), inner, max_size=2)
    )


DEEP: Any = 1
for _ in range(300):
    DEEP = ["F", [DEEP, 1]]
LEAVES = st.sampled_from(
    [
        None, True, False, 0, 1, 3, -7, 2**60, 10**400, 1.5, "", "a", "f", "\ud800", "\x00",
        ["D", 0, "", "N"], ["D", 1, "15", -1], ["D", 0, "1", 10**9], ["D", 0, "x", 0], ["D", [], {}, None],
        ["F", [1, 3]], ["F", [1, 0]], ["F", [["F", [1, 2]], 1]], ["r", [0, 3, 1]], ["r", [0, 3, 0]],
        ["i", "0xffffffffffffffffffff"],
        ["i", "z"], ["i", 5], ["i", "0x" + "f" * 4_000], ["f", "nan"], ["f", "0x1.8p+0"], ["f", "inf"], ["f", []],
        ["c", "nan", "0x0p+0"], ["S", "7aCA"], ["S", "?"], ["b", "QQ=="], ["ba", "QQ=="], ["T", "int"], ["T", "os"],
        ["h", 0, "f"], ["h", 1, "g"], ["h", 0, "int"], ["h", -1, "x"], ["h", 10**9, "x"], ["h", "0", "x"], ["h", 0],
        ["o", "x"], ["o", {}], ["o", ["x"]], ["da", [1, 1, 1]], ["da", [0]], ["dt", [2024, 1, 1, 0, 0, 0, 0], None],
        ["dt", [2024, 1, 1], 10**30], ["tm", [1, 2, 3, 4], 60], ["td", [1, 2, 3]], ["td", [10**30]], ["l"], ["?"], [[]],
        ["l", None], ["d", [[1]]], ["d", [1]], ["l", [0] * 70], ["s", [["l", []]]], ["d", [[["l", []], 1]]], DEEP,
    ]
)  # fmt: skip
TREES = st.recursive(LEAVES, tagged, max_leaves=5)
TYPES = st.lists(
    st.sampled_from(
        ["ValueError", "KeyError", "E", "StopIteration", "SystemExit", "AssertionError", "OSError", "print"]
    )
    | LEAVES,
    max_size=3,
)
ERRORS = (
    st.fixed_dictionaries(
        {}, optional={"types": TYPES, "message": LEAVES, "args": st.lists(TREES, max_size=2), "line": LEAVES}
    )
    | LEAVES
)
NAMES = st.lists(
    st.fixed_dictionaries({}, optional={"tree": TREES, "missing": st.booleans(), "exception": TYPES})
    | st.builds(lambda tree: {"tree": tree}, LEAVES)
    | LEAVES,
    min_size=3,
    max_size=3,
)
REPLIES = st.fixed_dictionaries(
    {},
    optional={
        "value": TREES,
        "changed": st.lists(TREES, max_size=2) | LEAVES,
        "error": ERRORS,
        "limit": LEAVES,
        "values": NAMES,
        "loaded": st.just(True),
        "ran": st.just(True),
        "syntax": ERRORS,
        "id": LEAVES,
        "verdict": LEAVES,
    },
)
VALUES = st.builds(lambda tree: {"value": tree}, TREES)
HANDLES = st.builds(lambda number: {"value": ["h", number, "P"]}, st.integers(0, 1))
EMPTIED = st.sampled_from([["l", []], ["d", []], ["l", [["h", 0, "f"]]], None]).flatmap(
    lambda tree: st.just({"value": tree, "changed": [tree]}) | st.just({"value": None, "changed": [tree]})
)
RAW = st.binary(max_size=12) | st.sampled_from([b"{}", b"[]", b"NaN", b'"\xff"', b"[" * 2_000, b'{"id": "\\ud800"}'])
WORDS = VALUES | HANDLES | REPLIES | EMPTIED | st.builds(lambda error: {"error": error}, ERRORS) | RAW
SCRIPTS = (
    st.lists(WORDS, min_size=1, max_size=4)
    | st.builds(lambda tree: [{"value": tree}], LEAVES)
    | st.builds(lambda word: [word], EMPTIED)
)
"""What it answers, over and over; one and the same thing every time is worth trying often."""
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
    """Stands for a zygote: its candidates say what they are told to, its verifiers are the real one."""

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
        for kept in (verifier.EXCEPTIONS, verifier.CLASSES, verifier.SIZES, verifier.CLOSED):
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

FORGER = """
import json, os, struct, sys
frames = sys.modules['_assay_inside.frames']
honest, script, said = frames.send, json.loads({script!r}), [0]
def forged(message):
    if 'value' not in message and 'error' not in message:
        return honest(message)
    word = script[said[0] % len(script)]
    said[0] += 1
    data = bytes(word) if isinstance(word, list) else json.dumps({{'id': message['id'], **word}}).encode()
    os.write(4, struct.pack('<I', len(data)) + data)
frames.send = forged
class E(Exception): pass
class P:
    def __init__(self, x): pass
def f(*a, **k): return 1
def g(*a, **k): return 1
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox(workers=1)
    box.start_here()
    yield box
    box.close()


@seed(0)
@settings(SETTINGS, max_examples=200 // CASES_EACH)
@given(script=SCRIPTS, first=st.integers(0, len(PROGRAMS) - 1))
def test_no_forged_frame_makes_a_pass_or_a_failure(
    sandbox: Sandbox, script: list[dict[str, Any] | bytes], first: int
) -> None:
    code = FORGER.format(script=json.dumps([list(word) if isinstance(word, bytes) else word for word in script]))

    async def run_some() -> list[Outcome]:
        programs = [PROGRAMS[(first + step) % len(PROGRAMS)] for step in range(CASES_EACH)]
        return [await sandbox.run(msgspec.structs.replace(program, code=code), LIMITS) for program in programs]

    for outcome in asyncio.run(run_some()):
        assert outcome.outcome != "pass", outcome
    assert sandbox.replaced == 0
